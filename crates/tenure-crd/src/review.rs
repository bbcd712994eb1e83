//! The request to a conversion webhook, and the validation of its response. A webhook may change content,
//! labels and annotations; the rest of the metadata is restored.

use tenure_meta::ValueExt;
use tenure_value::{Object, Text, Value};

const GROUP: &str = "apiextensions.k8s.io";
/// The supported versions of ConversionReview; both have the same structure.
const VERSIONS: [&str; 2] = ["v1", "v1beta1"];
/// The metadata that a webhook may change.
const CHANGEABLE: [&str; 2] = ["annotations", "labels"];

/// The review that a conversion webhook answers: the request to it, and the check of its response.
pub struct ConversionReview<'o> {
    uid: Text,
    api_version: String,
    desired: Text,
    objects: Vec<&'o Value>,
}

impl<'o> ConversionReview<'o> {
    /// Creates a request to convert objects to a version; `spoken` are the versions of ConversionReview that
    /// the webhook supports, preferred first.
    pub fn new(uid: Text, spoken: &[Text], desired: &str, objects: Vec<&'o Value>) -> ConversionReview<'o> {
        let known = spoken.iter().find(|version| VERSIONS.contains(&version.as_str()));
        let version = known.map_or(VERSIONS[0], Text::as_str);
        ConversionReview { uid, api_version: format!("{GROUP}/{version}"), desired: desired.into(), objects }
    }

    /// Returns the body of the request.
    pub fn request_body(&self) -> Value {
        Value::object([
            ("apiVersion", Value::from(self.api_version.as_str())),
            ("kind", Value::from("ConversionReview")),
            (
                "request",
                Value::object([
                    ("uid", Value::from(self.uid.clone())),
                    ("desiredAPIVersion", Value::from(self.desired.clone())),
                    ("objects", Value::array(self.objects.iter().copied().cloned())),
                ]),
            ),
        ])
    }

    /// Parses the response: the requested objects, in their order.
    pub fn converted_objects(&self, response: &Value) -> Result<Vec<Value>, String> {
        let converted = self.check(response).map_err(|why| self.failed(&why))?;
        if converted.len() != self.objects.len() {
            return Err(format!(
                "{} returned {} objects, expected {}",
                self.webhook(),
                converted.len(),
                self.objects.len()
            ));
        }
        let pairs = self.objects.iter().zip(converted).enumerate();
        pairs
            .map(|(at, (original, converted))| {
                self.restored(original, converted).map_err(|why| {
                    format!("{} returned an invalid object at index {at}: {why}", self.webhook())
                })
            })
            .collect()
    }

    /// Returns the message for a webhook that failed.
    pub fn failed(&self, why: &str) -> String {
        format!("{} failed: {why}", self.webhook())
    }

    fn webhook(&self) -> String {
        let object = self.objects.first().copied().unwrap_or(&Value::Null);
        format!("conversion webhook for {}, Kind={}", object.text("apiVersion"), object.text("kind"))
    }

    fn check<'a>(&self, review: &'a Value) -> Result<&'a [Value], String> {
        let given = (review.text("apiVersion"), review.text("kind"));
        if given != (self.api_version.as_str().into(), "ConversionReview".into()) {
            return Err(format!(
                "expected a ConversionReview of {}, got {:?} of {:?}",
                self.api_version,
                given.1.as_str(),
                given.0.as_str()
            ));
        }
        let Some(response) = review.get("response").filter(|response| response.as_object().is_some()) else {
            return Err("no response provided".into());
        };
        let uid = response.text("uid");
        if uid != self.uid {
            return Err(format!("expected response.uid={:?}, got {:?}", self.uid.as_str(), uid.as_str()));
        }
        let result = response.get("result").unwrap_or(&Value::Null);
        match (result.text("status").as_str(), result.text("message").as_str()) {
            ("Success", _) => Ok(response.items("convertedObjects")),
            (status, "") => Err(format!("response.result.status was {status:?}, not \"Success\"")),
            (_, message) => Err(message.into()),
        }
    }

    /// Checks a converted object and restores everything that must not change.
    fn restored(&self, original: &Value, converted: &Value) -> Result<Value, String> {
        let fields = converted.as_object().ok_or_else(|| format!("it is {}", converted.kind()))?;
        let version = converted.text("apiVersion");
        if version != self.desired {
            return Err(format!(
                "invalid groupVersion (expected {}, received {:?})",
                self.desired,
                version.as_str()
            ));
        }
        if converted.text("kind") != original.text("kind") {
            let words = [original.text("kind"), converted.text("kind")];
            return Err(format!("must have the same kind: {} != {:?}", words[0], words[1].as_str()));
        }
        let empty = Object::default();
        let before = original.get("metadata").and_then(Value::as_object).unwrap_or(&empty);
        let after = match fields.get("metadata") {
            Some(Value::Object(metadata)) => metadata,
            Some(other) => return Err(format!("invalid metadata: expected an object, got {}", other.kind())),
            None => return Err("missing metadata".into()),
        };
        for (name, shown) in [("name", "name"), ("namespace", "namespace"), ("uid", "UID")] {
            let [was, is] =
                [before, after].map(|object| object.get(name).and_then(Value::as_str).unwrap_or_default());
            if was != is {
                return Err(format!("must have the same {shown}: {was:?} != {is:?}"));
            }
        }
        let mut metadata = before.clone();
        for name in CHANGEABLE {
            metadata = match after.get(name).filter(|value| !value.is_null()) {
                None => metadata.without(name),
                Some(map @ Value::Object(entries)) => {
                    if let Some((key, other)) = entries.iter().find(|(_, value)| value.as_str().is_none()) {
                        return Err(format!(
                            "metadata.{name}[{key}]: expected a string, got {}",
                            other.kind()
                        ));
                    }
                    metadata.with(name, map.clone())
                }
                Some(other) => {
                    return Err(format!("metadata.{name}: expected an object, got {}", other.kind()));
                }
            };
        }
        Ok(fields.with("metadata", metadata).into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ORIGINAL: &str = r#"{"apiVersion":"e.com/v1","kind":"W","metadata":{"name":"a","namespace":"n","uid":"1","generation":3,"labels":{"l":"1"}},"hostPort":"h:1"}"#;
    const CONVERTED: &str = r#"{"apiVersion":"e.com/v2","kind":"W","metadata":{"name":"a","namespace":"n","uid":"1","generation":9,"annotations":{"x":"y"}},"host":"h"}"#;

    fn response(objects: &str, result: &str) -> Value {
        format!(
            r#"{{"apiVersion":"apiextensions.k8s.io/v1","kind":"ConversionReview","response":{{"uid":"u","result":{result},"convertedObjects":{objects}}}}}"#
        )
        .parse()
        .unwrap()
    }

    fn with_review(text: &Value, then: impl FnOnce(&ConversionReview<'_>)) {
        then(&ConversionReview::new("u".into(), &["v2".into(), "v1".into()], "e.com/v2", vec![text]));
    }

    #[test]
    fn the_identity_of_an_object_survives_its_conversion() {
        let object: Value = ORIGINAL.parse().unwrap();
        with_review(&object, |review| {
            assert_eq!(review.request_body().text("apiVersion"), "apiextensions.k8s.io/v1");
            let converted = review
                .converted_objects(&response(&format!("[{CONVERTED}]"), r#"{"status":"Success"}"#))
                .unwrap();
            let expected = r#"{"apiVersion":"e.com/v2","kind":"W","metadata":{"name":"a","namespace":"n","uid":"1","generation":3,"annotations":{"x":"y"}},"host":"h"}"#;
            assert_eq!(converted, [expected.parse().unwrap()]);
        });
    }

    #[test]
    fn invalid_responses_are_rejected_with_the_reason() {
        let object: Value = ORIGINAL.parse().unwrap();
        let changed = |from: &str, to: &str| format!("[{}]", CONVERTED.replace(from, to));
        let success = r#"{"status":"Success"}"#;
        for (objects, result, words) in [
            (
                "[]".to_string(),
                success,
                "conversion webhook for e.com/v1, Kind=W returned 0 objects, expected 1",
            ),
            (format!("[{CONVERTED},{CONVERTED}]"), success, "returned 2 objects, expected 1"),
            ("[]".into(), r#"{"status":"Failure","message":"no way"}"#, "Kind=W failed: no way"),
            ("[]".into(), r#"{"status":"Failure"}"#, "response.result.status was \"Failure\""),
            ("[]".into(), "null", "response.result.status was \"\""),
            (changed("e.com/v2", "e.com/v3"), success, "at index 0: invalid groupVersion (expected e.com/v2"),
            (changed("\"W\"", "\"X\""), success, "must have the same kind: W != \"X\""),
            (changed("\"name\":\"a\"", "\"name\":\"b\""), success, "must have the same name: \"a\" != \"b\""),
            (changed("\"uid\":\"1\"", "\"uid\":\"2\""), success, "must have the same UID"),
            (changed("\"namespace\":\"n\",", ""), success, "must have the same namespace"),
            (changed("\"metadata\"", "\"m\""), success, "missing metadata"),
            (changed("{\"x\":\"y\"}", "{\"x\":1}"), success, "metadata.annotations[x]: expected a string"),
            (changed("{\"x\":\"y\"}", "[]"), success, "metadata.annotations: expected an object"),
            ("[1]".into(), success, "at index 0: it is"),
        ] {
            with_review(&object, |review| {
                let why = review.converted_objects(&response(&objects, result)).unwrap_err();
                assert!(why.contains(words), "{why} instead of {words}");
            });
        }
        with_review(&object, |review| {
            for (from, to, words) in [
                ("\"uid\":\"u\"", "\"uid\":\"x\"", "failed: expected response.uid=\"u\", got \"x\""),
                ("ConversionReview", "Review", "failed: expected a ConversionReview"),
                ("response", "reply", "failed: no response provided"),
            ] {
                let text = response("[]", success).to_string().replace(from, to);
                let why = review.converted_objects(&text.parse().unwrap()).unwrap_err();
                assert!(why.contains(words), "{why} instead of {words}");
            }
        });
    }
}
