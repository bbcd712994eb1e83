//! How the controllers of aggregation write.

use async_trait::async_trait;
use tenure_meta::{ApiError, GroupVersionResource};
use tenure_value::{Text, Value};

/// Writes objects as the API server itself.
#[async_trait]
pub trait ApiServiceWriter: Send + Sync {
    /// Creates an object of a resource.
    async fn create(
        &self,
        resource: GroupVersionResource,
        namespace: &str,
        object: &Value,
    ) -> Result<(), ApiError>;
    /// Replaces an object.
    async fn update(
        &self,
        resource: GroupVersionResource,
        namespace: &str,
        object: &Value,
    ) -> Result<(), ApiError>;
    /// Replaces the status of an object.
    async fn update_status(&self, resource: GroupVersionResource, object: &Value) -> Result<(), ApiError>;
    /// Deletes an object.
    async fn delete(&self, resource: GroupVersionResource, name: &str) -> Result<(), ApiError>;
    /// Returns the time, as the API writes it.
    fn now(&self) -> Text;
}
