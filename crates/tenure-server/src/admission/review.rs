//! The question that a webhook is asked about a write, and its answer: it may go on, or not and why, or go on changed.

use super::deed::{Deed, Form};
use crate::kinds::{Row, scalar::base64};
use tenure_value::{Limits, Text, Value, json};

const GROUP: &str = "admission.k8s.io";
const KIND: &str = "AdmissionReview";
/// The versions of the question that are spoken; both have the same form.
const VERSIONS: [&str; 2] = ["v1", "v1beta1"];
/// How long a warning may be, in characters; the rest of a longer one is cut off.
const WARNING: usize = 256;

/// A question to a webhook.
pub(crate) struct Review {
    uid: Text,
    api_version: String,
    question: Value,
}

/// What a webhook answers.
#[derive(Debug, PartialEq)]
pub(crate) struct Verdict {
    /// The `Status` that says why not, if so.
    pub refusal: Option<Value>,
    /// The JSON patch of the object, if it is to be changed.
    pub patch: Option<Value>,
    /// What the client is to be told.
    pub warnings: Vec<String>,
}

impl Review {
    /// Asks about a [request] and what it makes of an object; `spoken` are the versions of the question that the
    /// webhook understands, the preferred one first.
    pub fn new(uid: Text, spoken: &[Text], request: Value, object: &Value, old: &Value) -> Review {
        let known = spoken.iter().find(|version| VERSIONS.contains(&version.as_str()));
        let version = known.map_or(VERSIONS[0], Text::as_str);
        let api_version = format!("{GROUP}/{version}");
        let request = request.as_object().cloned().unwrap_or_default();
        let request =
            request.with("uid", uid.clone()).with("object", object.clone()).with("oldObject", old.clone());
        let question = Value::object([
            ("apiVersion", Value::from(api_version.as_str())),
            ("kind", Value::from(KIND)),
            ("request", request.into()),
        ]);
        Review { uid, api_version, question }
    }

    /// Returns the body of the request.
    pub fn question(&self) -> &Value {
        &self.question
    }

    /// Reads the answer.
    pub fn answer(&self, answer: &Value) -> Result<Verdict, String> {
        let given = (answer.text("apiVersion"), answer.text("kind"));
        if given != (self.api_version.as_str().into(), KIND.into()) {
            return Err(format!(
                "expected webhook response of {}, Kind={KIND}, got {}, Kind={}",
                self.api_version, given.0, given.1
            ));
        }
        let Some(response) = answer.get("response").filter(|response| response.as_object().is_some()) else {
            return Err("webhook response was absent".into());
        };
        let uid = response.text("uid");
        if uid != self.uid {
            return Err(format!("expected response.uid={:?}, got {:?}", self.uid.as_str(), uid.as_str()));
        }
        let allowed = response.flag("allowed");
        let refusal = (!allowed).then(|| response.get("status").cloned().unwrap_or_default());
        Ok(Verdict {
            refusal,
            patch: if allowed { patch(response)? } else { None },
            warnings: response.texts("warnings").iter().map(|text| shortened(text)).collect(),
        })
    }
}

/// Returns what a deed is, as reviews and expressions are told it: all but the objects.
pub(crate) fn request(deed: &Deed, form: &Form) -> Value {
    let triple = |last: &'static str, (group, version, name): (&Text, &Text, &Text)| {
        let fields = [("group", group), ("version", version), (last, name)];
        Value::object(fields.map(|(name, value)| (name, Value::from(value.clone()))))
    };
    let kind = |of: &Form| triple("kind", (&of.kind.0, &of.kind.1, &of.kind.2));
    let resource = |of: &Form| triple("resource", (&of.group, &of.version, &of.resource));
    let requested = deed.requested();
    let mut fields = vec![
        ("kind", kind(form)),
        ("resource", resource(form)),
        ("requestKind", kind(requested)),
        ("requestResource", resource(requested)),
        ("operation", Value::from(deed.operation.word())),
        ("userInfo", deed.user.clone()),
        ("dryRun", Value::Bool(deed.dry_run)),
        ("options", deed.options.clone()),
    ];
    let texts = [
        ("name", &deed.name),
        ("namespace", &deed.namespace),
        ("subResource", &deed.subresource),
        ("requestSubResource", &deed.subresource),
    ];
    for (name, text) in texts.into_iter().filter(|(_, text)| !text.is_empty()) {
        fields.push((name, Value::from(text.clone())));
    }
    Value::object(fields)
}

/// Reads the patch of an answer.
fn patch(response: &Value) -> Result<Option<Value>, String> {
    let encoded = response.text("patch");
    match (encoded.as_str(), response.text("patchType").as_str()) {
        ("", "") => Ok(None),
        ("", _) => Err("webhook returned response.patchType but no response.patch".into()),
        (_, "JSONPatch") => {
            let bytes = base64::decode(&encoded).map_err(|_| "response.patch is no base64".to_string())?;
            let patch = json::parse(&bytes, &Limits::default());
            patch.map(Some).map_err(|error| format!("response.patch is no JSON patch: {error}"))
        }
        (_, "") => Err("webhook returned response.patch but not response.patchType".into()),
        (_, other) => {
            Err(format!("webhook returned unknown response.patchType {other:?}; use \"JSONPatch\""))
        }
    }
}

fn shortened(warning: &str) -> String {
    warning.chars().take(WARNING).collect()
}

#[cfg(test)]
mod tests {
    use super::{super::matching::tests::deed, *};

    fn answered(response: &str) -> Result<Verdict, String> {
        let deed = deed("status");
        let asked = request(&deed, &deed.forms[1]);
        let review = Review::new("u".into(), &["v2".into(), "v1".into()], asked, &Value::Null, &Value::Null);
        let text = format!(
            r#"{{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","response":{response}}}"#
        );
        review.answer(&text.parse().unwrap())
    }

    #[test]
    fn the_question_tells_what_is_done_and_in_which_version() {
        let deed = deed("status");
        let asked = request(&deed, &deed.forms[1]);
        let review = Review::new("u".into(), &[], asked, &Value::from(1), &Value::Null);
        let request = review.question().get("request").unwrap();
        assert_eq!(
            request.to_string(),
            r#"{"dryRun":false,"kind":{"group":"apps","kind":"Deployment","version":"v2"},"name":"web","namespace":"shop","object":1,"oldObject":null,"operation":"UPDATE","options":null,"requestKind":{"group":"apps","kind":"Deployment","version":"v1"},"requestResource":{"group":"apps","resource":"deployments","version":"v1"},"requestSubResource":"status","resource":{"group":"apps","resource":"deployments","version":"v2"},"subResource":"status","uid":"u","userInfo":null}"#
        );
    }

    #[test]
    fn an_answer_allows_changes_or_refuses() {
        let allowed = answered(r#"{"uid":"u","allowed":true,"warnings":["w"]}"#).unwrap();
        assert_eq!(allowed, Verdict { refusal: None, patch: None, warnings: vec!["w".into()] });
        let changed =
            answered(r#"{"uid":"u","allowed":true,"patchType":"JSONPatch","patch":"W10="}"#).unwrap();
        assert_eq!(changed.patch, Some(Value::array([])));
        let refused = answered(r#"{"uid":"u","allowed":false,"status":{"message":"no"}}"#).unwrap();
        assert_eq!(refused.refusal.unwrap().text("message").as_str(), "no");
    }

    #[test]
    fn an_answer_that_is_none_is_told() {
        for (response, about) in [
            (r#"{"uid":"x","allowed":true}"#, "response.uid"),
            (r#"null"#, "absent"),
            (r#"{"uid":"u","allowed":true,"patch":"W10="}"#, "patchType"),
            (r#"{"uid":"u","allowed":true,"patchType":"JSONPatch"}"#, "no response.patch"),
            (r#"{"uid":"u","allowed":true,"patchType":"Merge","patch":"W10="}"#, "\"Merge\""),
            (r#"{"uid":"u","allowed":true,"patchType":"JSONPatch","patch":"*"}"#, "base64"),
            (r#"{"uid":"u","allowed":true,"patchType":"JSONPatch","patch":"Kg=="}"#, "JSON patch"),
        ] {
            let why = answered(response).unwrap_err();
            assert!(why.contains(about), "{response}: {why}");
        }
    }
}
