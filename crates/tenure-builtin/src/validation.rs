//! Validation of whole objects of built-in kinds: metadata, content, and what an update may change.

use crate::{
    engine::Kinds,
    part::Part,
    validate::{
        Step, Walk, changed_scale_target, generated_selector, new_event, new_pod, new_revision,
        new_stateful_set, service_error_rank,
    },
};
use std::collections::HashSet;
use tenure_meta::{Endpoint, FieldError, FieldErrors, FieldPath, Previous, Resource, Timestamp, object_meta};
use tenure_profile::Behaviour;
use tenure_value::Value;

/// Where the status of a service has what a balancer tells.
const BALANCER: &str = "status.loadBalancer.ingress";

impl Kinds {
    /// Returns the errors of a new object, prepared by [`Kinds::create`].
    pub fn validate_create(&self, resource: &Resource, object: &Value) -> Vec<FieldError> {
        if let Some((hub, converted)) = self.in_hub(resource, object) {
            return self.validate_create(hub, &converted);
        }
        let mut errors = FieldErrors::default();
        object_meta::check(resource, object, &mut errors);
        if (&*resource.api_version, &*resource.kind) == ("batch/v1", "Job") {
            generated_selector(object, &mut errors);
        }
        self.check_content(resource, None, object, Previous::UNKNOWN, Endpoint::Main, &mut errors);
        match (&*resource.api_version, &*resource.kind) {
            ("events.k8s.io/v1", _) => new_event(object, &mut errors),
            ("v1", "Pod") => new_pod(object, &mut errors),
            ("apps/v1", "ControllerRevision") => new_revision(object, &mut errors),
            ("apps/v1", "StatefulSet") => new_stateful_set(object, &mut errors),
            _ => {}
        }
        errors.into_vec()
    }

    /// Returns the errors of an updated object, prepared by [`Kinds::prepare_update`].
    pub fn validate_update(
        &self,
        resource: &Resource,
        endpoint: Endpoint<'_>,
        old: &Value,
        new: &Value,
    ) -> Vec<FieldError> {
        self.validate_update_after(resource, endpoint, old, new, Previous::UNKNOWN, Timestamp::default())
    }

    /// Like [`Kinds::validate_update`] at a time, and skips parts that are unchanged since `before`.
    pub fn validate_update_after(
        &self,
        resource: &Resource,
        endpoint: Endpoint<'_>,
        old: &Value,
        new: &Value,
        before: Previous<'_>,
        now: Timestamp,
    ) -> Vec<FieldError> {
        if let (Some((hub, old)), Some((_, new))) = (self.in_hub(resource, old), self.in_hub(resource, new)) {
            return self.validate_update_after(hub, endpoint, &old, &new, Previous::UNKNOWN, now);
        }
        let mut errors = FieldErrors::default();
        object_meta::check_update(resource, old, new, &mut errors);
        // What is right for every resource is right for a kind too, unless it has further rules.
        let checks_metadata = !errors.is_empty() || object_meta::has_own_rules(resource, new);
        for step in self.checks().steps.of(resource, endpoint == Endpoint::Status) {
            match step {
                Step::Metadata if checks_metadata => object_meta::check(resource, new, &mut errors),
                Step::MetadataChanges if checks_metadata => {
                    object_meta::check_changes(resource, old, new, &mut errors);
                }
                Step::Metadata | Step::MetadataChanges => {}
                Step::GeneratedSelector => generated_selector(new, &mut errors),
                Step::Content => self.check_content(resource, Some(old), new, before, endpoint, &mut errors),
                Step::Changes => self.check_changes(resource, endpoint, old, new, now, &mut errors),
            }
        }
        if self.version.has(Behaviour::ErrorsReportedOnce) {
            let mut reported = HashSet::new();
            errors.retain(|error| reported.insert((error.path.clone(), error.message.clone())));
        }
        errors.into_vec()
    }

    /// Returns how often the metadata of an updated object is validated: as for every resource, and in the steps of the kind.
    pub(crate) fn metadata_checks(&self, resource: &Resource) -> usize {
        let is_metadata = |step: &&Step| matches!(step, Step::Metadata | Step::MetadataChanges);
        2 + self.checks().steps.of(resource, false).iter().filter(is_metadata).count()
    }

    /// Validates what an endpoint may change.
    fn check_changes(
        &self,
        resource: &Resource,
        endpoint: Endpoint<'_>,
        old: &Value,
        new: &Value,
        now: Timestamp,
        errors: &mut FieldErrors,
    ) {
        let whole = match (endpoint, Part::of(endpoint)) {
            (Endpoint::Status, _) => {
                self.checks().status_updates.check(resource, old, new, now, errors);
                false
            }
            (_, None) => true,
            (_, Some(part)) => {
                part.check(old, new, errors);
                part.is_checked_as_whole()
            }
        };
        if whole {
            self.checks().updates.check(resource, old, new, now, errors);
        }
    }

    /// Validates the content of an object, which replaces an old one if there is one.
    fn check_content(
        &self,
        resource: &Resource,
        old: Option<&Value>,
        object: &Value,
        before: Previous<'_>,
        endpoint: Endpoint<'_>,
        errors: &mut FieldErrors,
    ) {
        let Some(shape) = self.shape_of(resource) else { return };
        let mut found = FieldErrors::default();
        let (shapes, checks) = (self.shapes(), self.checks());
        let mut walk = Walk { shapes, checks, endpoint, root: object, errors: &mut found };
        walk.object(shape, object, before, &FieldPath::root());
        let mut found = found.into_vec();
        match (&*resource.api_version, &*resource.kind, endpoint) {
            (_, "HorizontalPodAutoscaler", Endpoint::Main) => found.extend(changed_scale_target(old, object)),
            // Claims never change, so that an update tolerates those that are stored.
            // The networks of a ServiceCIDR are checked with their change.
            ("networking.k8s.io/v1", "ServiceCIDR", _) if old.is_some() => {
                found.retain(|error| !error.path.starts_with("spec.cidrs"));
            }
            ("apps/v1", "StatefulSet", _) if old.is_some() => {
                found.retain(|error| !error.path.starts_with("spec.volumeClaimTemplates["));
            }
            _ => {}
        }
        // What is refused as a whole is not looked at.
        if (&*resource.api_version, &*resource.kind) == ("v1", "Service")
            && found.iter().any(|error| error.path == BALANCER)
        {
            found.retain(|error| error.path == BALANCER);
        }
        checks.order.sort(shapes, shape, &mut found);
        if (&*resource.api_version, &*resource.kind) == ("v1", "Service") {
            found.sort_by_key(service_error_rank);
        }
        errors.extend(found);
    }
}
