//! What is wrong with a definition or an object, in the words that clients know from a kube-apiserver: reason of
//! the cause, message, place.

use tenure_meta::Cause;
use tenure_value::Value;

fn cause(reason: &str, field: impl ToString, message: String) -> Cause {
    Cause { reason: reason.into(), message, field: field.to_string(), extension: None }
}

/// Something is missing.
pub(crate) fn required(field: impl ToString, detail: &str) -> Cause {
    let colon = if detail.is_empty() { "" } else { ": " };
    cause("FieldValueRequired", field, format!("Required value{colon}{detail}"))
}

/// A value cannot be.
pub(crate) fn invalid(field: impl ToString, value: &Value, detail: &str) -> Cause {
    cause("FieldValueInvalid", field, format!("Invalid value: {}: {detail}", quoted(value)))
}

/// A value is of the wrong type or format; it is named by its type.
pub(crate) fn type_invalid(field: impl ToString, found: &str, detail: &str) -> Cause {
    cause("FieldValueTypeInvalid", field, format!("Invalid value: {found:?}: {detail}"))
}

/// A value is none of those allowed.
pub(crate) fn not_supported<'v>(
    field: impl ToString,
    value: &Value,
    allowed: impl IntoIterator<Item = &'v Value>,
) -> Cause {
    let allowed: Vec<String> = allowed.into_iter().map(|of| quoted(&string_of(of))).collect();
    let message = format!("Unsupported value: {}: supported values: {}", quoted(value), allowed.join(", "));
    cause("FieldValueNotSupported", field, message)
}

/// Supported values are shown as strings whatever their type.
fn string_of(value: &Value) -> Value {
    match value {
        Value::String(_) => value.clone(),
        other => Value::from(other.to_string()),
    }
}

/// Another has the same value.
pub(crate) fn duplicate(field: impl ToString, value: &Value) -> Cause {
    cause("FieldValueDuplicate", field, format!("Duplicate value: {}", quoted(value)))
}

/// It must not be here.
pub(crate) fn forbidden(field: impl ToString, detail: &str) -> Cause {
    cause("FieldValueForbidden", field, format!("Forbidden: {detail}"))
}

/// A string is too long.
pub(crate) fn too_long(field: impl ToString, most: u64) -> Cause {
    cause("FieldValueTooLong", field, format!("Too long: may not be more than {most} bytes"))
}

/// There are too many items.
pub(crate) fn too_many(field: impl ToString, found: usize, most: u64) -> Cause {
    cause("FieldValueTooMany", field, format!("Too many: {found}: must have at most {most} items"))
}

/// How much of a value a message shows.
const MOST_SHOWN: usize = 512;

/// Writes a value as JSON, and a text as it would stand in a program; a long one is cut.
fn quoted(value: &Value) -> String {
    let mut text = value.as_str().map_or_else(|| value.to_string(), |text| format!("{text:?}"));
    if text.len() > MOST_SHOWN {
        let end = (0..=MOST_SHOWN).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0);
        text.truncate(end);
        text.push('…');
    }
    text
}
