//! The values of Secrets in plans that are kept. Each is replaced by a digest, which is slow to compute and differs from cluster to
//! cluster, so that values can be compared and not read.

use sha2::Sha256;
use std::fmt::Write;
use tenure_apply::LAST_APPLIED;
use tenure_value::{Object, Value, json};

/// What the text in the place of a value begins with.
const MARK: &str = "*** sha256:";

/// How often the digest is repeated: some milliseconds for each guess at a value.
const ROUNDS: u32 = 10_000;

/// How many bytes of the digest are kept.
const BYTES: usize = 16;

/// Replaces values by digests.
#[derive(Clone, Copy, Debug)]
pub struct Withholding<'a> {
    salt: &'a str,
}

/// Whether a value is the digest of a withheld one.
fn is_withheld(value: &Value) -> bool {
    value.as_str().is_some_and(|text| text.starts_with(MARK))
}

/// Whether a Secret has digests in the place of values.
pub(super) fn has_withheld(object: &Value) -> bool {
    let text = |name: &str| object.get(name).and_then(Value::as_str).unwrap_or_default();
    is_secret(text("apiVersion"), text("kind"))
        && ["data", "stringData"].iter().any(|name| {
            let map = object.get(*name).and_then(Value::as_object);
            map.is_some_and(|map| map.iter().any(|(_, value)| is_withheld(value)))
        })
}

/// Whether the values of a kind are withheld.
pub(super) fn is_secret(api_version: &str, kind: &str) -> bool {
    api_version == "v1" && kind == "Secret"
}

impl<'a> Withholding<'a> {
    /// Returns the withholding with a salt.
    pub fn new(salt: &'a str) -> Withholding<'a> {
        Withholding { salt }
    }

    /// Returns an object; the values of a Secret are replaced: `data`, `stringData` and the last manifest of `kubectl apply`. What is
    /// a digest already stays.
    pub fn object(&self, object: &Value) -> Value {
        let text = |name: &str| object.get(name).and_then(Value::as_str).unwrap_or_default();
        if !is_secret(text("apiVersion"), text("kind")) {
            return object.clone();
        }
        let Some(fields) = object.as_object() else { return object.clone() };
        let mut fields = fields.clone();
        for name in ["data", "stringData"] {
            if let Some(Value::Object(map)) = fields.get(name) {
                let digests = map.iter().map(|(name, value)| (name.clone(), self.value(value)));
                let digests = Object::from_sorted(digests.collect::<Vec<_>>());
                fields = fields.with(name, digests);
            }
        }
        let metadata = fields.get("metadata").and_then(Value::as_object);
        let annotations = metadata.and_then(|metadata| metadata.get("annotations")?.as_object());
        if let (Some(metadata), Some(annotations)) = (metadata, annotations)
            && let Some(applied) = annotations.get(LAST_APPLIED)
        {
            let annotations = annotations.with(LAST_APPLIED, self.value(applied));
            fields = fields.with("metadata", metadata.with("annotations", annotations));
        }
        Value::Object(fields)
    }

    fn value(&self, value: &Value) -> Value {
        if value.is_null() || is_withheld(value) {
            return value.clone();
        }
        let mut digest = [0; BYTES];
        pbkdf2::pbkdf2_hmac::<Sha256>(&json::to_vec(value), self.salt.as_bytes(), ROUNDS, &mut digest);
        let mut text = MARK.to_owned();
        for byte in digest {
            // Writing to a string does not fail.
            let _ = write!(text, "{byte:02x}");
        }
        Value::from(text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_can_be_compared_and_not_read() {
        let secret = |password: &str| -> Value {
            let text = format!(
                r#"{{"apiVersion":"v1","kind":"Secret","metadata":{{"name":"a","annotations":{{"{LAST_APPLIED}":"{password}","x":"y"}}}},
                    "data":{{"password":"{password}","empty":null}},"stringData":{{"user":"{password}"}},"type":"Opaque"}}"#
            );
            text.parse().unwrap()
        };
        let here = Withholding::new("cluster");
        let shown = here.object(&secret("aHVudGVyMg=="));
        assert!(!shown.to_string().contains("aHVudGVyMg"), "{shown}");
        assert_eq!(shown.get("type"), Some(&Value::from("Opaque")));
        assert_eq!(shown.at(["metadata", "annotations", "x"]), Some(&Value::from("y")));
        assert_eq!(shown, here.object(&secret("aHVudGVyMg==")));
        assert_eq!(shown, here.object(&shown));
        assert_ne!(shown, here.object(&secret("b3RoZXI=")));
        assert_ne!(shown, Withholding::new("other").object(&secret("aHVudGVyMg==")));
        let map: Value = r#"{"apiVersion":"v1","kind":"ConfigMap","data":{"a":"b"}}"#.parse().unwrap();
        assert_eq!(here.object(&map), map);
    }
}
