//! The trait of all admission plugins.

use crate::{AdmissionAttributes, AdmissionConfig, Cluster, ResourceAction, WebhookClient};
use async_trait::async_trait;
use std::{sync::Arc, time::Instant};
use tenure_crd::rules::Decide;
use tenure_meta::{ApiError, Cause};
use tenure_value::{Text, Value};

/// An admission plugin. Mutating plugins implement [`admit`](AdmissionPlugin::admit), validating ones
/// [`validate`](AdmissionPlugin::validate).
#[async_trait]
pub trait AdmissionPlugin: Send + Sync {
    /// Whether the plugin handles an action. This must be cheap: it is asked for every write.
    fn handles(&self, action: &ResourceAction<'_>, config: &AdmissionConfig) -> bool;

    /// Returns the prefix of the labels of a namespace without which the plugin does nothing in it; `None` if the plugin does
    /// not depend on them.
    fn label_prefix(&self, _: &ResourceAction<'_>) -> Option<&'static str> {
        None
    }

    /// Changes the object, or refuses the request.
    async fn admit(&self, _: &mut AdmissionAttributes, _: &AdmissionContext<'_>) -> Result<(), ApiError> {
        Ok(())
    }

    /// Refuses the request if the object may not be written as it is.
    async fn validate(&self, _: &mut AdmissionAttributes, _: &AdmissionContext<'_>) -> Result<(), ApiError> {
        Ok(())
    }
}

/// Defaults and decodes an object that a webhook or a policy has changed, as the server does with a body.
pub type Complete<'c> = &'c (dyn Fn(&Value) -> Result<Value, ApiError> + Send + Sync);

/// What plugins use besides the attributes of the request.
#[derive(Clone, Copy)]
pub struct AdmissionContext<'a> {
    /// Reads the cluster.
    pub cluster: &'a dyn Cluster,
    /// The webhooks and policies.
    pub config: &'a AdmissionConfig,
    /// The client of the webhooks.
    pub client: &'a WebhookClient,
    /// Completes an object that was changed.
    pub complete: Complete<'a>,
    /// Decides what the client, or a service account, may do.
    pub decide: &'a Arc<Decide>,
    /// When the request must be answered.
    pub deadline: Instant,
}

/// Returns the error for a fault of a webhook.
pub fn webhook_error(message: String) -> ApiError {
    ApiError::internal(format!("Internal error occurred: {message}")).with_causes(vec![plain_cause(message)])
}

/// Returns a cause that is a message only.
pub(crate) fn plain_cause(message: String) -> Cause {
    Cause { reason: Text::default(), message, field: String::new(), extension: None }
}
