//! Pods that name a runtime class: it must be there, and says what running costs beside the containers and on which nodes
//! it can be done. Nothing a pod says itself is overwritten; where both speak and differ, the pod is refused.

use super::{
    Api,
    object::{fields, meta_text},
    target::Target,
};
use crate::Failure;
use tenure_value::Value;

impl Api {
    /// Returns a new pod with what its runtime class adds; other objects as they are.
    pub(crate) async fn with_runtime_class(&self, target: &Target, object: Value) -> Result<Value, Failure> {
        let resource = &target.served.resource;
        if !(resource.group.is_empty() && resource.name == "pods") {
            return Ok(object);
        }
        let class = object.at(["spec", "runtimeClassName"]).and_then(Value::as_str).unwrap_or_default();
        let refused = |why: String| Failure::forbidden("", "pods", meta_text(&object, "name"), &why);
        if class.is_empty() {
            return match fields(object.at(["spec", "overhead"])).is_empty() {
                true => Ok(object),
                false => Err(refused(
                    "pod rejected: Pod Overhead set without corresponding RuntimeClass defined Overhead"
                        .into(),
                )),
            };
        }
        let Some(found) = self.find_builtin(("node.k8s.io", "runtimeclasses"), class).await? else {
            return Err(refused(format!("pod rejected: RuntimeClass {class:?} not found")));
        };
        admitted(&object, &found).map_err(refused)
    }
}

/// Returns a pod with what a runtime class adds, or why it cannot.
fn admitted(pod: &Value, class: &Value) -> Result<Value, String> {
    let mut spec = fields(pod.get("spec"));
    let (cost, own) = (fields(class.at(["overhead", "podFixed"])), fields(spec.get("overhead")));
    if cost != own && !own.is_empty() {
        return Err("pod rejected: Pod's Overhead doesn't match RuntimeClass's defined Overhead".into());
    }
    if !cost.is_empty() {
        spec = spec.with("overhead", cost);
    }
    let mut nodes = fields(spec.get("nodeSelector"));
    for (label, wanted) in &fields(class.at(["scheduling", "nodeSelector"])) {
        if let Some(own) = nodes.get(label).filter(|own| *own != wanted) {
            return Err(format!(
                "conflict: runtimeClass.scheduling.nodeSelector[{label}] = {}; pod.spec.nodeSelector[{label}] = {}",
                wanted.as_str().unwrap_or_default(),
                own.as_str().unwrap_or_default()
            ));
        }
        nodes = nodes.with(label.clone(), wanted.clone());
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
    Ok(fields(Some(pod)).with("spec", spec).into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_class_adds_what_the_pod_does_not_say() {
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
            let is = admitted(&pod.parse().unwrap(), &CLASS.parse().unwrap()).map(|pod| pod.to_string());
            assert_eq!(is, expected.map(String::from).map_err(String::from), "{pod}");
        }
    }
}
