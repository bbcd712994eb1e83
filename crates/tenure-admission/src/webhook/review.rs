//! `AdmissionReview`: the request to a webhook and its response.

use crate::{AdmissionAttributes, ResourceVariant};
use tenure_meta::{ValueExt, base64};
use tenure_value::{Limits, Text, Value, json};

const GROUP: &str = "admission.k8s.io";
const KIND: &str = "AdmissionReview";
/// The supported versions, which have the same fields.
const VERSIONS: [&str; 2] = ["v1", LENIENT];
/// The version whose responses need neither `apiVersion`, `kind` nor `uid`, nor the type of their patch.
const LENIENT: &str = "v1beta1";

/// A request to a webhook.
pub(crate) struct AdmissionReview {
    uid: Text,
    api_version: String,
    /// Whether the response need not say what it responds to.
    is_lenient: bool,
    body: Value,
}

/// The response of a webhook.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct WebhookResponse {
    /// The `Status` of a request that is denied.
    pub denial: Option<Value>,
    /// The JSON patch of the object.
    pub patch: Option<Value>,
    /// Warnings for the client.
    pub warnings: Vec<String>,
    /// Annotations of the audit event.
    pub audit_annotations: Vec<(Text, Text)>,
}

impl AdmissionReview {
    /// Creates a review of a [request] and its objects in the first supported version of those that the webhook
    /// understands.
    pub fn new(
        uid: Text,
        understood: &[Text],
        request: Value,
        object: &Value,
        old: &Value,
    ) -> AdmissionReview {
        let known = understood.iter().find(|version| VERSIONS.contains(&version.as_str()));
        let version = known.map_or(VERSIONS[0], Text::as_str);
        let api_version = format!("{GROUP}/{version}");
        let request = request.as_object().cloned().unwrap_or_default();
        let request =
            request.with("uid", uid.clone()).with("object", object.clone()).with("oldObject", old.clone());
        let body = Value::object([
            ("apiVersion", Value::from(api_version.as_str())),
            ("kind", Value::from(KIND)),
            ("request", request.into()),
        ]);
        AdmissionReview { uid, api_version, is_lenient: version == LENIENT, body }
    }

    /// Returns the body of the request.
    pub fn body(&self) -> &Value {
        &self.body
    }

    /// Reads the response.
    pub fn response(&self, review: &Value) -> Result<WebhookResponse, String> {
        let given = (review.text("apiVersion"), review.text("kind"));
        if !self.is_lenient && given != (self.api_version.as_str().into(), KIND.into()) {
            return Err(format!(
                "expected webhook response of {}, Kind={KIND}, got {}, Kind={}",
                self.api_version, given.0, given.1
            ));
        }
        let Some(response) = review.get("response").filter(|response| response.as_object().is_some()) else {
            return Err("webhook response was absent".into());
        };
        let uid = response.text("uid");
        if !self.is_lenient && uid != self.uid {
            return Err(format!("expected response.uid={:?}, got {:?}", self.uid.as_str(), uid.as_str()));
        }
        let allowed = response.flag("allowed");
        let denial = (!allowed).then(|| response.get("status").cloned().unwrap_or_default());
        Ok(WebhookResponse {
            denial,
            patch: if allowed { patch(response, self.is_lenient)? } else { None },
            audit_annotations: audit_annotations(response),
            warnings: response.texts("warnings").iter().map(ToString::to_string).collect(),
        })
    }
}

/// Returns the `request` of reviews and expressions, without the objects.
pub(crate) fn request(attributes: &AdmissionAttributes, variant: &ResourceVariant) -> Value {
    let triple = |last: &'static str, (group, version, name): (&Text, &Text, &Text)| {
        let fields = [("group", group), ("version", version), (last, name)];
        Value::object(fields.map(|(name, value)| (name, Value::from(value.clone()))))
    };
    let kind =
        |variant: &ResourceVariant| triple("kind", (&variant.kind.0, &variant.kind.1, &variant.kind.2));
    let resource =
        |variant: &ResourceVariant| triple("resource", (&variant.group, &variant.version, &variant.resource));
    let requested = attributes.requested();
    let mut fields = vec![
        ("kind", kind(variant)),
        ("resource", resource(variant)),
        ("requestKind", kind(requested)),
        ("requestResource", resource(requested)),
        ("operation", Value::from(attributes.operation.word())),
        ("userInfo", attributes.user.clone()),
        ("dryRun", Value::Bool(attributes.dry_run)),
        ("options", attributes.options.clone()),
    ];
    let texts = [
        ("name", &attributes.name),
        ("namespace", &attributes.namespace),
        ("subResource", &attributes.subresource),
        ("requestSubResource", &attributes.subresource),
    ];
    for (name, text) in texts.into_iter().filter(|(_, text)| !text.is_empty()) {
        fields.push((name, Value::from(text.clone())));
    }
    Value::object(fields)
}

/// Reads the audit annotations of a response.
fn audit_annotations(response: &Value) -> Vec<(Text, Text)> {
    let annotations = response.get("auditAnnotations").and_then(Value::as_object);
    let annotations = annotations.into_iter().flat_map(|annotations| annotations.iter());
    annotations.filter_map(|(key, value)| Some((key.clone(), value.as_str()?.into()))).collect()
}

/// Reads the patch of a response, which is a JSON patch whatever its type says if the version is lenient.
fn patch(response: &Value, is_lenient: bool) -> Result<Option<Value>, String> {
    let encoded = response.text("patch");
    let given = response.text("patchType");
    let patch_type = if is_lenient && !encoded.is_empty() { "JSONPatch" } else { given.as_str() };
    match (encoded.as_str(), patch_type) {
        ("", "") => Ok(None),
        ("", _) if is_lenient => Ok(None),
        ("", _) => Err("webhook returned response.patchType but no response.patch".into()),
        (_, "JSONPatch") => {
            let bytes = base64::decode(&encoded).map_err(|_| "response.patch is not base64".to_string())?;
            let patch = json::parse(&bytes, &Limits::default());
            patch.map(Some).map_err(|error| format!("response.patch is not a JSON patch: {error}"))
        }
        (_, "") => Err("webhook returned response.patch but not response.patchType".into()),
        (_, other) => {
            Err(format!("webhook returned unknown response.patchType {other:?}; use \"JSONPatch\""))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::matching::tests::attributes;

    fn response_of(response: &str) -> Result<WebhookResponse, String> {
        let attributes = attributes("status");
        let asked = request(&attributes, &attributes.variants[1]);
        let review =
            AdmissionReview::new("u".into(), &["v2".into(), "v1".into()], asked, &Value::Null, &Value::Null);
        let text = format!(
            r#"{{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","response":{response}}}"#
        );
        review.response(&text.parse().unwrap())
    }

    #[test]
    fn the_request_has_the_operation_and_the_version() {
        let attributes = attributes("status");
        let asked = request(&attributes, &attributes.variants[1]);
        let review = AdmissionReview::new("u".into(), &[], asked, &Value::from(1), &Value::Null);
        let request = review.body().get("request").unwrap();
        assert_eq!(
            request.to_string(),
            r#"{"dryRun":false,"kind":{"group":"apps","kind":"Deployment","version":"v2"},"name":"web","namespace":"shop","object":1,"oldObject":null,"operation":"UPDATE","options":null,"requestKind":{"group":"apps","kind":"Deployment","version":"v1"},"requestResource":{"group":"apps","resource":"deployments","version":"v1"},"requestSubResource":"status","resource":{"group":"apps","resource":"deployments","version":"v2"},"subResource":"status","uid":"u","userInfo":null}"#
        );
    }

    #[test]
    fn a_response_allows_patches_or_denies() {
        let allowed = response_of(r#"{"uid":"u","allowed":true,"warnings":["w"]}"#).unwrap();
        assert_eq!(allowed, WebhookResponse { warnings: vec!["w".into()], ..WebhookResponse::default() });
        let changed =
            response_of(r#"{"uid":"u","allowed":true,"patchType":"JSONPatch","patch":"W10="}"#).unwrap();
        assert_eq!(changed.patch, Some(Value::array([])));
        let refused = response_of(r#"{"uid":"u","allowed":false,"status":{"message":"no"}}"#).unwrap();
        assert_eq!(refused.denial.unwrap().text("message").as_str(), "no");
    }

    #[test]
    fn a_response_of_the_beta_version_need_not_say_what_it_responds_to() {
        let attributes = attributes("");
        let asked = request(&attributes, attributes.requested());
        let review = AdmissionReview::new("u".into(), &["v1beta1".into()], asked, &Value::Null, &Value::Null);
        for (text, expected) in [
            (r#"{"response":{"allowed":true}}"#, Ok(None)),
            (r#"{"response":{"allowed":true,"uid":"other","patchType":"JSONPatch"}}"#, Ok(None)),
            (r#"{"response":{"allowed":true,"patch":"W10="}}"#, Ok(Some(Value::array([])))),
            (r#"{}"#, Err("webhook response was absent".to_string())),
        ] {
            let response = review.response(&text.parse().unwrap());
            assert_eq!(response.map(|response| response.patch), expected, "{text}");
        }
    }

    #[test]
    fn an_invalid_response_is_an_error() {
        for (response, about) in [
            (r#"{"uid":"x","allowed":true}"#, "response.uid"),
            (r#"null"#, "absent"),
            (r#"{"uid":"u","allowed":true,"patch":"W10="}"#, "patchType"),
            (r#"{"uid":"u","allowed":true,"patchType":"JSONPatch"}"#, "no response.patch"),
            (r#"{"uid":"u","allowed":true,"patchType":"Merge","patch":"W10="}"#, "\"Merge\""),
            (r#"{"uid":"u","allowed":true,"patchType":"JSONPatch","patch":"*"}"#, "base64"),
            (r#"{"uid":"u","allowed":true,"patchType":"JSONPatch","patch":"Kg=="}"#, "JSON patch"),
        ] {
            let why = response_of(response).unwrap_err();
            assert!(why.contains(about), "{response}: {why}");
        }
    }
}
