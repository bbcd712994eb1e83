//! RuntimeClass: a pod's runtime class must exist, and adds its overhead and scheduling constraints. A pod that sets
//! something else itself is refused.

use super::{fields, with_spec};
use crate::{AdmissionAttributes, AdmissionContext, AdmissionPlugin, Operation, ResourceRule};
use async_trait::async_trait;
use tenure_meta::ApiError;
use tenure_value::Value;

/// Applies runtime classes to new pods.
pub(crate) struct RuntimeClass;

#[async_trait]
impl AdmissionPlugin for RuntimeClass {
    fn rules(&self) -> &'static [ResourceRule] {
        const { &[ResourceRule::new(&[Operation::Create], "", "pods")] }
    }

    async fn admit(
        &self,
        attributes: &mut AdmissionAttributes,
        context: &AdmissionContext<'_>,
    ) -> Result<(), ApiError> {
        let pod = &attributes.object;
        let name = pod.at(["spec", "runtimeClassName"]).and_then(Value::as_str).unwrap_or_default();
        if name.is_empty() {
            return Ok(());
        }
        let class = context.cluster.get("node.k8s.io/v1", "RuntimeClass", "", name).await?;
        let applied = match class {
            Some(class) => with_class(pod, &class),
            None => Err(format!("pod rejected: RuntimeClass {name:?} not found")),
        };
        attributes.object = applied.map_err(|why| attributes.forbidden(&why))?;
        Ok(())
    }

    async fn validate(
        &self,
        attributes: &mut AdmissionAttributes,
        _: &AdmissionContext<'_>,
    ) -> Result<(), ApiError> {
        let spec = |name: &str| attributes.object.at(["spec", name]);
        let has_class = spec("runtimeClassName").and_then(Value::as_str).is_some_and(|name| !name.is_empty());
        match has_class || fields(spec("overhead")).is_empty() {
            true => Ok(()),
            false => Err(attributes.forbidden(
                "pod rejected: Pod Overhead set without corresponding RuntimeClass defined Overhead",
            )),
        }
    }
}

/// Returns a pod with what a runtime class adds.
fn with_class(pod: &Value, class: &Value) -> Result<Value, String> {
    let mut spec = fields(pod.get("spec"));
    let (overhead, own) = (fields(class.at(["overhead", "podFixed"])), fields(spec.get("overhead")));
    if overhead != own && !own.is_empty() {
        return Err("pod rejected: Pod's Overhead doesn't match RuntimeClass's defined Overhead".into());
    }
    if !overhead.is_empty() {
        spec = spec.with("overhead", overhead);
    }
    let mut nodes = fields(spec.get("nodeSelector"));
    for (label, required) in &fields(class.at(["scheduling", "nodeSelector"])) {
        if let Some(own) = nodes.get(label).filter(|own| *own != required) {
            return Err(format!(
                "conflict: runtimeClass.scheduling.nodeSelector[{label}] = {}; pod.spec.nodeSelector[{label}] = {}",
                required.as_str().unwrap_or_default(),
                own.as_str().unwrap_or_default()
            ));
        }
        nodes = nodes.with(label.clone(), required.clone());
    }
    if !nodes.is_empty() {
        spec = spec.with("nodeSelector", nodes);
    }
    let items = |value: Option<&Value>| value.and_then(Value::as_array).cloned().unwrap_or_default().to_vec();
    let mut tolerations = items(spec.get("tolerations"));
    for toleration in items(class.at(["scheduling", "tolerations"])) {
        if !tolerations.contains(&toleration) {
            tolerations.push(toleration);
        }
    }
    if !tolerations.is_empty() {
        spec = spec.with("tolerations", Value::array(tolerations));
    }
    Ok(with_spec(pod, spec))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_class_adds_what_the_pod_does_not_set() {
        const CLASS: &str = r#"{"overhead":{"podFixed":{"cpu":"1"}},"scheduling":{"nodeSelector":{"a":"b"},"tolerations":[{"key":"k"}]}}"#;
        let cases = [
            (
                r#"{"spec":{}}"#,
                Ok(
                    r#"{"spec":{"nodeSelector":{"a":"b"},"overhead":{"cpu":"1"},"tolerations":[{"key":"k"}]}}"#,
                ),
            ),
            (
                r#"{"spec":{"nodeSelector":{"a":"b","c":"d"},"overhead":{"cpu":"1"},"tolerations":[{"key":"k"},{"key":"l"}]}}"#,
                Ok(
                    r#"{"spec":{"nodeSelector":{"a":"b","c":"d"},"overhead":{"cpu":"1"},"tolerations":[{"key":"k"},{"key":"l"}]}}"#,
                ),
            ),
            (
                r#"{"spec":{"overhead":{"cpu":"2"}}}"#,
                Err("pod rejected: Pod's Overhead doesn't match RuntimeClass's defined Overhead"),
            ),
            (
                r#"{"spec":{"nodeSelector":{"a":"x"}}}"#,
                Err("conflict: runtimeClass.scheduling.nodeSelector[a] = b; pod.spec.nodeSelector[a] = x"),
            ),
        ];
        for (pod, expected) in cases {
            let is = with_class(&pod.parse().unwrap(), &CLASS.parse().unwrap()).map(|pod| pod.to_string());
            assert_eq!(is, expected.map(String::from).map_err(String::from), "{pod}");
        }
    }
}
