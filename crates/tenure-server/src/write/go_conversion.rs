//! Why Kubernetes cannot convert a document to the Go type of its kind. It decodes the result of a strategic merge patch and of
//! an apply in this way, not from text, and words the errors differently. Computed only after a document could not be decoded.

use tenure_builtin::Kinds;
use tenure_meta::ApiError;
use tenure_schema::{Scalar, ScalarKind, Type, TypeRef, UnknownFields};
use tenure_value::{Value, base64, go_text};

/// Returns the error of a document that is not an object of a type; `None` if it comes from a type that decodes itself, such as a
/// quantity, whose error is the same in every encoding.
pub(super) fn conversion_error(value: &Value, ty: TypeRef<'_>, kinds: &Kinds) -> Option<String> {
    Conversion { kinds }.error(value, ty, None)
}

/// Returns the error of an apply whose result does not convert to its kind.
pub(super) fn not_converted(described: &str, kind: &str, why: &str) -> ApiError {
    ApiError::unclassified(format!(
        "failed to convert new object ({described}) to proper version: unable to convert unstructured object to {kind}: {why}"
    ))
}

struct Conversion<'k> {
    kinds: &'k Kinds,
}

impl Conversion<'_> {
    /// Returns the error of a value of a type, which Go may give another name.
    fn error(&self, value: &Value, ty: TypeRef<'_>, named: Option<&str>) -> Option<String> {
        match (ty.get(), value) {
            (Type::Untyped, _) | (_, Value::Null) => None,
            (Type::Struct(structure), _)
                if structure.unknown == UnknownFields::Preserved && structure.fields.is_empty() =>
            {
                None
            }
            (Type::Struct(_), Value::Object(fields)) => fields.iter().find_map(|(name, value)| {
                let field = ty.field(name)?;
                let named = ty.name().and_then(|definition| self.kinds.go_type(definition, name));
                self.error(value, ty.slot(&field.slot), named)
            }),
            (Type::Map(map), Value::Object(fields)) => {
                let named = named.and_then(|name| name.split_once(']')).map(|(_, value)| value);
                fields.iter().find_map(|(_, value)| self.error(value, ty.slot(&map.value), named))
            }
            (Type::List(list), Value::Array(items)) => {
                let named = named.and_then(|name| name.strip_prefix("[]"));
                items.iter().find_map(|item| self.error(item, ty.slot(&list.item), named))
            }
            (Type::Struct(_), value) => {
                Some(format!("cannot restore struct from: {}", go_text::kind_name(value)))
            }
            (Type::Map(_), value) => Some(format!("cannot restore map from {}", go_text::kind_name(value))),
            (Type::List(_), value) => {
                Some(format!("cannot restore slice from {}", go_text::kind_name(value)))
            }
            (Type::Scalar(scalar), value) => scalar_error(scalar, value, named),
        }
    }
}

fn scalar_error(scalar: &Scalar, value: &Value, named: Option<&str>) -> Option<String> {
    let wanted = match (scalar.kind, scalar.format.as_str()) {
        (ScalarKind::Boolean, _) => "bool",
        (ScalarKind::Integer, "int64") => "int64",
        (ScalarKind::Integer, _) => "int32",
        (ScalarKind::Number, _) => "float64",
        (ScalarKind::String, "byte") => return bytes_error(value),
        (ScalarKind::String, "date-time") => return time_error(value),
        (ScalarKind::String, "") => "string",
        (ScalarKind::IntOrString, _) => return number_error(value),
        (ScalarKind::String | ScalarKind::Quantity, _) => return None,
    };
    match (wanted, value) {
        ("bool", Value::Bool(_)) | ("string", Value::String(_)) => None,
        ("int32" | "int64" | "float64", Value::Int(_)) | ("float64", Value::Float(_) | Value::UInt(_)) => {
            None
        }
        ("int32" | "int64", Value::Float(number)) if number.get().fract() == 0.0 => None,
        ("int32" | "int64", Value::Float(_) | Value::UInt(_)) | ("string", Value::Int(_)) => {
            Some(format!("cannot convert {} to {}", go_text::type_name(value), named.unwrap_or(wanted)))
        }
        _ => Some(format!("unrecognized type: {wanted}")),
    }
}

/// What is no string is read as a number, which does not know in which field it is.
fn number_error(value: &Value) -> Option<String> {
    let found = match value {
        Value::String(_) | Value::Null => return None,
        Value::Int(number) if i32::try_from(*number).is_ok() => return None,
        Value::Bool(_) => "bool".to_string(),
        Value::Array(_) => "array".to_string(),
        Value::Object(_) => "object".to_string(),
        number => format!("number {number}"),
    };
    Some(format!("json: cannot unmarshal {found} into Go value of type int32"))
}

/// A time reads its own text, and does not know in which field it is.
fn time_error(value: &Value) -> Option<String> {
    let found = match value {
        Value::String(_) | Value::Null => return None,
        Value::Bool(_) => "bool",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
        Value::Int(_) | Value::UInt(_) | Value::Float(_) => "number",
    };
    Some(format!("json: cannot unmarshal {found} into Go value of type string"))
}

fn bytes_error(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => {
            let at = base64::decode(text).err()?;
            Some(format!("error decoding from json: illegal base64 data at input byte {at}"))
        }
        Value::Array(_) => None,
        other => Some(format!("cannot restore slice from {}", go_text::kind_name(other))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tenure_schema::Schema;

    #[test]
    fn errors_are_those_of_the_first_part_that_does_not_convert() {
        let deployment = Schema::builtin().kind("apps/v1", "Deployment").expect("a built-in kind");
        for (document, expected) in [
            (r#"{"spec":{"replicas":2}}"#, None),
            (r#"{"spec":{"replicas":2.0}}"#, None),
            (r#"{"spec":{"replicas":1.5}}"#, Some("cannot convert float64 to int32")),
            (r#"{"spec":{"replicas":"x"}}"#, Some("unrecognized type: int32")),
            (r#"{"spec":{"paused":"x"}}"#, Some("unrecognized type: bool")),
            (r#"{"metadata":{"name":7}}"#, Some("cannot convert int64 to string")),
            (
                r#"{"spec":{"template":{"spec":{"dnsPolicy":7}}}}"#,
                Some("cannot convert int64 to v1.DNSPolicy"),
            ),
            (
                r#"{"spec":{"strategy":{"rollingUpdate":{"maxSurge":[]}}}}"#,
                Some("json: cannot unmarshal array into Go value of type int32"),
            ),
            (r#"{"metadata":{"uid":7}}"#, Some("cannot convert int64 to types.UID")),
            (r#"{"metadata":{"name":true}}"#, Some("unrecognized type: string")),
            (r#"{"metadata":[]}"#, Some("cannot restore struct from: slice")),
            (r#"{"metadata":{"labels":"x"}}"#, Some("cannot restore map from string")),
            (r#"{"spec":{"template":{"spec":{"containers":{}}}}}"#, Some("cannot restore slice from map")),
            (r#"{"spec":{"template":{"metadata":{"creationTimestamp":"x"}}}}"#, None),
            (
                r#"{"metadata":{"creationTimestamp":{}}}"#,
                Some("json: cannot unmarshal object into Go value of type string"),
            ),
        ] {
            let document: Value = document.parse().expect("JSON");
            assert_eq!(
                conversion_error(&document, deployment, Kinds::builtin()).as_deref(),
                expected,
                "{document}"
            );
        }
    }
}
