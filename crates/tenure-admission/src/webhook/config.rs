//! A webhook as its configuration describes it.

use crate::{
    AdmissionAttributes, expression::MatchCondition, failure_policy::FailurePolicy,
    matching::MatchConstraints,
};
use std::time::Duration;
use tenure_crd::WebhookTarget;
use tenure_meta::ValueExt;
use tenure_value::{Text, Value};

/// The default timeout in seconds.
const TIMEOUT: u64 = 10;

/// A webhook.
#[derive(Debug)]
pub(crate) struct AdmissionWebhook {
    pub name: Text,
    /// The kind and the name of the configuration that it is in.
    pub configuration: (Text, Text),
    pub target: WebhookTarget,
    /// The certificates to trust, PEM as base64; empty for those of the system.
    pub ca_bundle: Text,
    /// The versions of `AdmissionReview` that it understands, the preferred one first.
    pub review_versions: Box<[Text]>,
    pub constraints: MatchConstraints,
    pub conditions: Vec<MatchCondition>,
    pub failure_policy: FailurePolicy,
    pub timeout: Duration,
    /// Whether it may be called for a dry run.
    pub supports_dry_run: bool,
    /// Whether it is called again if others have changed the object since (`reinvocationPolicy: IfNeeded`).
    pub is_reinvoked: bool,
}

impl AdmissionWebhook {
    /// Reads the webhooks of a configuration.
    pub fn all(configuration: &Value) -> impl Iterator<Item = AdmissionWebhook> {
        let name = configuration.get("metadata").unwrap_or(&Value::Null).text("name");
        let named = (configuration.text("kind"), name);
        configuration
            .items("webhooks")
            .iter()
            .map(move |webhook| AdmissionWebhook::read(webhook, named.clone()))
    }

    fn read(value: &Value, configuration: (Text, Text)) -> AdmissionWebhook {
        let seconds = value
            .get("timeoutSeconds")
            .and_then(Value::as_i64)
            .and_then(|seconds| u64::try_from(seconds).ok());
        let client = value.get("clientConfig").unwrap_or(&Value::Null);
        AdmissionWebhook {
            name: value.text("name"),
            configuration,
            target: WebhookTarget::read(client),
            ca_bundle: client.text("caBundle"),
            review_versions: value.texts("admissionReviewVersions"),
            constraints: MatchConstraints::read(value),
            conditions: value.items("matchConditions").iter().map(MatchCondition::read).collect(),
            failure_policy: FailurePolicy::read(value),
            timeout: Duration::from_secs(seconds.unwrap_or(TIMEOUT)),
            supports_dry_run: matches!(value.text("sideEffects").as_str(), "None" | "NoneOnDryRun"),
            is_reinvoked: value.text("reinvocationPolicy") == "IfNeeded",
        }
    }

    /// Returns an error if the webhook cannot be called for a request.
    pub fn dry_run_error(&self, attributes: &AdmissionAttributes) -> Option<String> {
        let is_unsupported = attributes.dry_run && !self.supports_dry_run;
        is_unsupported.then(|| format!("admission webhook {:?} does not support dry run", self.name.as_str()))
    }
}
