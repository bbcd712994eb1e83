//! Conversion between [`Managers`] and the `managedFields` of `k8s-openapi` objects.

use crate::{ApplyError, Managers};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ManagedFieldsEntry;

impl Managers {
    /// Reads the `metadata.managedFields` of a typed object.
    ///
    /// ```
    /// use k8s_openapi::{api::core::v1::ConfigMap, apimachinery::pkg::apis::meta::v1::ObjectMeta};
    /// use tenure_apply::{Applier, Managers};
    ///
    /// let desired = ConfigMap {
    ///     metadata: ObjectMeta { name: Some("a".into()), ..ObjectMeta::default() },
    ///     data: Some([("k".to_owned(), "v".to_owned())].into()),
    ///     ..ConfigMap::default()
    /// };
    /// let applied = Applier::new("alice").apply(None, &desired)?;
    /// let entries = applied.object.metadata.managed_fields.unwrap_or_default();
    /// let managers = Managers::from_entries(&entries)?;
    /// assert_eq!(managers, applied.managers);
    /// assert_eq!(managers.to_entries()?, entries);
    /// # Ok::<(), tenure_apply::ApplyError>(())
    /// ```
    pub fn from_entries(entries: &[ManagedFieldsEntry]) -> Result<Managers, ApplyError> {
        Managers::from_value(&tenure_value::to_value(entries).map_err(ApplyError::Document)?)
    }

    /// Returns the managers as the `metadata.managedFields` of a typed object.
    pub fn to_entries(&self) -> Result<Vec<ManagedFieldsEntry>, ApplyError> {
        tenure_value::from_value(&self.to_value()).map_err(ApplyError::Document)
    }
}
