//! The order in which objects need each other. Kinds that others stand on come first, what acts on all writes comes last;
//! within a phase the order of the files is kept.

use crate::document::Document;
use tenure_value::Value;

/// The kinds of each phase; those not named are in the one after [`PODS_NEED`].
const FIRST: [&[&str]; 2] = [&["Namespace", "CustomResourceDefinition", "PriorityClass", "StorageClass"], PODS_NEED];

/// What pods refer to.
const PODS_NEED: &[&str] = &[
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

/// What takes part in the writes of others.
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

/// Returns the documents in phases; each may be applied at once when those before it have been.
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
    use crate::document::Place;

    #[test]
    fn what_others_need_comes_first() {
        let kinds = ["Deployment", "ValidatingWebhookConfiguration", "ConfigMap", "Widget", "CustomResourceDefinition", "Namespace"];
        let document = |kind: &&str| Document {
            value: Value::object([("kind", Value::from(*kind))]),
            place: Place::unknown(),
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
