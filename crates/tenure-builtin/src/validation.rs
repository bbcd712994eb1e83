//! Validation of whole objects of built-in kinds: metadata, content, and what an update may change.

use crate::{
    engine::Kinds,
    part::Part,
    validate::{
        Step, Walk, changed_scale_target, generated_selector, new_event, new_pod, new_revision,
        new_stateful_set, pod_names, service_error_rank,
    },
};
use std::{cell::OnceCell, collections::HashSet};
use tenure_meta::{Endpoint, FieldError, FieldErrors, FieldPath, Previous, Resource, Timestamp, object_meta};
use tenure_profile::Behaviour;
use tenure_value::Value;

/// Where the status of a service has what a balancer tells.
const BALANCER: &str = "status.loadBalancer.ingress";

/// Returns the path of the error of a field that may not change.
fn immutable_path(error: &FieldError) -> Option<&str> {
    error.message.ends_with("field is immutable").then_some(error.path.as_str())
}

/// Whether a path leads below one of others.
fn is_below(path: &str, others: &HashSet<String>) -> bool {
    !others.is_empty() && path.match_indices(['.', '[']).any(|(end, _)| others.contains(&path[..end]))
}

/// Returns the path of an error in a downward API file, which Kubernetes reports without the file.
fn of_downward_file(path: &str) -> Option<String> {
    let (volume, file) = path.split_once(".downwardAPI.items[")?;
    let (_, field) = file.split_once(']')?;
    Some(format!("{volume}.downwardAPI{field}"))
}

/// Returns the path of the error of a missing path of a token, which Kubernetes reports at the volume.
fn of_token_path(error: &FieldError) -> Option<String> {
    let source = error.path.strip_suffix(".serviceAccountToken.path")?;
    let (volume, _) = source.split_once(".projected.sources[")?;
    Some(format!("{volume}.projected.path"))
}

/// The end of the error of a second source of a volume, and the sources that it names in another way.
const SECOND_SOURCE: &str = "may not specify more than 1 volume type";
const SECOND_SOURCES: [(&str, &str); 2] = [("cephfs", "cephFS"), ("downwardAPI", "downwarAPI")];

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
            ("batch/v1", "Job") => pod_names(object, &mut errors),
            _ => {}
        }
        self.reported(resource, errors)
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
                Step::PodNames => pod_names(new, &mut errors),
                Step::Content => self.check_content(resource, Some(old), new, before, endpoint, &mut errors),
                Step::Changes => self.check_changes(resource, endpoint, old, new, now, &mut errors),
            }
        }
        self.reported(resource, errors)
    }

    /// Returns the errors as they are reported: each once, and those of declared checks last.
    fn reported(&self, resource: &Resource, mut errors: FieldErrors) -> Vec<FieldError> {
        if !self.version.has(Behaviour::ErrorsReportedOnce) {
            return errors.into_vec();
        }
        let mut reported = HashSet::new();
        errors.retain(|error| reported.insert((error.path.clone(), error.message.clone())));
        let mut errors = errors.into_vec();
        if let Some(shape) = self.shape_of(resource).filter(|_| errors.len() > 1) {
            let declared = &self.checks().declared;
            let changed: HashSet<String> =
                errors.iter().filter_map(immutable_path).map(String::from).collect();
            errors.sort_by_cached_key(|error| {
                // Where something may not change, the declared checks of its parts do not run.
                let is_within = immutable_path(error).is_none() && is_below(&error.path, &changed);
                !is_within && declared.has(self.shapes(), shape, error)
            });
        }
        errors
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
        let mut walk =
            Walk { shapes, checks, endpoint, root: object, errors: &mut found, scope: OnceCell::new() };
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
        // A path of an ingress without a type is not looked at further.
        if (&*resource.api_version, &*resource.kind) == ("networking.k8s.io/v1", "Ingress") {
            let untyped: HashSet<String> = found
                .iter()
                .filter(|error| error.message.starts_with("Required value"))
                .filter_map(|error| error.path.strip_suffix(".pathType").map(String::from))
                .collect();
            found.retain(|error| error.path.ends_with(".pathType") || !is_below(&error.path, &untyped));
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
        errors.extend(found.into_iter().map(as_named));
    }
}

/// Returns an error with the names that Kubernetes gives to some sources of volumes in errors.
fn as_named(error: FieldError) -> FieldError {
    let renamed = match error.message.ends_with(SECOND_SOURCE) {
        true => SECOND_SOURCES.iter().find_map(|(name, shown)| {
            error
                .path
                .strip_suffix(name)
                .filter(|path| path.ends_with('.'))
                .map(|path| format!("{path}{shown}"))
        }),
        false => error
            .path
            .split_once(".gcePersistentDisk.")
            .map(|(volume, field)| format!("{volume}.persistentDisk.{field}"))
            .or_else(|| of_downward_file(&error.path))
            .or_else(|| of_token_path(&error)),
    };
    match renamed {
        Some(path) => FieldError { path, ..error },
        None => error,
    }
}
