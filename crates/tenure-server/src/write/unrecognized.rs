//! Bodies of which not even kind and version can be read, in the words of Kubernetes: what is wrong, and the beginning of the body.

use tenure_meta::ApiError;
use tenure_value::Value;

/// How many bytes of a body an error shows.
const SHOWN: usize = 30;
/// The struct into which Go reads kind and version.
const TYPE_META: &str =
    r#"struct { APIVersion string "json:\"apiVersion,omitempty\""; Kind string "json:\"kind,omitempty\"" }"#;

/// Returns the error of a body that is not an object of any kind.
pub(super) fn unrecognized(kind: &str, why: &str, body: &[u8]) -> ApiError {
    let body = summary(body);
    ApiError::bad_request(format!(
        "the object provided is unrecognized (must be of type {kind}): {why} ({body})"
    ))
}

/// Returns why kind and version of a document cannot be read.
pub(super) fn type_meta_error(document: &Value) -> Option<String> {
    let parse_error = |why: String| Some(format!("couldn't get version/kind; json parse error: json: {why}"));
    let fields = match document {
        Value::Null => return None,
        Value::Object(fields) => fields,
        other => {
            return parse_error(format!(
                "cannot unmarshal {} into Go value of type {TYPE_META}",
                word(other)
            ));
        }
    };
    for name in ["apiVersion", "kind"] {
        match fields.get(name) {
            None | Some(Value::Null | Value::String(_)) => {}
            Some(other) => {
                let kind = word(other);
                return parse_error(format!(
                    "cannot unmarshal {kind} into Go struct field .{name} of type string"
                ));
            }
        }
    }
    let version = fields.get("apiVersion").and_then(Value::as_str).unwrap_or_default();
    (version.matches('/').count() > 1).then(|| format!("unexpected GroupVersion string: {version}"))
}

/// Returns how Go's decoder calls the type of a value.
pub(super) fn word(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "bool",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
        Value::Int(_) | Value::UInt(_) | Value::Float(_) => "number",
    }
}

/// Returns the beginning of a body: text where it begins like an object, hexadecimal otherwise.
fn summary(body: &[u8]) -> String {
    let (shown, rest) = body.split_at(body.len().min(SHOWN));
    let text = match body.first() {
        None => return "<empty>".into(),
        Some(b'{') => String::from_utf8_lossy(shown).into_owned(),
        Some(_) => shown.iter().map(|byte| format!("{byte:02x}")).collect(),
    };
    if rest.is_empty() { text } else { format!("{text} ...") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_body_is_shown_as_text_or_in_hexadecimal() {
        let long = format!("{{\"a\":\"{}\"}}", "x".repeat(40));
        for (body, shown) in [
            ("", "<empty>"),
            ("a: b", "613a2062"),
            ("{\"a\":", "{\"a\":"),
            (&long, "{\"a\":\"xxxxxxxxxxxxxxxxxxxxxxxx ..."),
        ] {
            assert_eq!(summary(body.as_bytes()), shown);
        }
    }

    #[test]
    fn kind_and_version_are_strings_of_an_object() {
        for (document, why) in [
            ("null", None),
            (r#"{"kind":"Pod","apiVersion":"v1"}"#, None),
            (r#"{"kind":1}"#, Some("cannot unmarshal number into Go struct field .kind of type string")),
            ("[]", Some("cannot unmarshal array into Go value of type struct { APIVersion string")),
            (r#"{"apiVersion":"a/b/c"}"#, Some("unexpected GroupVersion string: a/b/c")),
        ] {
            let error = type_meta_error(&document.parse().unwrap());
            match (&error, why) {
                (None, None) => {}
                (Some(error), Some(why)) => assert!(error.contains(why), "{error}"),
                other => panic!("{document}: {other:?}"),
            }
        }
    }
}
