//! NodeDeclaredFeatureValidator: a pod on a node is changed only in ways that the kubelet of the node declares to support.

use super::{items, text};
use crate::{
    AdmissionAttributes, AdmissionConfig, AdmissionContext, AdmissionPlugin, Operation, ResourceAction,
};
use async_trait::async_trait;
use tenure_meta::ApiError;
use tenure_value::Value;

/// The resources of a whole pod change in place.
const POD_RESOURCES: &str = "InPlacePodLevelResourcesVerticalScaling";
/// The resources of an init container change in place, other than those of a sidecar.
const INIT_CONTAINER_RESOURCES: &str = "InPlacePodVerticalScalingInitContainers";

/// Refuses updates of pods that need a feature which their node does not declare.
pub(crate) struct NodeDeclaredFeatureValidator;

#[async_trait]
impl AdmissionPlugin for NodeDeclaredFeatureValidator {
    fn handles(&self, action: &ResourceAction<'_>, _: &AdmissionConfig) -> bool {
        action.operation == Operation::Update
            && action.group.is_empty()
            && action.resource == "pods"
            && matches!(action.subresource, "" | "resize")
    }

    async fn validate(
        &self,
        attributes: &mut AdmissionAttributes,
        context: &AdmissionContext<'_>,
    ) -> Result<(), ApiError> {
        let (pod, old) = (&attributes.object, &attributes.old_object);
        let name = pod.at(["spec", "nodeName"]).and_then(Value::as_str).unwrap_or_default();
        if name.is_empty() || pod.get("spec") == old.get("spec") {
            return Ok(());
        }
        let needed = needed(old, pod);
        if needed.is_empty() {
            return Ok(());
        }
        let Some(node) = context.cluster.get("v1", "Node", "", name).await? else {
            return Err(attributes.forbidden(&format!("node {name:?} not found")));
        };
        let missing = missing(&needed, &node);
        if missing.is_empty() {
            return Ok(());
        }
        Err(attributes.forbidden(&format!(
            "pod update requires features {} which are not available on node {name:?}",
            missing.join(", ")
        )))
    }
}

/// Returns the features that an update needs, in alphabetical order.
fn needed(old: &Value, new: &Value) -> Vec<&'static str> {
    let resources = |pod: &Value| pod.at(["spec", "resources"]).cloned().unwrap_or_default();
    let containers = |pod| items(Value::at(pod, ["spec", "initContainers"]));
    let is_resized = |(old, new): (&Value, &Value)| {
        text(old, "restartPolicy") != "Always" && old.get("resources") != new.get("resources")
    };
    let mut needed = Vec::new();
    if resources(old) != resources(new) {
        needed.push(POD_RESOURCES);
    }
    if containers(old).iter().zip(containers(new)).any(is_resized) {
        needed.push(INIT_CONTAINER_RESOURCES);
    }
    needed
}

/// Returns the features that a node does not declare.
fn missing(needed: &[&'static str], node: &Value) -> Vec<&'static str> {
    let declared = items(node.at(["status", "declaredFeatures"]));
    let is_declared = |feature: &str| declared.iter().any(|name| name.as_str() == Some(feature));
    needed.iter().copied().filter(|feature| !is_declared(feature)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn resizes_need_the_features_of_the_node() {
        let pod = |resources: &str, init: &str, sidecar: &str| -> Value {
            format!(
                r#"{{"spec":{{"nodeName":"n","resources":{{"limits":{{"cpu":"{resources}"}}}},"initContainers":[
                {{"name":"i","resources":{{"limits":{{"cpu":"{init}"}}}}}},
                {{"name":"s","restartPolicy":"Always","resources":{{"limits":{{"cpu":"{sidecar}"}}}}}}]}}}}"#
            )
            .parse()
            .unwrap()
        };
        let old = pod("1", "1", "1");
        for (new, expected) in [
            (pod("1", "1", "1"), &[][..]),
            (pod("2", "1", "1"), &[POD_RESOURCES]),
            (pod("1", "2", "1"), &[INIT_CONTAINER_RESOURCES]),
            (pod("1", "1", "2"), &[]),
            (pod("2", "2", "2"), &[POD_RESOURCES, INIT_CONTAINER_RESOURCES]),
        ] {
            assert_eq!(needed(&old, &new), expected, "{new}");
        }
        let node: Value =
            format!(r#"{{"status":{{"declaredFeatures":["Other","{POD_RESOURCES}"]}}}}"#).parse().unwrap();
        assert_eq!(missing(&[POD_RESOURCES, INIT_CONTAINER_RESOURCES], &node), [INIT_CONTAINER_RESOURCES]);
        assert_eq!(missing(&[POD_RESOURCES], &Value::Null), [POD_RESOURCES]);
    }
}
