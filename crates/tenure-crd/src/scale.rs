//! Validation of what the `scale` subresource reads: replicas are whole numbers of 32 bits, the selector is a text. Every
//! update is validated, also where nothing changes.

use tenure_meta::{FieldError, FieldErrors, ScalePaths};
use tenure_value::{Text, Value};

/// Validates the desired replicas.
pub(crate) fn check_spec(paths: &ScalePaths, object: &Value, errors: &mut FieldErrors) {
    check_replicas(&paths.spec, object, errors);
}

/// Validates the observed replicas and the selector.
pub(crate) fn check_status(paths: &ScalePaths, object: &Value, errors: &mut FieldErrors) {
    check_replicas(&paths.status, object, errors);
    if paths.selector.is_empty() {
        return;
    }
    match find(&paths.selector, object) {
        Ok(None | Some(Value::String(_))) => {}
        Ok(Some(other)) => errors.push(wrong_type(&paths.selector, "", &paths.selector, other, "string")),
        Err((at, other)) => errors.push(wrong_type(&paths.selector, "", at, other, OBJECT)),
    }
}

const OBJECT: &str = "map[string]interface{}";

fn check_replicas(path: &[Text], object: &Value, errors: &mut FieldErrors) {
    const MOST: i64 = i32::MAX as i64;
    let say = |value: i64, detail: String| FieldError::invalid(shown(path), &Value::Int(value), detail);
    match find(path, object) {
        Ok(None | Some(Value::Int(0..=MOST))) => {}
        Ok(Some(Value::Int(number @ ..0))) => {
            errors.push(say(*number, "should be a non-negative integer".into()))
        }
        Ok(Some(Value::Int(number))) => {
            errors.push(say(*number, format!("should be less than or equal to {MOST}")))
        }
        Ok(Some(other)) => errors.push(wrong_type(path, 0, path, other, "int64")),
        Err((at, other)) => errors.push(wrong_type(path, 0, at, other, OBJECT)),
    }
}

/// Returns the value at a path; if a parent is not an object, its path and what it is.
fn find<'v, 'p>(path: &'p [Text], object: &'v Value) -> Result<Option<&'v Value>, (&'p [Text], &'v Value)> {
    let mut value = object;
    for (at, name) in path.iter().enumerate() {
        let Some(fields) = value.as_object() else { return Err((&path[..=at], value)) };
        match fields.get(name) {
            Some(below) => value = below,
            None => return Ok(None),
        }
    }
    Ok(Some(value))
}

fn wrong_type(
    path: &[Text],
    zero: impl Into<Value>,
    at: &[Text],
    value: &Value,
    expected: &str,
) -> FieldError {
    let (text, found) = match value {
        Value::Null => ("<nil>".to_string(), "<nil>"),
        Value::Bool(_) => (value.to_string(), "bool"),
        Value::Int(_) => (value.to_string(), "int64"),
        Value::UInt(_) | Value::Float(_) => (value.to_string(), "float64"),
        Value::String(text) => (text.to_string(), "string"),
        Value::Array(_) => (value.to_string(), "[]interface {}"),
        Value::Object(_) => (value.to_string(), "map[string]interface {}"),
    };
    let detail = format!("{} accessor error: {text} is of the type {found}, expected {expected}", shown(at));
    FieldError::invalid(shown(path), &zero.into(), detail)
}

/// Returns a path as a definition gives it.
fn shown(path: &[Text]) -> String {
    path.iter().map(|name| format!(".{name}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn replicas_are_whole_numbers_of_32_bits_and_selectors_texts() {
        let names = |text: &str| text.split('.').map(Text::new).collect();
        let paths = ScalePaths {
            spec: names("spec.replicas[0]"),
            status: names("status.replicas"),
            selector: names("status.selector"),
        };
        for (object, expected) in [
            (r#"{}"#, ""),
            (r#"{"spec":{"replicas[0]":2147483647},"status":{"replicas":0,"selector":"a=b"}}"#, ""),
            (
                r#"{"spec":{"replicas[0]":2147483648}}"#,
                ".spec.replicas[0]: Invalid value: 2147483648: should be less than or equal to 2147483647",
            ),
            (
                r#"{"spec":{"replicas[0]":-1}}"#,
                ".spec.replicas[0]: Invalid value: -1: should be a non-negative integer",
            ),
            (
                r#"{"spec":{"replicas[0]":"x"}}"#,
                ".spec.replicas[0]: Invalid value: 0: .spec.replicas[0] accessor error: x is of the type string, expected int64",
            ),
            (
                r#"{"status":{"replicas":null}}"#,
                ".status.replicas: Invalid value: 0: .status.replicas accessor error: <nil> is of the type <nil>, expected int64",
            ),
            (
                r#"{"status":{"selector":1}}"#,
                ".status.selector: Invalid value: \"\": .status.selector accessor error: 1 is of the type int64, expected string",
            ),
            (
                r#"{"spec":1}"#,
                ".spec.replicas[0]: Invalid value: 0: .spec.replicas[0] accessor error: 1 is of the type int64, expected map[string]interface{}",
            ),
        ] {
            let (object, mut errors): (Value, _) = (object.parse().unwrap(), FieldErrors::default());
            check_spec(&paths, &object, &mut errors);
            check_status(&paths, &object, &mut errors);
            let found: Vec<String> =
                errors.iter().map(|error| format!("{}: {}", error.path, error.message)).collect();
            assert_eq!(found.join("\n"), expected, "{object}");
        }
    }
}
