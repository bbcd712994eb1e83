//! What admission needs of the server.

use crate::{ResourceVariant, webhook_client::ServiceEndpoint};
use async_trait::async_trait;
use tenure_crd::WebhookTarget;
use tenure_meta::{ApiError, Scope};
use tenure_profile::Profile;
use tenure_schema::TypeRef;
use tenure_value::Value;

/// Reads the cluster for admission plugins.
#[async_trait]
pub trait Cluster: Send + Sync {
    /// Returns which improvements on Kubernetes are on.
    fn profile(&self) -> Profile;

    /// Returns the scope of a kind; `None` if it is not served.
    fn scope(&self, api_version: &str, kind: &str) -> Option<Scope>;

    /// Reads an object; `None` if it does not exist or its kind is not served.
    async fn get(
        &self,
        api_version: &str,
        kind: &str,
        namespace: &str,
        name: &str,
    ) -> Result<Option<Value>, ApiError>;

    /// Reads the objects of a kind in a namespace, or in all if it is empty.
    async fn list(&self, api_version: &str, kind: &str, namespace: &str) -> Result<Vec<Value>, ApiError>;

    /// Converts an object between two variants of its resource. `managedFields` and `resourceVersion` are kept.
    async fn convert(
        &self,
        object: &Value,
        from: &ResourceVariant,
        to: &ResourceVariant,
    ) -> Result<Value, ApiError>;

    /// Calls a function with the type of the objects of a variant.
    fn with_type(
        &self,
        variant: &ResourceVariant,
        with: &mut (dyn FnMut(TypeRef<'_>) + Send),
    ) -> Result<(), ApiError>;

    /// Returns random bits, or those that the seed of a test gives for a purpose.
    fn random(&self, purpose: &[&str]) -> u128;

    /// Resolves where a webhook is reached.
    async fn webhook_endpoint(&self, target: &WebhookTarget) -> Result<ServiceEndpoint, String>;
}
