//! New objects that Kubernetes stores without something that every read fills in. The first write stores it, even if it changes
//! nothing else.

use tenure_meta::Resource;
use tenure_value::Value;

/// Whether Kubernetes stores a new object without something that every read fills in: a claim has no phase, and a job whose template had
/// no labels does not have those that were generated for it.
pub(crate) fn is_completed_on_read(resource: &Resource, object: &Value) -> bool {
    const GENERATED: [&str; 4] =
        ["batch.kubernetes.io/controller-uid", "batch.kubernetes.io/job-name", "controller-uid", "job-name"];
    match (&*resource.api_version, &*resource.kind) {
        ("v1", "PersistentVolumeClaim") => true,
        ("batch/v1", "Job") => {
            let labels = object.at(["metadata", "labels"]).and_then(Value::as_object);
            object.at(["spec", "manualSelector"]).and_then(Value::as_bool) != Some(true)
                && labels
                    .is_some_and(|labels| labels.iter().all(|(name, _)| GENERATED.contains(&name.as_str())))
        }
        _ => false,
    }
}
