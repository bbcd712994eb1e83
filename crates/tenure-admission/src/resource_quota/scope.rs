//! The scopes of a quota: which objects it counts at all.

use super::{GroupResource, pod};
use tenure_value::Value;

/// Whether all scopes of a quota match an object. Scopes select pods, and one selects claims; no other object is
/// counted by a quota that has any.
pub(super) fn matches(spec: &Value, resource: GroupResource<'_>, object: &Value) -> bool {
    requirements(spec).all(|requirement| requirement.matches(resource, object))
}

/// Returns the names of the scopes of a quota that match an object.
pub(super) fn matching<'v>(
    spec: &'v Value,
    resource: GroupResource<'v>,
    object: &'v Value,
) -> impl Iterator<Item = &'v str> {
    requirements(spec)
        .filter(move |requirement| requirement.matches(resource, object))
        .map(|requirement| requirement.scope)
}

/// Whether a scope selector matches an object.
pub(super) fn selector_matches(selector: &Value, resource: GroupResource<'_>, object: &Value) -> bool {
    Requirement::selected(selector).matches(resource, object)
}

fn requirements(spec: &Value) -> impl Iterator<Item = Requirement<'_>> {
    let plain = items(spec.get("scopes"))
        .filter_map(Value::as_str)
        .map(|scope| Requirement { scope, selector: None });
    plain.chain(items(spec.at(["scopeSelector", "matchExpressions"])).map(Requirement::selected))
}

/// A scope, with the values that it selects if it selects any.
struct Requirement<'v> {
    scope: &'v str,
    selector: Option<&'v Value>,
}

impl<'v> Requirement<'v> {
    fn selected(selector: &'v Value) -> Requirement<'v> {
        let scope = selector.get("scopeName").and_then(Value::as_str).unwrap_or_default();
        Requirement { scope, selector: Some(selector) }
    }

    fn matches(&self, group_resource: GroupResource<'_>, object: &Value) -> bool {
        let is_claim = group_resource.group.is_empty() && group_resource.resource == "persistentvolumeclaims";
        let text = |path: [&str; 2]| object.at(path).and_then(Value::as_str).unwrap_or_default();
        if self.scope == "VolumeAttributesClass" {
            return is_claim && self.selects(text(["spec", "volumeAttributesClassName"]));
        }
        if !group_resource.is_pod() {
            return false;
        }
        let has_deadline = object
            .at(["spec", "activeDeadlineSeconds"])
            .and_then(Value::as_i64)
            .is_some_and(|seconds| seconds >= 0);
        match self.scope {
            "Terminating" => has_deadline,
            "NotTerminating" => !has_deadline,
            "BestEffort" => pod::is_best_effort(object),
            "NotBestEffort" => !pod::is_best_effort(object),
            "PriorityClass" => self.selects(text(["spec", "priorityClassName"])),
            "CrossNamespacePodAffinity" => has_cross_namespace_affinity(object),
            _ => false,
        }
    }

    /// Whether the selector picks a value, which is "" where the object has none.
    fn selects(&self, value: &str) -> bool {
        let Some(selector) = self.selector else { return !value.is_empty() };
        let is_listed = items(selector.get("values")).any(|listed| listed.as_str() == Some(value));
        match selector.get("operator").and_then(Value::as_str).unwrap_or_default() {
            "In" => is_listed,
            "NotIn" => !is_listed,
            "Exists" => !value.is_empty(),
            "DoesNotExist" => value.is_empty(),
            _ => false,
        }
    }
}

/// Whether a term of the pod's affinities refers to other namespaces.
fn has_cross_namespace_affinity(pod: &Value) -> bool {
    let looks_outside = |term: &Value| {
        term.get("namespaceSelector").is_some_and(|selector| !selector.is_null())
            || items(term.get("namespaces")).next().is_some()
    };
    ["podAffinity", "podAntiAffinity"].into_iter().any(|kind| {
        let Some(affinity) = pod.at(["spec", "affinity", kind]) else { return false };
        let required = items(affinity.get("requiredDuringSchedulingIgnoredDuringExecution"));
        let preferred = items(affinity.get("preferredDuringSchedulingIgnoredDuringExecution"));
        required.chain(preferred.filter_map(|weighted| weighted.get("podAffinityTerm"))).any(looks_outside)
    })
}

fn items(list: Option<&Value>) -> impl Iterator<Item = &Value> {
    list.and_then(Value::as_array).into_iter().flat_map(|list| list.iter())
}
