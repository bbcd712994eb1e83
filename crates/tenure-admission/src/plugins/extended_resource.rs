//! ExtendedResourceToleration: nodes with an extended resource can be reserved by a taint of its name; pods that request the
//! resource tolerate the taint.

use super::{fields, items, text, with_spec};
use crate::{AdmissionAttributes, ObjectPlugin, Operation, ResourceRule};
use std::collections::BTreeSet;
use tenure_value::Value;

/// Lets pods that request an extended resource run on nodes that are reserved for it by a taint of its name.
pub(crate) const EXTENDED_RESOURCE_TOLERATION: ObjectPlugin = ObjectPlugin::mutating(
    &[ResourceRule::new(&[Operation::Create, Operation::Update], "", "pods")],
    |attributes: &AdmissionAttributes| with_resource_tolerations(&attributes.object),
);

fn with_resource_tolerations(pod: &Value) -> Value {
    let containers =
        ["containers", "initContainers"].into_iter().flat_map(|list| items(pod.at(["spec", list])));
    let requests = containers.map(|container| fields(container.at(["resources", "requests"])));
    let resources: BTreeSet<String> = requests
        .flat_map(|requests| requests.iter().map(|(name, _)| name.to_string()).collect::<Vec<_>>())
        .filter(|name| is_extended(name))
        .collect();
    let wanted = resources.iter().map(|name| {
        Value::object([
            ("key", Value::from(name.as_str())),
            ("operator", Value::from("Exists")),
            ("effect", Value::from("NoSchedule")),
        ])
    });
    let has = |toleration: &Value| {
        let same = |existing: &Value| {
            ["key", "operator", "effect"].iter().all(|name| text(existing, name) == text(toleration, name))
        };
        tolerations(pod).iter().any(same)
    };
    let added: Vec<Value> = wanted.filter(|toleration| !has(toleration)).collect();
    if added.is_empty() {
        return pod.clone();
    }
    let all = tolerations(pod).iter().cloned().chain(added);
    with_spec(pod, fields(pod.get("spec")).with("tolerations", Value::array(all)))
}

/// Whether a resource is not one of Kubernetes' own.
fn is_extended(name: &str) -> bool {
    name.contains('/') && !name.contains("kubernetes.io/") && !name.starts_with("requests.")
}

fn tolerations(pod: &Value) -> &[Value] {
    items(pod.at(["spec", "tolerations"]))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn keys(pod: &Value) -> String {
        tolerations(pod).iter().map(|toleration| text(toleration, "key")).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn requests_of_extended_resources_are_tolerations() {
        let pod: Value = r#"{"spec":{"containers":[{"resources":{"requests":{"cpu":"1","example.com/gpu":"1","a.b/c":"2"}}}],
            "initContainers":[{"resources":{"requests":{"example.com/gpu":"1","kubernetes.io/x":"1"}}}]}}"#
            .parse()
            .unwrap();
        let once = with_resource_tolerations(&pod);
        assert_eq!(keys(&once), "a.b/c example.com/gpu");
        assert_eq!(with_resource_tolerations(&once), once);
    }
}
