//! Which changes are refused: fields that stay as they are, by kind, as data; and the few kinds whose spec may
//! change in some of its fields only.

use super::check::Checks;
use tenure_meta::{FieldError, FieldErrorKind, Quantity, Resource, Row};
use tenure_value::{Object, Text, Value};

type Function = fn(&Value, &Value) -> Option<FieldError>;

/// Functions that rows name.
const FUNCTIONS: [(&str, Function); 1] = [("claimedStorage", claimed_storage)];

/// A claim asks for less only while its volume has not grown to what it asked for.
fn claimed_storage(old: &Value, new: &Value) -> Option<FieldError> {
    let amount = |of: &Value, path: [&str; 4]| {
        let found = of.at(path.into_iter().filter(|step| !step.is_empty()));
        found.and_then(Value::as_str).and_then(Quantity::parse).map_or(0, Quantity::nanos)
    };
    let asked = ["spec", "resources", "requests", "storage"];
    let (was, is, has) =
        (amount(old, asked), amount(new, asked), amount(old, ["status", "capacity", "storage", ""]));
    (is < was && is <= has).then(|| {
        let detail = "field can not be less than status.capacity";
        FieldError::new(FieldErrorKind::Forbidden, "spec.resources.requests.storage", &Value::Null, detail)
    })
}

/// Checks a change against the rows of its kind.
pub(super) fn check(
    checks: &Checks,
    resource: &Resource,
    old: &Value,
    new: &Value,
    errors: &mut Vec<FieldError>,
) {
    let rows = checks.updates.items(&format!("{} {}", resource.api_version, resource.kind));
    for row in rows {
        if let Some((_, function)) = FUNCTIONS.iter().find(|(name, _)| row.text("fn") == *name) {
            errors.extend(function(old, new));
            continue;
        }
        if row.items("when").iter().all(|condition| holds(condition, old, new))
            && let Some(error) = refused(row, old, new)
        {
            errors.push(error);
        }
    }
}

fn at<'v>(object: &'v Value, path: &str) -> &'v Value {
    path.split('.')
        .filter(|name| !name.is_empty())
        .try_fold(object, |value, name| value.get(name))
        .unwrap_or(&Value::Null)
}

/// Whether nothing stands there that could be lost.
fn is_empty(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::String(text) => text.is_empty(),
        Value::Array(items) => items.is_empty(),
        Value::Object(fields) => fields.is_empty(),
        _ => false,
    }
}

/// Conditions are `[op, path, value]` on the old object; `new-` before the word looks at the new one.
fn holds(condition: &Value, old: &Value, new: &Value) -> bool {
    let words = condition.as_array().map(|words| words.items()).unwrap_or_default();
    let text = |at: usize| words.get(at).and_then(Value::as_str).unwrap_or_default();
    let (object, op) = match text(0).strip_prefix("new-") {
        Some(op) => (new, op),
        None => (old, text(0)),
    };
    let value = at(object, text(1));
    match op {
        "present" => !is_empty(value),
        "absent" => is_empty(value),
        "eq" => words.get(2) == Some(value),
        "ne" => words.get(2) != Some(value),
        "changed" => at(old, text(1)) != at(new, text(1)),
        "same" => at(old, text(1)) == at(new, text(1)),
        _ => false,
    }
}

/// Returns the fault of a changed field.
fn refused(row: &Value, old: &Value, new: &Value) -> Option<FieldError> {
    let path = row.text("at");
    let (was, is) = (at(old, &path), at(new, &path));
    let changeable = row.texts("except");
    let (was, is) = match changeable.is_empty() {
        true => (was.clone(), is.clone()),
        false => (without(was, &changeable), without(is, &changeable)),
    };
    let same = match (row.get("key").and_then(Value::as_str), row.get("keepsItemsBut")) {
        (Some(key), _) => kept_items(&was, &is, key),
        (None, Some(_)) => has_all_items(&was, &is, &row.texts("keepsItemsBut")),
        (None, None) => was == is || is_empty(&was) && is_empty(&is),
    };
    if same {
        return None;
    }
    let (kind, usual) = match row.flag("forbidden") {
        true => (FieldErrorKind::Forbidden, "may not be changed"),
        false => (FieldErrorKind::Invalid, "field is immutable"),
    };
    let detail = row.text("detail");
    let named = row.get("as").and_then(Value::as_str).map_or(path, Text::new);
    Some(FieldError::new(kind, &named, &is, if detail.is_empty() { usual } else { &detail }))
}

/// Whether every item that is still there, told apart by a key, is as it was.
fn kept_items(was: &Value, is: &Value, key: &str) -> bool {
    let items = |of: &'_ Value| of.as_array().map(|items| items.items().to_vec()).unwrap_or_default();
    let after = items(is);
    items(was).iter().all(|old| after.iter().all(|new| old.get(key) != new.get(key) || old == new))
}

/// Whether every item is still there, whatever its fields of some names have become.
fn has_all_items(was: &Value, is: &Value, changeable: &[Text]) -> bool {
    let items = |of: &'_ Value| -> Vec<Value> {
        let items = of.as_array().map(|items| items.items()).unwrap_or_default();
        items.iter().map(|item| without(item, changeable)).collect()
    };
    let after = items(is);
    items(was).iter().all(|item| after.contains(item))
}

/// Returns a value without the parts at some paths; `[]` stands for every item of a list.
fn without(value: &Value, paths: &[Text]) -> Value {
    paths.iter().fold(value.clone(), |value, path| {
        let steps: Vec<&str> = path.split('.').collect();
        strip(&value, &steps)
    })
}

fn strip(value: &Value, steps: &[&str]) -> Value {
    let [step, rest @ ..] = steps else { return value.clone() };
    let (name, each) = step.strip_suffix("[]").map_or((*step, false), |name| (name, true));
    let Some(fields) = value.as_object() else { return value.clone() };
    let Some(below) = fields.get(name) else { return value.clone() };
    let changed = match (below, rest) {
        (_, []) => return Value::Object(fields.without(name)),
        (Value::Array(items), rest) if each => Value::array(items.iter().map(|item| strip(item, rest))),
        (below, rest) => strip(below, rest),
    };
    // A struct of which nothing is left counts as none, however it came about.
    match changed.as_object().is_some_and(Object::is_empty) {
        true => Value::Object(fields.without(name)),
        false => fields.with(name, changed).into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_at_paths_are_left_out_of_a_comparison() {
        let spec: Value =
            r#"{"a":1,"c":[{"image":"x","n":1},{"image":"y","n":2}],"t":{"s":1}}"#.parse().unwrap();
        let stripped = without(&spec, &["a".into(), "c[].image".into(), "t.s".into()]);
        assert_eq!(stripped, r#"{"c":[{"n":1},{"n":2}]}"#.parse().unwrap());
    }
}
