//! A write in the pipeline: the request besides its body, and how its verb builds the next object.

use super::{Writer, quota::Enforcement};
use tenure_apply::{Manager, Managers, State};
use tenure_catalog::{Conversions, Target, history::History, object::Stored};
use tenure_http::{AdmissionReview, Metrics, Request, WriteOptions};
use tenure_meta::{ApiError, Endpoint, Timestamp};
use tenure_profile::{Improvement, Profile};
use tenure_store::Revision;
use tenure_value::{Text, Value};

/// The context of a write besides its body.
pub(crate) struct WriteRequest<'a> {
    pub target: &'a Target,
    pub request: &'a Request,
    pub options: WriteOptions,
    /// The field manager.
    pub manager: Text,
    pub now: Timestamp,
    pub endpoint: Endpoint<'a>,
    /// Whether admission runs; it does not for writes of the server itself.
    pub admission: Admitted,
    /// Whether the server chose the name of the object to create.
    pub(super) is_name_generated: bool,
    /// The `resourceVersion` of an object to create, if it names one.
    pub(super) created_version: Option<Revision>,
    /// The differences from Kubernetes that are on.
    pub profile: Profile,
    /// The objects that a webhook converted to compute ownership.
    pub(super) conversions: Conversions,
    /// Whether this is an apply, of an object or of its scale.
    pub(super) is_apply: bool,
    /// Whether this is an apply that is remembered if it changes nothing.
    pub(super) is_remembered: bool,
    /// The namespace and the name that an applied configuration has itself.
    pub(super) applied_as: (Text, Text),
    pub(super) metrics: &'a Metrics,
    pub(super) history: &'a History,
}

/// Whether admission still has to run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Admitted {
    #[default]
    NotYet,
    /// The request that contains this write has been admitted, or the server itself writes.
    Already,
}

/// How a verb builds the next object from the live one. The pipeline calls this for every attempt, with the live object.
pub(crate) trait ObjectUpdate: Send + Sync {
    /// Returns the next object; `live` is `None` if the object does not exist.
    fn next(&self, write: &WriteRequest<'_>, live: Option<&Stored>) -> Result<Next, ApiError>;
}

/// The next object as the verb built it.
pub(crate) enum Next {
    /// A whole object: a body, or the result of a patch.
    Whole(Body),
    /// A whole object whose changes have no owner.
    Unowned(Body),
    /// The result of an apply, with its managers.
    Applied(State),
}

/// A whole object that was decoded as one of its kind.
#[derive(Clone)]
pub(crate) struct Body {
    /// The object with its defaults, without `managedFields` and `resourceVersion`.
    pub(super) object: Value,
    /// The object as it was sent, with its empty lists and maps.
    pub(super) sent: Value,
    /// The `managedFields` of the body.
    pub(super) managers: Option<Value>,
    /// The `resourceVersion` of the body; empty if it has none.
    pub(super) version: Text,
    /// Unknown and duplicate fields, if the client wants warnings.
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
            admission: match request.admission {
                AdmissionReview::Required => Admitted::NotYet,
                AdmissionReview::Skipped => Admitted::Already,
            },
            is_name_generated: false,
            created_version: None,
            profile: writer.profile,
            conversions: Conversions::default(),
            is_apply: false,
            is_remembered: false,
            applied_as: Default::default(),
            metrics: &writer.metrics,
            history: &writer.history,
        }
    }

    /// Whether a write to `scale` changes the order of the managers: the owner of the replicas loses its time, by which they are ordered.
    /// Kubernetes stores that even if nothing else changes.
    pub fn reorders_managers(&self, managers: &Managers, live: &Managers) -> bool {
        self.endpoint == Endpoint::Scale
            && !self.profile.has(Improvement::IgnoreTimeChanges)
            && managers.iter().map(Manager::identity).ne(live.iter().map(Manager::identity))
    }

    /// Whether a write to the status creates the object that does not exist: in Kubernetes, where an update of the object does.
    pub fn creates_by_status(&self) -> bool {
        self.endpoint == Endpoint::Status
            && self.target.handler.resource.strategy.create_on_update
            && !self.profile.has(Improvement::ClientErrors)
    }

    /// Whether empty lists and maps that were sent count as a change of the object, although they are not stored.
    pub fn counts_emptied(&self) -> bool {
        self.target.handler.resource.strategy.bumps.emptied
            && self.endpoint == Endpoint::Main
            && !self.profile.has(Improvement::IgnoreTimeChanges)
    }

    /// Returns how quotas apply to the write.
    pub fn enforcement(&self) -> Enforcement {
        match self.options.dry_run {
            true => Enforcement::DryRun,
            false => Enforcement::Refuse,
        }
    }

    /// Returns the same write at another endpoint of the object.
    pub fn at(self, endpoint: Endpoint<'a>) -> WriteRequest<'a> {
        WriteRequest { endpoint, ..self }
    }

    /// Returns the same write as an apply.
    pub(super) fn into_apply(self) -> WriteRequest<'a> {
        WriteRequest { is_apply: true, ..self }
    }

    /// Returns the same write of a new object whose name the server chooses or not.
    pub(super) fn with_generated_name(self, is_name_generated: bool) -> WriteRequest<'a> {
        WriteRequest { is_name_generated, ..self }
    }

    /// Returns the same write of a new object that names a `resourceVersion`.
    pub(super) fn with_version(self, created_version: Option<Revision>) -> WriteRequest<'a> {
        WriteRequest { created_version, ..self }
    }

    /// Returns the same write without admission.
    pub fn skip_admission(self) -> WriteRequest<'a> {
        WriteRequest { admission: Admitted::Already, ..self }
    }
}
