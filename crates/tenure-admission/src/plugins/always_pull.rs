//! AlwaysPullImages: every container of a pod pulls its image, so that only pods with the credentials for an image run it.

use super::{fields, with_spec};
use crate::{AdmissionAttributes, ObjectPlugin, Operation, ResourceRule};
use tenure_value::Value;

/// The lists of containers in the spec of a pod.
const LISTS: [&str; 3] = ["containers", "initContainers", "ephemeralContainers"];

/// Sets the pull policy of all new containers to `Always`. Those of a pod that exists keep theirs, which cannot change.
pub(crate) const ALWAYS_PULL_IMAGES: ObjectPlugin = ObjectPlugin::mutating(
    &[
        ResourceRule::new(&[Operation::Create], "", "pods"),
        ResourceRule::new(&[Operation::Create, Operation::Update], "", "pods").at(&["ephemeralcontainers"]),
    ],
    |attributes: &AdmissionAttributes| always_pulling(&attributes.object),
);

/// Returns a pod all of whose containers pull their images.
fn always_pulling(pod: &Value) -> Value {
    let spec = LISTS.iter().fold(fields(pod.get("spec")), |spec, list| {
        let Some(Value::Array(containers)) = spec.get(list) else { return spec };
        let pulling = containers
            .iter()
            .map(|container| Value::from(fields(Some(container)).with("imagePullPolicy", "Always")));
        let pulling = Value::array(pulling);
        spec.with(*list, pulling)
    });
    with_spec(pod, spec)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_containers_pull_their_images() {
        let pod = r#"{"spec":{"containers":[{"imagePullPolicy":"Never","name":"a"}],"initContainers":[{"name":"b"}]}}"#;
        assert_eq!(
            always_pulling(&pod.parse().unwrap()).to_string(),
            r#"{"spec":{"containers":[{"imagePullPolicy":"Always","name":"a"}],"initContainers":[{"imagePullPolicy":"Always","name":"b"}]}}"#
        );
    }
}
