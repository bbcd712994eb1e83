//! The changes of an object as a server shows them, read field by field.

pub use tenure_client::{Log, Past};

use tenure_value::Value;

/// Returns a text of a document; empty if it is missing.
pub fn text<'v>(item: &'v Value, name: &str) -> &'v str {
    item.get(name).and_then(Value::as_str).unwrap_or_default()
}

/// Returns the fields that managers gained and lost by a change: manager, `gains` or `loses`, path.
pub fn owner_changes(item: &Value) -> impl Iterator<Item = (&str, &'static str, &str)> {
    let owners =
        item.get("ownerChanges").and_then(Value::as_array).into_iter().flat_map(|owners| owners.iter());
    owners.flat_map(|owner| {
        [("gained", "gains"), ("lost", "loses")].into_iter().flat_map(move |(list, verb)| {
            let paths = owner.get(list).and_then(Value::as_array).into_iter().flat_map(|paths| paths.iter());
            paths.filter_map(Value::as_str).map(move |path| (text(owner, "manager"), verb, path))
        })
    })
}

/// Returns the changed fields of a change: path, value before, value after.
pub fn changed(item: &Value) -> impl Iterator<Item = (&str, Option<&Value>, Option<&Value>)> {
    let changes = item.get("changes").and_then(Value::as_array).into_iter();
    changes.flat_map(|changes| changes.iter()).map(|one| (text(one, "path"), one.get("from"), one.get("to")))
}
