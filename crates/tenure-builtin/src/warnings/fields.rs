//! Reading fields of objects that are valid.

use tenure_value::Value;

pub(super) fn is_missing(value: &Value, name: &str) -> bool {
    value.get(name).is_none_or(Value::is_null)
}

/// Returns a string member; empty if absent.
pub(super) fn text<'v>(value: &'v Value, name: &str) -> &'v str {
    value.get(name).and_then(Value::as_str).unwrap_or_default()
}

/// Warns of annotations.
pub(super) fn of_annotations(object: &Value, known: &[(&str, &str)], at: &str, warnings: &mut Vec<String>) {
    let Some(annotations) = object.at(["metadata", "annotations"]) else { return };
    for (name, text) in known.iter().filter(|(name, _)| annotations.get(name).is_some()) {
        warnings.push(format!("{at}metadata.annotations[{name}]: {text}"));
    }
}
