//! PodTopologyLabels: a pod has the zone and the region of its node among its labels, from its binding or its creation on.

use super::fields;
use crate::{AdmissionAttributes, AdmissionContext, AdmissionPlugin, Operation, ResourceRule};
use async_trait::async_trait;
use tenure_meta::ApiError;
use tenure_value::{Object, Value};

/// The labels of a node that its pods have, too.
const LABELS: [&str; 2] = ["topology.kubernetes.io/region", "topology.kubernetes.io/zone"];

/// Adds the topology labels of nodes to pods that are bound to them.
pub(crate) struct PodTopologyLabels;

#[async_trait]
impl AdmissionPlugin for PodTopologyLabels {
    fn rules(&self) -> &'static [ResourceRule] {
        const { &[ResourceRule::new(&[Operation::Create], "", "pods").at(&["", "binding"])] }
    }

    async fn admit(
        &self,
        attributes: &mut AdmissionAttributes,
        context: &AdmissionContext<'_>,
    ) -> Result<(), ApiError> {
        let name = node_name(&attributes.object, &attributes.subresource);
        if name.is_empty() {
            return Ok(());
        }
        if let Some(node) = context.cluster.get("v1", "Node", "", name).await? {
            attributes.object = with_topology(&attributes.object, &node);
        }
        Ok(())
    }
}

/// Returns the node that a pod or a binding names; empty if it names none.
fn node_name<'v>(object: &'v Value, subresource: &str) -> &'v str {
    let text = |path: [&str; 2]| object.at(path).and_then(Value::as_str).unwrap_or_default();
    match subresource {
        "binding" if text(["target", "kind"]) != "Node" => "",
        "binding" => text(["target", "name"]),
        _ => text(["spec", "nodeName"]),
    }
}

/// Returns an object with the topology labels of a node.
fn with_topology(object: &Value, node: &Value) -> Value {
    let of_node = fields(node.at(["metadata", "labels"]));
    let copied = LABELS.iter().filter_map(|label| Some((*label, of_node.get(label)?.clone())));
    let metadata = fields(object.get("metadata"));
    let labels =
        copied.fold(fields(metadata.get("labels")), |all: Object, (label, value)| all.with(label, value));
    if labels == fields(metadata.get("labels")) {
        return object.clone();
    }
    fields(Some(object)).with("metadata", metadata.with("labels", labels)).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_topology_of_the_node_replaces_that_of_the_object() {
        let node: Value =
            r#"{"metadata":{"labels":{"topology.kubernetes.io/zone":"z","other":"x"}}}"#.parse().unwrap();
        for (object, expected) in [
            ("{}", r#"{"metadata":{"labels":{"topology.kubernetes.io/zone":"z"}}}"#),
            (
                r#"{"metadata":{"labels":{"a":"b","topology.kubernetes.io/zone":"old"}}}"#,
                r#"{"metadata":{"labels":{"a":"b","topology.kubernetes.io/zone":"z"}}}"#,
            ),
        ] {
            assert_eq!(with_topology(&object.parse().unwrap(), &node).to_string(), expected);
        }
        let plain: Value = "{}".parse().unwrap();
        assert_eq!(with_topology(&plain, &plain), plain);
    }

    #[test]
    fn pods_and_bindings_name_their_node() {
        for (object, subresource, expected) in [
            (r#"{"spec":{"nodeName":"n"}}"#, "", "n"),
            (r#"{"target":{"kind":"Node","name":"n"}}"#, "binding", "n"),
            (r#"{"target":{"name":"n"}}"#, "binding", ""),
        ] {
            assert_eq!(node_name(&object.parse().unwrap(), subresource), expected, "{object}");
        }
    }
}
