//! A write on its way through the pipeline: what the request says besides its body, and how its verb builds the next object.

use super::{Writer, quota::Enforcement};
use tenure_apply::State;
use tenure_catalog::{Conversions, Endpoint, Target, object::Stored};
use tenure_http::{Metrics, Request, WriteOptions};
use tenure_meta::{ApiError, Timestamp};
use tenure_value::{Text, Value};

/// What a write knows besides its body.
pub(crate) struct WriteRequest<'a> {
    pub target: &'a Target,
    pub request: &'a Request,
    pub options: WriteOptions,
    /// The field manager.
    pub manager: Text,
    pub now: Timestamp,
    pub endpoint: Endpoint,
    /// Whether admission runs; it does not for writes of the server itself.
    pub admission: Admitted,
    /// Whether duplicate values that stem from another manager's entries are reported as conflicts.
    pub(super) duplicates_are_conflicts: bool,
    /// The differences from Kubernetes in deciding ownership.
    pub(super) ownership_behavior: tenure_apply::Behavior,
    /// How strategic merge patches are applied.
    pub(super) strategic_merge: tenure_patch::strategic::Behavior,
    /// What a webhook converted so that ownership could be decided.
    pub(super) conversions: Conversions,
    pub(super) metrics: &'a Metrics,
}

/// Whether a request has still to go through admission.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Admitted {
    #[default]
    NotYet,
    /// The request that this write is a part of has been admitted, or the server itself writes.
    Already,
}

/// How a verb builds the next object from the live one. The pipeline calls this for every attempt, with what is live then.
pub(crate) trait Change: Send + Sync {
    /// Returns the next object; `live` is `None` if the object does not exist.
    fn next(&self, write: &WriteRequest<'_>, live: Option<&Stored>) -> Result<Next, ApiError>;
}

/// The next object as the verb built it.
pub(crate) enum Next {
    /// A whole object: a body, or the result of a patch.
    Whole(Body),
    /// The result of an apply, with the managers it decided on.
    Applied(State),
}

/// A whole object that was decoded as one of its kind.
#[derive(Clone)]
pub(crate) struct Body {
    /// The object with its defaults, without `managedFields` and `resourceVersion`.
    pub(super) object: Value,
    /// The `managedFields` of the body.
    pub(super) managers: Option<Value>,
    /// The `resourceVersion` of the body; empty if it has none.
    pub(super) version: Text,
    /// Unknown and duplicate fields, where the client wants warnings.
    pub(super) warnings: Vec<String>,
}

impl<'a> WriteRequest<'a> {
    pub fn new(
        writer: &'a Writer,
        target: &'a Target,
        request: &'a Request,
        options: WriteOptions,
    ) -> WriteRequest<'a> {
        let manager = options.manager.clone().unwrap_or_else(|| request.default_manager());
        WriteRequest {
            target,
            request,
            options,
            manager,
            now: writer.objects.clock.now(),
            endpoint: Endpoint::of(&target.subresource),
            admission: Admitted::NotYet,
            // A client that forces cannot be told to force.
            duplicates_are_conflicts: writer.behavior.duplicate_values_are_conflicts
                && !request.query.flag("force"),
            ownership_behavior: writer.behavior.ownership,
            strategic_merge: writer.behavior.strategic_merge,
            conversions: Conversions::default(),
            metrics: &writer.metrics,
        }
    }

    /// Returns how quotas hold for the write.
    pub fn enforcement(&self) -> Enforcement {
        match self.options.dry_run {
            true => Enforcement::DryRun,
            false => Enforcement::Refuse,
        }
    }

    /// Returns the same write at another endpoint of the object.
    pub fn at(self, endpoint: Endpoint) -> WriteRequest<'a> {
        WriteRequest { endpoint, ..self }
    }

    /// Returns the same write without admission.
    pub fn skip_admission(self) -> WriteRequest<'a> {
        WriteRequest { admission: Admitted::Already, ..self }
    }
}
