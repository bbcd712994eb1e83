//! The plugins that apply configured policies and call configured webhooks.

use super::{policy_dispatch, webhook_dispatch};
use crate::{
    AdmissionAttributes, AdmissionConfig, AdmissionContext, AdmissionPlugin, Operation, ResourceAction,
    WebhookCredentials,
    config::{policies_may_match, webhooks_may_match},
};
use async_trait::async_trait;
use tenure_meta::ApiError;

/// Applies the mutating policies.
pub(crate) struct MutatingAdmissionPolicy;

#[async_trait]
impl AdmissionPlugin for MutatingAdmissionPolicy {
    fn handles(&self, action: &ResourceAction<'_>, config: &AdmissionConfig) -> bool {
        action.operation != Operation::Delete
            && policies_may_match(config.mutating_policies.iter().map(|policy| &policy.constraints), action)
    }

    async fn admit(
        &self,
        attributes: &mut AdmissionAttributes,
        context: &AdmissionContext<'_>,
    ) -> Result<(), ApiError> {
        for (at, policy) in context.config.mutating_policies.iter().enumerate() {
            let key = ("MutatingAdmissionPolicy", at);
            if !attributes.reinvocation.is_due(key, policy.is_reinvoked, &attributes.object) {
                continue;
            }
            if let Some(object) = policy_dispatch::mutate(policy, attributes, context).await? {
                attributes.replace_object(key, object);
            }
        }
        Ok(())
    }
}

/// Calls the mutating webhooks one after the other, with the given credentials.
pub(crate) struct MutatingAdmissionWebhook(pub WebhookCredentials);

#[async_trait]
impl AdmissionPlugin for MutatingAdmissionWebhook {
    fn handles(&self, action: &ResourceAction<'_>, config: &AdmissionConfig) -> bool {
        webhooks_may_match(config.mutating_webhooks.iter().map(|webhook| &webhook.constraints), action)
    }

    async fn admit(
        &self,
        attributes: &mut AdmissionAttributes,
        context: &AdmissionContext<'_>,
    ) -> Result<(), ApiError> {
        for (at, webhook) in context.config.mutating_webhooks.iter().enumerate() {
            let key = ("MutatingAdmissionWebhook", at);
            if !attributes.reinvocation.is_due(key, webhook.is_reinvoked, &attributes.object) {
                continue;
            }
            if let Some(object) =
                webhook_dispatch::mutate((at, webhook), attributes, &self.0, context).await?
            {
                attributes.replace_object(key, object);
            }
        }
        Ok(())
    }
}

/// Evaluates the validating policies.
pub(crate) struct ValidatingAdmissionPolicy;

#[async_trait]
impl AdmissionPlugin for ValidatingAdmissionPolicy {
    fn handles(&self, action: &ResourceAction<'_>, config: &AdmissionConfig) -> bool {
        policies_may_match(config.validating_policies.iter().map(|policy| &policy.constraints), action)
    }

    async fn validate(
        &self,
        attributes: &mut AdmissionAttributes,
        context: &AdmissionContext<'_>,
    ) -> Result<(), ApiError> {
        for policy in &context.config.validating_policies {
            policy_dispatch::validate(policy, attributes, context).await?;
        }
        Ok(())
    }
}

/// Calls the validating webhooks, all of them at once.
pub(crate) struct ValidatingAdmissionWebhook(pub WebhookCredentials);

#[async_trait]
impl AdmissionPlugin for ValidatingAdmissionWebhook {
    fn handles(&self, action: &ResourceAction<'_>, config: &AdmissionConfig) -> bool {
        webhooks_may_match(config.validating_webhooks.iter().map(|webhook| &webhook.constraints), action)
    }

    async fn validate(
        &self,
        attributes: &mut AdmissionAttributes,
        context: &AdmissionContext<'_>,
    ) -> Result<(), ApiError> {
        webhook_dispatch::validate(&context.config.validating_webhooks, attributes, &self.0, context).await
    }
}
