//! The order of an apply: the phases of the kinds; within a phase the order is that of the files.

use crate::document::Document;
use tenure_value::Value;

/// Returns the documents in phases; the objects of a phase depend only on earlier phases.
pub fn phases(documents: Vec<Document>) -> Vec<Vec<Document>> {
    let mut phases: Vec<Vec<Document>> = vec![Vec::new(); tenure_client::PHASES];
    for document in documents {
        let kind = document.value.get("kind").and_then(Value::as_str).unwrap_or_default();
        let at = tenure_client::phase(kind);
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
        let kinds = [
            "Deployment",
            "ValidatingWebhookConfiguration",
            "ConfigMap",
            "Widget",
            "CustomResourceDefinition",
            "Namespace",
        ];
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
