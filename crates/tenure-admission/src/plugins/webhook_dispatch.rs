//! Calls webhooks for a request.

use crate::{
    AdmissionAttributes, AdmissionContext, Operation, ResourceVariant,
    expression::{CelActivation, MatchCondition},
    failure_policy::FailurePolicy,
    plugin::webhook_error,
    webhook::{AdmissionReview, AdmissionWebhook, WebhookResponse, request},
};
use tenure_meta::ApiError;
use tenure_value::{Text, Value};

/// The longest response of a webhook: it contains nothing of the object but what its patch sets.
const RESPONSE_BYTES: usize = 6 << 20;

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
    webhook: &AdmissionWebhook,
    attributes: &mut AdmissionAttributes,
    context: &AdmissionContext<'_>,
) -> Result<Option<Value>, ApiError> {
    let mut reported = Reported::take(attributes);
    let outcome = call(webhook, attributes, &mut reported, context).await;
    let object = match outcome {
        Err(error) => return Err(reported.restore_after(attributes, error)),
        Ok(outcome) => outcome,
    };
    let object = match object {
        Outcome::Skipped => None,
        Outcome::Allowed => Some(attributes.object.clone()),
        Outcome::Patched(..) if attributes.operation == Operation::Delete => {
            return Err(webhook_error(format!(
                "admission webhook {:?} attempted to modify the object, which is not supported for this operation",
                webhook.name.as_str()
            )));
        }
        Outcome::Patched(variant, patch) => {
            Some(patched(webhook, attributes, &patch, variant, context).await?)
        }
    };
    reported.restore(attributes);
    Ok(object)
}

/// Calls a validating webhook.
pub(super) async fn validate(
    webhook: &AdmissionWebhook,
    attributes: &mut AdmissionAttributes,
    context: &AdmissionContext<'_>,
) -> Result<(), ApiError> {
    let mut reported = Reported::take(attributes);
    if let Err(error) = call(webhook, attributes, &mut reported, context).await {
        return Err(reported.restore_after(attributes, error));
    }
    reported.restore(attributes);
    Ok(())
}

/// What webhooks report besides their decision: warnings and audit annotations.
struct Reported {
    warnings: Vec<String>,
    audit_annotations: Vec<(String, String)>,
}

impl Reported {
    fn take(attributes: &mut AdmissionAttributes) -> Reported {
        Reported {
            warnings: std::mem::take(&mut attributes.warnings),
            audit_annotations: std::mem::take(&mut attributes.audit_annotations),
        }
    }

    fn restore(self, attributes: &mut AdmissionAttributes) {
        (attributes.warnings, attributes.audit_annotations) = (self.warnings, self.audit_annotations);
    }

    /// Keeps the annotations of a refused request; its warnings are those of the error.
    fn restore_after(self, attributes: &mut AdmissionAttributes, error: ApiError) -> ApiError {
        attributes.audit_annotations = self.audit_annotations;
        error
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
    match send(webhook, &review, context).await {
        Ok(WebhookResponse { denial: Some(status), warnings, audit_annotations, .. }) => {
            reported.annotate(webhook, audit_annotations);
            reported.warnings.extend(warnings);
            let warnings = std::mem::take(&mut reported.warnings);
            Err(ApiError::denied(&webhook.name, &status).with_warnings(warnings))
        }
        Ok(response) => {
            reported.annotate(webhook, response.audit_annotations);
            reported.warnings.extend(response.warnings);
            Ok(response.patch.map_or(Outcome::Allowed, |patch| Outcome::Patched(variant, patch)))
        }
        Err(why) => failed(webhook, &why).map(|()| Outcome::Skipped),
    }
}

async fn send(
    webhook: &AdmissionWebhook,
    review: &AdmissionReview,
    context: &AdmissionContext<'_>,
) -> Result<WebhookResponse, String> {
    let failed = |why: String| format!("failed to call webhook: {why}");
    let endpoint = context.cluster.webhook_endpoint(&webhook.target).await.map_err(failed)?;
    let (ca_bundle, timeout) = (&webhook.ca_bundle, webhook.timeout);
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
    Err(webhook_error(format!(
        "failed calling webhook {name:?}: {why}; to go on without it, set its failurePolicy to Ignore in {kind} {:?}, or delete that",
        configuration.as_str()
    )))
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
        webhook_error(format!("the patch of admission webhook {name:?} cannot be applied: {error}"))
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
