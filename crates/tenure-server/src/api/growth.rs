//! Claims that ask for more storage: only those that are bound, of a class that lets its volumes grow.

use super::{Api, object::meta_text, target::Target};
use crate::{Failure, kinds::scalar::Quantity};
use tenure_value::Value;

/// The annotation that named the class before there was a field.
const CLASS: &str = "volume.beta.kubernetes.io/storage-class";

impl Api {
    /// Checks that what an update asks for can be had.
    pub(crate) async fn check_growth(
        &self,
        target: &Target,
        old: &Value,
        new: &Value,
    ) -> Result<(), Failure> {
        let resource = &target.served.resource;
        let claims = resource.group.is_empty() && resource.name == "persistentvolumeclaims";
        if !claims || !target.subresource.is_empty() || asked(new) <= asked(old) {
            return Ok(());
        }
        let forbidden = |why: &str| Err(Failure::forbidden("", &resource.name, meta_text(new, "name"), why));
        if old.at(["status", "phase"]).and_then(Value::as_str) != Some("Bound") {
            return forbidden("Only bound persistent volume claims can be expanded");
        }
        match self.lets_grow(class(new)).await? {
            true => Ok(()),
            false => forbidden(
                "only dynamically provisioned pvc can be resized and the storageclass that provisions the pvc must support resize",
            ),
        }
    }

    async fn lets_grow(&self, class: &str) -> Result<bool, Failure> {
        let class = self.find_builtin(("storage.k8s.io", "storageclasses"), class).await?;
        Ok(class.is_some_and(|class| class.get("allowVolumeExpansion") == Some(&Value::Bool(true))))
    }
}

fn asked(claim: &Value) -> i128 {
    let amount = claim.at(["spec", "resources", "requests", "storage"]).and_then(Value::as_str);
    amount.and_then(Quantity::parse).map_or(0, Quantity::nanos)
}

fn class(claim: &Value) -> &str {
    let marked = claim.at(["metadata", "annotations", CLASS]);
    marked.or(claim.at(["spec", "storageClassName"])).and_then(Value::as_str).unwrap_or_default()
}
