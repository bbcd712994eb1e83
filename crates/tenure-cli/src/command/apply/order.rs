//! The order of an apply. Kinds that others depend on come first, kinds that affect all writes come last; within a phase the
//! order is that of the files.

use crate::document::Document;
use tenure_value::Value;

/// The kinds of the first phases; the phase after them has all other kinds.
const FIRST: [&[&str]; 2] = [&["Namespace", "CustomResourceDefinition", "PriorityClass", "StorageClass"], USED_BY_PODS];

/// The kinds that pods refer to.
const USED_BY_PODS: &[&str] = &[
    "ServiceAccount",
    "Secret",
    "ConfigMap",
    "PersistentVolume",
    "PersistentVolumeClaim",
    "ClusterRole",
    "Role",
    "ClusterRoleBinding",
    "RoleBinding",
    "ResourceQuota",
    "LimitRange",
    "Service",
];

/// The kinds that affect writes of other objects.
const LAST: &[&str] = &[
    "APIService",
    "MutatingWebhookConfiguration",
    "ValidatingWebhookConfiguration",
    "MutatingAdmissionPolicy",
    "MutatingAdmissionPolicyBinding",
    "ValidatingAdmissionPolicy",
    "ValidatingAdmissionPolicyBinding",
];

fn phase(document: &Document) -> usize {
    let kind = document.value.get("kind").and_then(Value::as_str).unwrap_or_default();
    let first = FIRST.iter().position(|kinds| kinds.contains(&kind));
    first.unwrap_or(if LAST.contains(&kind) { FIRST.len() + 1 } else { FIRST.len() })
}

/// Returns the documents in phases; the objects of a phase depend only on earlier phases.
pub fn phases(documents: Vec<Document>) -> Vec<Vec<Document>> {
    let mut phases: Vec<Vec<Document>> = vec![Vec::new(); FIRST.len() + 2];
    for document in documents {
        let at = phase(&document);
        if let Some(phase) = phases.get_mut(at) {
            phase.push(document);
        }
    }
    phases.retain(|phase| !phase.is_empty());
    phases
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::place::Place;

    #[test]
    fn dependencies_come_first() {
        let kinds = ["Deployment", "ValidatingWebhookConfiguration", "ConfigMap", "Widget", "CustomResourceDefinition", "Namespace"];
        let document = |kind: &&str| Document {
            value: Value::object([("kind", Value::from(*kind))]),
            place: Place::of("a.yaml".as_ref()),
        };
        let phases = phases(kinds.iter().map(document).collect());
        let shown: Vec<Vec<&str>> = phases
            .iter()
            .map(|phase| phase.iter().filter_map(|document| document.value.get("kind")?.as_str()).collect())
            .collect();
        assert_eq!(
            shown,
            [
                vec!["CustomResourceDefinition", "Namespace"],
                vec!["ConfigMap"],
                vec!["Deployment", "Widget"],
                vec!["ValidatingWebhookConfiguration"]
            ]
        );
    }
}
