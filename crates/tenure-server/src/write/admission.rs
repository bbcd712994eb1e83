//! Admission in the pipeline: how a write is shown to the admission chain, and what it is afterwards.

use super::{
    Writer,
    create::check_namespace,
    delete_options::DeleteOptions,
    identity::{keep_identity, keep_new_identity, without_new_identity},
    metadata_checks,
    request::{Admitted, WriteRequest},
};
use crate::admission::{Operation, Review, unchanged};
use parking_lot::Mutex;
use tenure_admission::webhook_error;
use tenure_apply::Managers;
use tenure_catalog::{
    Target, Verb,
    object::{Stored, bare, meta_text},
    scale_document::{scale_document, with_replicas},
};
use tenure_http::{FieldValidation, Request, WriteOptions};
use tenure_meta::{ApiError, Endpoint, object_meta::one_reference_per_owner_after_admission};
use tenure_store::Revision;
use tenure_value::Value;

/// The review of a write.
pub(super) struct WriteReview<'a> {
    write: &'a WriteRequest<'a>,
    review: Box<Review<'a>>,
}

impl Writer {
    /// Whether a webhook or a policy may review a write of the target.
    pub fn is_reviewed(&self, target: &Target) -> bool {
        let operation = if target.verb == Verb::Create { Operation::Create } else { Operation::Update };
        self.admission.may_match(target, operation)
    }
}

/// Whether any plugin handles an update of the target.
pub(super) fn handles_update(writer: &Writer, write: &WriteRequest<'_>) -> bool {
    let (target, dry_run) = (write.target, write.options.dry_run);
    write.admission == Admitted::NotYet
        && writer.admission.review(target, Operation::Update, &target.name, dry_run).is_some()
}

/// Starts the review of a write; `None` if no plugin handles it.
pub(super) async fn review<'a>(
    writer: &'a Writer,
    write: &'a WriteRequest<'a>,
    live: Option<&Stored>,
    name: &str,
) -> Result<Option<WriteReview<'a>>, ApiError> {
    if write.admission == Admitted::Already {
        return Ok(None);
    }
    let operation = if live.is_some() { Operation::Update } else { Operation::Create };
    // A generated name is known when the object is validated.
    let name = if write.is_name_generated { "" } else { name };
    let review = writer.admission.review(write.target, operation, name, write.options.dry_run);
    let Some(review) = review else { return Ok(None) };
    let old = live.map_or(Value::Null, |live| {
        shown(write, review.is_dynamic, &live.object, &live.managers, live.revision)
    });
    let options = review_options(operation, &write.options);
    let review = Box::pin(review.with_request(write.request, options, old)).await?;
    Ok(Some(WriteReview { write, review }))
}

impl WriteReview<'_> {
    /// Runs the mutating phase; returns the object afterwards.
    pub async fn mutate(
        &self,
        object: Value,
        managers: &Managers,
        live: Option<&Stored>,
        warnings: &mut Vec<String>,
    ) -> Result<Value, ApiError> {
        let (write, review) = (self.write, &self.review);
        if !review.is_dynamic {
            return review.admit(object, &unchanged, warnings).await;
        }
        let revision = live.map_or(Revision::ZERO, |live| live.revision);
        let given = meta_text(&object, "name");
        let seen = |object: &Value| match live {
            Some(_) => shown(write, true, object, managers, revision),
            None => shown(write, true, &without_new_identity(write, object, given), managers, revision),
        };
        let reviewed = seen(&object);
        if write.endpoint == Endpoint::Scale {
            let scale = review.admit(reviewed, &unchanged, warnings).await?;
            return with_replicas(write.target, &object, &scale);
        }
        // A changed object is decoded again before the next plugin sees it.
        let found = Mutex::new(Vec::new());
        let complete = |changed: &Value| {
            check_namespace(write.target, changed)?;
            let (body, duplicates) =
                one_reference_per_owner_after_admission(write.without_foreign_namespace(&bare(changed)));
            found.lock().extend(duplicates);
            found.lock().extend(managed_fields_warning(changed, &reviewed));
            let decoded = write.target.handler.decode(&body, live.map(|live| &live.object), write.now);
            let decoded = decoded.map_err(|error| {
                webhook_error(format!("admission returned an invalid object: {error}"))
                    .or_in_kubernetes(webhook_error(error.to_string()))
            })?;
            let object = match live {
                Some(live) => keep_identity(live, decoded.value),
                None => keep_new_identity(write, &object, decoded.value),
            };
            Ok(seen(&object))
        };
        let admitted = review.admit(reviewed.clone(), &complete, warnings).await;
        warnings.extend(found.into_inner());
        let admitted = bare(&admitted?);
        Ok(match live {
            Some(_) => admitted,
            None => keep_new_identity(write, &object, admitted),
        })
    }

    /// Runs the validating phase.
    pub async fn validate(
        &self,
        object: &Value,
        managers: &Managers,
        live: Option<&Stored>,
        warnings: &mut Vec<String>,
    ) -> Result<(), ApiError> {
        let revision = live.map_or(Revision::ZERO, |live| live.revision);
        let object = shown(self.write, self.review.is_dynamic, object, managers, revision);
        self.review.validate(object, warnings).await
    }
}

impl Writer {
    /// Admits something that is posted and not stored; returns it as plugins change it, with their warnings.
    pub async fn admit_posted(
        &self,
        target: &Target,
        request: &Request,
        options: &WriteOptions,
        posted: Value,
    ) -> Result<(Value, Vec<String>), ApiError> {
        // What is posted to a collection names itself.
        let name = if target.name.is_empty() { meta_text(&posted, "name") } else { target.name.as_str() };
        let review = self.admission.review(target, Operation::Create, name, options.dry_run);
        let Some(review) = review else { return Ok((posted, Vec::new())) };
        let options = review_options(Operation::Create, options);
        self.admit_unstored(review, request, options, posted).await
    }

    /// Admits a connection, which the query of its request describes; returns the warnings of plugins.
    pub async fn admit_connection(
        &self,
        target: &Target,
        request: &Request,
        options: Value,
    ) -> Result<Vec<String>, ApiError> {
        match self.admission.review(target, Operation::Connect, &target.name, false) {
            Some(review) => {
                let admitted = self.admit_unstored(review, request, Value::Null, options).await?;
                Ok(admitted.1)
            }
            None => Ok(Vec::new()),
        }
    }

    /// Runs both phases for something that is not stored; returns it as plugins change it, with their warnings.
    async fn admit_unstored(
        &self,
        review: Box<Review<'_>>,
        request: &Request,
        options: Value,
        posted: Value,
    ) -> Result<(Value, Vec<String>), ApiError> {
        let review = review.with_request(request, options, Value::Null).await?;
        let mut warnings = Vec::new();
        let admitted = match review.admit(posted, &unchanged, &mut warnings).await {
            Ok(posted) => review.validate(posted.clone(), &mut warnings).await.map(|()| posted),
            Err(error) => Err(error),
        };
        match admitted {
            Ok(posted) => Ok((posted, warnings)),
            Err(error) => Err(error.with_warnings(warnings)),
        }
    }

    /// Admits the deletion of an object.
    pub(super) async fn admit_deletion(
        &self,
        target: &Target,
        request: &Request,
        options: &DeleteOptions,
        live: &Stored,
        warnings: &mut Vec<String>,
    ) -> Result<(), ApiError> {
        // The deletion of a collection is not that of a named object.
        let name = if target.verb == Verb::DeleteCollection { "" } else { target.name.as_str() };
        let review = self.admission.review(target, Operation::Delete, name, options.dry_run);
        let Some(review) = review else { return Ok(()) };
        let review = review.with_request(request, options.to_value(), live.shown()).await?;
        review.admit(Value::Null, &unchanged, warnings).await?;
        review.validate(Value::Null, warnings).await
    }
}

/// Returns an object as plugins see it: webhooks and policies see managers and version, too.
fn shown(
    write: &WriteRequest<'_>,
    is_dynamic: bool,
    object: &Value,
    managers: &Managers,
    revision: Revision,
) -> Value {
    if !is_dynamic {
        return object.clone();
    }
    let stored = Stored { object: object.clone(), managers: managers.clone(), revision };
    match write.endpoint {
        Endpoint::Scale => scale_document(write.target, &stored),
        _ => stored.shown(),
    }
}

/// Returns a warning if admission has made the managed fields of an object unreadable. The server keeps those from before.
fn managed_fields_warning(changed: &Value, before: &Value) -> Option<String> {
    let entries = |object: &Value| object.at(["metadata", "managedFields"]).cloned();
    if entries(changed) == entries(before) {
        return None;
    }
    let why = match metadata_checks::check(changed) {
        Err(why) => why,
        Ok(()) => Managers::from_value(entries(changed).as_ref()?).err()?.to_string(),
    };
    Some(format!(
        ".metadata.managedFields was in an invalid state after admission; this could be caused by an outdated mutating admission controller; please fix your requests: {why}"
    ))
}

/// Returns the options of a write as a review contains them.
fn review_options(operation: Operation, options: &WriteOptions) -> Value {
    let kind = if operation == Operation::Create { "CreateOptions" } else { "UpdateOptions" };
    let mut fields = vec![("kind", Value::from(kind)), ("apiVersion", Value::from("meta.k8s.io/v1"))];
    if options.dry_run {
        fields.push(("dryRun", Value::array([Value::from("All")])));
    }
    if let Some(manager) = &options.manager {
        fields.push(("fieldManager", Value::from(manager.clone())));
    }
    let validation = match options.validation {
        FieldValidation::Strict => Some("Strict"),
        FieldValidation::Ignore => Some("Ignore"),
        FieldValidation::Warn => None,
    };
    fields.extend(validation.map(|word| ("fieldValidation", Value::from(word))));
    Value::object(fields)
}
