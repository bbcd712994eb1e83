//! The trait of all admission plugins.

use crate::{AdmissionAttributes, AdmissionConfig, Cluster, ResourceAction, ResourceRule, WebhookClient};
use async_trait::async_trait;
use std::{sync::Arc, time::Instant};
use tenure_crd::rules::Decide;
use tenure_meta::{ApiError, Cause};
use tenure_value::{Text, Value};

/// An admission plugin. It declares what it handles by [`rules`](AdmissionPlugin::rules), or by
/// [`handles`](AdmissionPlugin::handles) if that depends on the configuration; the chain calls it for nothing else. Mutating plugins
/// implement [`admit`](AdmissionPlugin::admit), validating ones [`validate`](AdmissionPlugin::validate).
#[async_trait]
pub trait AdmissionPlugin: Send + Sync {
    /// Returns the resources and operations that the plugin handles.
    fn rules(&self) -> &'static [ResourceRule] {
        &[]
    }

    /// Whether the plugin handles an action. This must be cheap: it is called for every write.
    fn handles(&self, action: &ResourceAction<'_>, _: &AdmissionConfig) -> bool {
        self.rules().iter().any(|rule| rule.matches(action))
    }

    /// Returns the prefix of the labels of a namespace without which the plugin does nothing in it; `None` if the plugin does
    /// not depend on them.
    fn label_prefix(&self, _: &ResourceAction<'_>) -> Option<&'static str> {
        None
    }

    /// Writes what the plugin has counted, in the text format of Prometheus.
    fn write_metrics(&self, _: &mut String) {}

    /// Resets the counters.
    fn reset_metrics(&self) {}

    /// Changes the object, or refuses the request.
    async fn admit(&self, _: &mut AdmissionAttributes, _: &AdmissionContext<'_>) -> Result<(), ApiError> {
        Ok(())
    }

    /// Refuses the request if the object may not be written as it is.
    async fn validate(&self, _: &mut AdmissionAttributes, _: &AdmissionContext<'_>) -> Result<(), ApiError> {
        Ok(())
    }
}

/// A plugin that needs the object of the request only. It is a value, not a type: its rules and two functions.
#[derive(Clone, Copy)]
pub struct ObjectPlugin {
    rules: &'static [ResourceRule],
    admit: fn(&AdmissionAttributes) -> Value,
    validate: fn(&AdmissionAttributes) -> Result<(), ApiError>,
}

impl ObjectPlugin {
    /// Creates a plugin that replaces the object.
    pub const fn mutating(
        rules: &'static [ResourceRule],
        admit: fn(&AdmissionAttributes) -> Value,
    ) -> ObjectPlugin {
        ObjectPlugin { rules, admit, validate: |_| Ok(()) }
    }

    /// Creates a plugin that may refuse the object.
    pub const fn validating(
        rules: &'static [ResourceRule],
        validate: fn(&AdmissionAttributes) -> Result<(), ApiError>,
    ) -> ObjectPlugin {
        ObjectPlugin { rules, admit: |attributes| attributes.object.clone(), validate }
    }
}

#[async_trait]
impl AdmissionPlugin for ObjectPlugin {
    fn rules(&self) -> &'static [ResourceRule] {
        self.rules
    }

    async fn admit(
        &self,
        attributes: &mut AdmissionAttributes,
        _: &AdmissionContext<'_>,
    ) -> Result<(), ApiError> {
        attributes.object = (self.admit)(attributes);
        Ok(())
    }

    async fn validate(
        &self,
        attributes: &mut AdmissionAttributes,
        _: &AdmissionContext<'_>,
    ) -> Result<(), ApiError> {
        (self.validate)(attributes)
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
