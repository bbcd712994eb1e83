//! Calls webhooks for a request.

use crate::{
    AdmissionAttributes, AdmissionContext, Operation, ResourceVariant, WebhookCredentials,
    expression::{CelActivation, MatchCondition},
    failure_policy::FailurePolicy,
    plugin::webhook_error,
    webhook::{AdmissionReview, AdmissionWebhook, WebhookResponse, request},
    webhook_client::UNKNOWN_AUTHORITY,
};
use futures::future::join_all;
use std::{sync::Arc, time::Instant};
use tenure_meta::{ApiError, Reason};
use tenure_value::{Text, Value};

/// The longest response of a webhook: it contains nothing of the object but what its patch sets.
const RESPONSE_BYTES: usize = 6 << 20;

/// The error of a request that is out of time.
const OUT_OF_TIME: &str = "the server was unable to return a response in the time allotted, but may still be processing the request";

/// The prefixes of the audit annotations about the calls of webhooks; the round and the place of the webhook follow.
const MUTATION: &str = "mutation.webhook.admission.k8s.io/";
const PATCH: &str = "patch.webhook.admission.k8s.io/";
const MUTATION_FAILED_OPEN: &str = "failed-open.mutation.webhook.admission.k8s.io/";
const VALIDATION_FAILED_OPEN: &str = "failed-open.validating.webhook.admission.k8s.io/";

/// Returns the audit annotation that says whether a webhook changed the object.
fn mutation_annotation(webhook: &AdmissionWebhook, is_mutated: bool) -> String {
    let (configuration, name) =
        (Value::from(webhook.configuration.1.clone()), Value::from(webhook.name.clone()));
    format!(r#"{{"configuration":{configuration},"webhook":{name},"mutated":{is_mutated}}}"#)
}

/// Returns the audit annotation with the patch of a webhook.
fn patch_annotation(webhook: &AdmissionWebhook, patch: &Value) -> String {
    let (configuration, name) =
        (Value::from(webhook.configuration.1.clone()), Value::from(webhook.name.clone()));
    format!(r#"{{"configuration":{configuration},"webhook":{name},"patch":{patch},"patchType":"JSONPatch"}}"#)
}

/// What follows from a call.
enum Outcome<'a> {
    /// The webhook does not match, or has failed and is ignored.
    Skipped,
    /// The webhook allows the request.
    Allowed,
    /// The webhook allows the request with a patch of the object at a variant.
    Patched(&'a ResourceVariant, Value),
}

/// Calls a mutating webhook and returns the object as it leaves it; `None` if it was not called.
pub(super) async fn mutate(
    (at, webhook): (usize, &AdmissionWebhook),
    attributes: &mut AdmissionAttributes,
    credentials: &WebhookCredentials,
    context: &AdmissionContext<'_>,
) -> Result<Option<Value>, ApiError> {
    let mut reported = Reported::default();
    let round = usize::from(attributes.reinvocation.is_second_pass);
    let place = format!("round_{round}_index_{at}");
    let outcome = call(webhook, attributes, &mut reported, credentials, context).await;
    let is_called = !matches!(outcome, Ok(Outcome::Skipped));
    if let Ok(Outcome::Patched(_, patch)) = &outcome {
        reported.audit(PATCH, &place, patch_annotation(webhook, patch));
    }
    if reported.is_failed_open {
        reported.audit(MUTATION_FAILED_OPEN, &place, webhook.name.to_string());
    }
    let object = match outcome {
        Err(error) => Err(error),
        Ok(Outcome::Skipped) => Ok(None),
        Ok(Outcome::Allowed) => Ok(Some(attributes.object.clone())),
        Ok(Outcome::Patched(..)) if attributes.operation == Operation::Delete => Err(webhook_error(format!(
            "admission webhook {:?} attempted to modify the object, which is not supported for this operation",
            webhook.name.as_str()
        ))),
        Ok(Outcome::Patched(variant, patch)) => {
            patched(webhook, attributes, &patch, variant, context).await.map(Some)
        }
    };
    if is_called || reported.is_failed_open {
        let is_mutated = matches!(&object, Ok(Some(object)) if *object != attributes.object);
        reported.audit(MUTATION, &place, mutation_annotation(webhook, is_mutated));
    }
    reported.add_to(attributes);
    object
}

/// Calls validating webhooks, all of them at once. What they report and the error of the request are in their order.
pub(super) async fn validate(
    webhooks: &[Arc<AdmissionWebhook>],
    attributes: &mut AdmissionAttributes,
    credentials: &WebhookCredentials,
    context: &AdmissionContext<'_>,
) -> Result<(), ApiError> {
    let calls = webhooks.iter().map(|webhook| async {
        let mut reported = Reported::default();
        let outcome = call(webhook, attributes, &mut reported, credentials, context).await;
        (outcome.map(drop), reported)
    });
    let called = join_all(calls).await;
    let mut valid = Ok(());
    for (at, (outcome, mut reported)) in called.into_iter().enumerate() {
        if reported.is_failed_open {
            let name = webhooks[at].name.to_string();
            reported.audit(VALIDATION_FAILED_OPEN, &format!("round_0_index_{at}"), name);
        }
        reported.add_to(attributes);
        valid = valid.and(outcome);
    }
    valid
}

/// What webhooks report besides their decision: warnings and audit annotations.
#[derive(Default)]
struct Reported {
    warnings: Vec<String>,
    audit_annotations: Vec<(String, String)>,
    /// Whether the call failed, which the failure policy ignores.
    is_failed_open: bool,
}

impl Reported {
    fn audit(&mut self, prefix: &str, place: &str, value: String) {
        self.audit_annotations.push((format!("{prefix}{place}"), value));
    }

    fn add_to(self, attributes: &mut AdmissionAttributes) {
        attributes.warnings.extend(self.warnings);
        attributes.audit_annotations.extend(self.audit_annotations);
    }

    fn annotate(&mut self, webhook: &AdmissionWebhook, annotations: Vec<(Text, Text)>) {
        let named = annotations
            .into_iter()
            .map(|(key, value)| (format!("{}/{key}", webhook.name), value.to_string()));
        self.audit_annotations.extend(named);
    }
}

/// Calls a webhook if it matches the request.
async fn call<'a>(
    webhook: &AdmissionWebhook,
    attributes: &'a AdmissionAttributes,
    reported: &mut Reported,
    credentials: &WebhookCredentials,
    context: &AdmissionContext<'_>,
) -> Result<Outcome<'a>, ApiError> {
    let Some(variant) = webhook.constraints.matching_variant(attributes) else { return Ok(Outcome::Skipped) };
    if !webhook.constraints.selects(attributes) {
        return Ok(Outcome::Skipped);
    }
    if let Some(why) = webhook.dry_run_error(attributes) {
        return Err(ApiError::bad_request(why));
    }
    let object = at_variant(&attributes.object, attributes, variant, context).await?;
    let old_object = at_variant(&attributes.old_object, attributes, variant, context).await?;
    let request = request(attributes, variant);
    let mut activation = CelActivation::new(&request, &object, &old_object, context.decide);
    match MatchCondition::all(&webhook.conditions, &mut activation) {
        Ok(true) => {}
        Ok(false) => return Ok(Outcome::Skipped),
        Err(why) if webhook.failure_policy == FailurePolicy::Fail => return Err(attributes.forbidden(&why)),
        Err(_) => return Ok(Outcome::Skipped),
    }
    drop(activation);
    let random =
        context.cluster.random(&["admission", &webhook.name, &attributes.namespace, &attributes.name]);
    let uid = Text::from(uuid::Builder::from_random_bytes(random.to_be_bytes()).into_uuid().to_string());
    let review = AdmissionReview::new(uid, &webhook.review_versions, request, &object, &old_object);
    match send(webhook, &review, credentials, context).await {
        Ok(WebhookResponse { denial: Some(status), warnings, audit_annotations, .. }) => {
            reported.annotate(webhook, audit_annotations);
            reported.warnings.extend(warnings);
            Err(ApiError::denied(&webhook.name, &status))
        }
        Ok(response) => {
            reported.annotate(webhook, response.audit_annotations);
            reported.warnings.extend(response.warnings);
            // A patch without operations changes nothing, which is also allowed where there is no object.
            let patch = response.patch.filter(|patch| patch.as_array().is_none_or(|all| !all.is_empty()));
            Ok(patch.map_or(Outcome::Allowed, |patch| Outcome::Patched(variant, patch)))
        }
        Err(why) => {
            failed(webhook, &why)?;
            // A request that is out of time fails, whatever the policies of its webhooks.
            if Instant::now() >= context.deadline {
                return Err(ApiError::new(Reason::Timeout, OUT_OF_TIME));
            }
            reported.is_failed_open = true;
            Ok(Outcome::Skipped)
        }
    }
}

async fn send(
    webhook: &AdmissionWebhook,
    review: &AdmissionReview,
    credentials: &WebhookCredentials,
    context: &AdmissionContext<'_>,
) -> Result<WebhookResponse, String> {
    let failed = |why: String| format!("failed to call webhook: {why}");
    // The request tells the webhook how long the server waits, which is at most as long as the client does.
    let timeout = webhook.timeout.min(context.deadline.saturating_duration_since(Instant::now()));
    let endpoint = context.cluster.webhook_endpoint(&webhook.target).await;
    let endpoint = endpoint.and_then(|endpoint| endpoint.with_timeout(timeout)).map_err(failed)?;
    let user = credentials.of(&endpoint.url);
    let endpoint = endpoint.with_user(user);
    let ca_bundle = &webhook.ca_bundle;
    let response =
        context.client.post(ca_bundle, &endpoint, review.body(), timeout, |_| RESPONSE_BYTES).await;
    review
        .response(&response.map_err(failed)?)
        .map_err(|why| format!("received invalid webhook response: {why}"))
}

/// Decides by the failure policy what happens to the request.
fn failed(webhook: &AdmissionWebhook, why: &str) -> Result<(), ApiError> {
    let name = webhook.name.as_str();
    if webhook.failure_policy == FailurePolicy::Ignore {
        tracing::warn!(webhook = name, why, "admission webhook failed, ignored");
        return Ok(());
    }
    let (kind, configuration) = &webhook.configuration;
    let failed = format!("failed calling webhook {name:?}: {why}");
    let cause = match why.ends_with(UNKNOWN_AUTHORITY) {
        true => {
            ": set caBundle to that certificate, or to the one of the authority that signed it, as base64 of PEM"
        }
        false => "",
    };
    let advice = format!(
        "{failed}{cause}; to go on without it, set its failurePolicy to Ignore in {kind} {:?}, or delete that",
        configuration.as_str()
    );
    Err(webhook_error(advice).or_in_kubernetes(webhook_error(failed)))
}

/// Returns the object with the patch of a webhook.
async fn patched(
    webhook: &AdmissionWebhook,
    attributes: &AdmissionAttributes,
    patch: &Value,
    variant: &ResourceVariant,
    context: &AdmissionContext<'_>,
) -> Result<Value, ApiError> {
    let object = at_variant(&attributes.object, attributes, variant, context).await?;
    let options = tenure_patch::json::Options::default();
    let patched = tenure_patch::json::apply(&object, patch, &options).map_err(|error| {
        let name = webhook.name.as_str();
        let why = format!("the patch of admission webhook {name:?} cannot be applied: {error}");
        webhook_error(why).or_in_kubernetes(webhook_error(error.json_in_kubernetes()))
    })?;
    (context.complete)(&from_variant(patched, attributes, variant, context).await?)
}

/// Converts an object from the requested variant to another one.
pub(super) async fn at_variant(
    object: &Value,
    attributes: &AdmissionAttributes,
    variant: &ResourceVariant,
    context: &AdmissionContext<'_>,
) -> Result<Value, ApiError> {
    let requested = attributes.requested();
    match object.is_null() || variant.kind == requested.kind {
        true => Ok(object.clone()),
        false => context.cluster.convert(object, requested, variant).await,
    }
}

/// Converts an object from a variant back to the requested one.
pub(super) async fn from_variant(
    object: Value,
    attributes: &AdmissionAttributes,
    variant: &ResourceVariant,
    context: &AdmissionContext<'_>,
) -> Result<Value, ApiError> {
    let requested = attributes.requested();
    match variant.kind == requested.kind {
        true => Ok(object),
        false => context.cluster.convert(&object, variant, requested).await,
    }
}
