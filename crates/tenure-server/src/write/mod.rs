//! Writes. Every verb describes its change ([`ObjectUpdate`]) and hands it to the one pipeline of `pipeline.rs`, which lists the phases
//! of a create or an update from top to bottom; deletion has a pipeline of its own in `delete.rs`.

mod accepted_names;
mod admission;
mod apply;
mod authorize;
pub(crate) mod body;
mod commit;
mod create;
mod create_context;
mod delete;
mod delete_options;
mod emptied_content;
mod emptied_metadata;
mod finalization;
mod go_conversion;
mod identity;
mod integers;
mod metadata_checks;
mod ownership;
mod ownership_report;
mod patch;
mod patch_errors;
mod patch_kind;
mod pipeline;
mod quota;
mod repeated_apply;
mod request;
mod response;
mod retry;
mod scale;
mod scale_check;
mod unrecognized;
mod update;

use crate::{admission::Admission, read::Reader, services::ServiceAllocator};
use commit::Outcome;
pub(crate) use create::{Posted, check_namespace};
pub(crate) use delete_options::{DeleteOptions, FOREGROUND, ORPHAN, Propagation};
pub(crate) use finalization::is_finished;
pub(crate) use quota::{Enforcement, QuotaChange, is_counted};
use repeated_apply::RepeatedApplies;
pub(crate) use request::{Next, ObjectUpdate, WriteRequest};
pub(crate) use scale::scale_response;
use std::sync::Arc;
use tenure_authorization::Authorizer;
use tenure_builtin::allocate::ServiceNetworks;
use tenure_catalog::{Catalog, Objects, Subresource, Target, Verb, history::History};
pub(crate) use tenure_http::TextErrors;
use tenure_http::{Metrics, Request, Response};
use tenure_meta::ApiError;
use tenure_profile::{Improvement, Profile};

/// Carries out writes.
pub(crate) struct Writer {
    pub objects: Arc<Objects>,
    pub reader: Arc<Reader>,
    pub admission: Arc<Admission>,
    pub authorizer: Arc<Authorizer>,
    catalog: Arc<Catalog>,
    metrics: Arc<Metrics>,
    pub profile: Profile,
    /// Allocates addresses and node ports.
    pub services: ServiceAllocator,
    quota_locks: quota::QuotaLocks,
    repeated_applies: RepeatedApplies,
    /// Records and counts every write.
    pub history: Arc<History>,
}

impl Writer {
    pub fn new(
        reader: Arc<Reader>,
        admission: Arc<Admission>,
        authorizer: Arc<Authorizer>,
        profile: Profile,
        history: Arc<History>,
        networks: ServiceNetworks,
    ) -> Arc<Writer> {
        let objects = reader.objects.clone();
        let (catalog, metrics) = (objects.catalog.clone(), reader.metrics.clone());
        let services = ServiceAllocator::new(objects.clone(), history.clone(), networks);
        let quota_locks = quota::QuotaLocks::default();
        let repeated_applies = RepeatedApplies::default();
        Arc::new(Writer {
            objects,
            reader,
            admission,
            authorizer,
            catalog,
            metrics,
            profile,
            services,
            quota_locks,
            repeated_applies,
            history,
        })
    }

    /// Returns the writer of a fork.
    pub fn fork(
        &self,
        reader: Arc<Reader>,
        admission: Arc<Admission>,
        authorizer: Arc<Authorizer>,
    ) -> Arc<Writer> {
        let history = Arc::new(self.history.fork());
        Writer::new(reader, admission, authorizer, self.profile, history, self.services.networks())
    }

    /// Carries out a PUT or a PATCH of an object.
    pub async fn modify(&self, target: &Target, request: &Request) -> Result<Response, ApiError> {
        let format = request.format(target.offer())?;
        if target.part() == Some(Subresource::Scale) {
            return self.modify_scale(target, request, format).await;
        }
        let report = target.verb == Verb::Patch
            && self.profile.has(Improvement::OwnershipReports)
            && ownership_report::is_requested(request, request.query.get("dryRun").is_some())?;
        let before = if report { self.objects.read(target).await? } else { None };
        let written = match target.verb {
            Verb::Update => self.update(target, request).await?,
            _ => self.patch(target, request).await?,
        };
        if !matches!(written.outcome, Outcome::Unchanged) {
            self.accept_names(target, &target.name).await;
        }
        if report {
            return Ok(ownership_report::response(target, before.as_ref(), &written.stored, format));
        }
        self.respond(target, request, format, &written)
    }
}
