//! PersistentVolumeClaimResize: only bound claims of a class that allows expansion may request more storage.

use crate::{AdmissionAttributes, AdmissionContext, AdmissionPlugin, Operation, ResourceRule};
use async_trait::async_trait;
use tenure_meta::{ApiError, Quantity};
use tenure_value::Value;

/// The annotation that named the class before there was a field.
const CLASS_ANNOTATION: &str = "volume.beta.kubernetes.io/storage-class";

/// Checks requests for more storage.
pub(crate) struct PersistentVolumeClaimResize;

#[async_trait]
impl AdmissionPlugin for PersistentVolumeClaimResize {
    fn rules(&self) -> &'static [ResourceRule] {
        const { &[ResourceRule::new(&[Operation::Update], "", "persistentvolumeclaims")] }
    }

    async fn validate(
        &self,
        attributes: &mut AdmissionAttributes,
        context: &AdmissionContext<'_>,
    ) -> Result<(), ApiError> {
        let (old, new) = (&attributes.old_object, &attributes.object);
        if requested_storage(new) <= requested_storage(old) {
            return Ok(());
        }
        if old.at(["status", "phase"]).and_then(Value::as_str) != Some("Bound") {
            return Err(attributes.forbidden("Only bound persistent volume claims can be expanded"));
        }
        let class = context.cluster.get("storage.k8s.io/v1", "StorageClass", "", class_name(new)).await?;
        match class.is_some_and(|class| class.get("allowVolumeExpansion") == Some(&Value::Bool(true))) {
            true => Ok(()),
            false => Err(attributes.forbidden(
                "only dynamically provisioned pvc can be resized and the storageclass that provisions the pvc must support resize",
            )),
        }
    }
}

fn requested_storage(claim: &Value) -> i128 {
    let amount = claim.at(["spec", "resources", "requests", "storage"]).and_then(Value::as_str);
    amount.and_then(Quantity::parse).map_or(0, Quantity::nanos)
}

fn class_name(claim: &Value) -> &str {
    let annotated = claim.at(["metadata", "annotations", CLASS_ANNOTATION]);
    annotated.or(claim.at(["spec", "storageClassName"])).and_then(Value::as_str).unwrap_or_default()
}
