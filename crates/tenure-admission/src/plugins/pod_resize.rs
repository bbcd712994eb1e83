//! PodResizeValidator: a pod is resized on a node that can do it, and within what the node has to give.

use crate::{
    AdmissionAttributes, AdmissionContext, AdmissionPlugin, Operation, ResourceRule,
    resource_quota::pod_requests,
};
use async_trait::async_trait;
use tenure_meta::{ApiError, Cause, Quantity};
use tenure_value::Value;

/// The label of a node with its operating system.
const OPERATING_SYSTEM: &str = "kubernetes.io/os";

/// Refuses resizes that the node of the pod cannot carry out.
pub(crate) struct PodResizeValidator;

#[async_trait]
impl AdmissionPlugin for PodResizeValidator {
    fn rules(&self) -> &'static [ResourceRule] {
        const { &[ResourceRule::new(&[Operation::Update], "", "pods").at(&["resize"])] }
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
        let Some(node) = context.cluster.get("v1", "Node", "", name).await? else {
            return Err(attributes.forbidden(&format!("node {name:?} not found")));
        };
        match refusal(pod, &node, name) {
            None => Ok(()),
            Some((reason, why)) => {
                let cause = Cause {
                    reason: reason.into(),
                    message: String::new(),
                    field: String::new(),
                    extension: None,
                };
                Err(attributes.forbidden(&why).with_causes(vec![cause]))
            }
        }
    }
}

/// Returns why a node cannot resize a pod: the reason, and the message.
fn refusal(pod: &Value, node: &Value, name: &str) -> Option<(&'static str, String)> {
    let system = node.at(["metadata", "labels", OPERATING_SYSTEM]).and_then(Value::as_str);
    if let Some(system) = system.filter(|system| *system != "linux") {
        let why = format!("pod resize is only supported on linux nodes, node {name:?} is {system:?}");
        return Some(("UnsupportedPlatform", why));
    }
    const THOUSANDTH: i128 = 1_000_000;
    let requests = pod_requests(pod);
    let missing: Vec<String> = [("cpu", THOUSANDTH), ("memory", 1000 * THOUSANDTH)]
        .into_iter()
        .filter_map(|(resource, unit)| {
            let allocatable = node.at(["status", "allocatable", resource]).and_then(Value::as_str);
            let allocatable = allocatable.and_then(Quantity::parse).map_or(0, Quantity::nanos);
            let requested = requests.get(resource).map_or(0, |amount| amount.nanos());
            (requested > allocatable).then(|| {
                format!("{resource}, requested: {}, allocatable: {}", requested / unit, allocatable / unit)
            })
        })
        .collect();
    let why = format!("node didn't have enough allocatable resources: {}", missing.join("; "));
    (!missing.is_empty()).then_some(("NodeCapacity", why))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_node_resizes_within_what_it_has_and_only_with_linux() {
        let pod: Value =
            r#"{"spec":{"containers":[{"name":"c","resources":{"requests":{"cpu":"1500m","memory":"1Gi"}}}]}}"#
                .parse()
                .unwrap();
        for (system, cpu, expected) in [
            ("linux", "2", None),
            ("linux", "1", Some(("NodeCapacity", "cpu, requested: 1500, allocatable: 1000"))),
            ("windows", "2", Some(("UnsupportedPlatform", "node \"n\" is \"windows\""))),
        ] {
            let node = format!(
                r#"{{"metadata":{{"labels":{{"{OPERATING_SYSTEM}":"{system}"}}}},"status":{{"allocatable":{{"cpu":"{cpu}","memory":"2Gi"}}}}}}"#
            );
            let is = refusal(&pod, &node.parse().unwrap(), "n");
            assert_eq!(is.as_ref().map(|is| is.0), expected.map(|expected| expected.0), "{system} {cpu}");
            assert!(
                is.is_none_or(|is| expected.is_some_and(|expected| is.1.contains(expected.1))),
                "{system} {cpu}"
            );
        }
    }
}
