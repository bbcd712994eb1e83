//! The plugins that apply configured policies and call configured webhooks.

use super::{policy_dispatch, webhook_dispatch};
use crate::{
    AdmissionAttributes, AdmissionConfig, AdmissionContext, AdmissionPlugin, Operation, ResourceAction,
    WebhookCredentials,
    config::{policies_may_match, policies_that_see},
};
use async_trait::async_trait;
use tenure_meta::ApiError;

/// Applies the mutating policies.
pub(crate) struct MutatingAdmissionPolicy;

#[async_trait]
impl AdmissionPlugin for MutatingAdmissionPolicy {
    fn handles(&self, action: &ResourceAction<'_>, config: &AdmissionConfig) -> bool {
        action.operation != Operation::Delete && policies_may_match(&config.mutating_policies, action)
    }

    async fn admit(
        &self,
        attributes: &mut AdmissionAttributes,
        context: &AdmissionContext<'_>,
    ) -> Result<(), ApiError> {
        let seen_by = policies_that_see(&attributes.action());
        for (at, policy) in context.config.mutating_policies.that_see(seen_by).iter().enumerate() {
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
        config.webhooks_may_match(&config.mutating_webhooks, action)
    }

    async fn admit(
        &self,
        attributes: &mut AdmissionAttributes,
        context: &AdmissionContext<'_>,
    ) -> Result<(), ApiError> {
        let seen_by = context.config.webhooks_that_see(&attributes.action());
        for (at, webhook) in context.config.mutating_webhooks.that_see(seen_by).iter().enumerate() {
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
        policies_may_match(&config.validating_policies, action)
    }

    async fn validate(
        &self,
        attributes: &mut AdmissionAttributes,
        context: &AdmissionContext<'_>,
    ) -> Result<(), ApiError> {
        let seen_by = policies_that_see(&attributes.action());
        for policy in context.config.validating_policies.that_see(seen_by) {
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
        config.webhooks_may_match(&config.validating_webhooks, action)
    }

    async fn validate(
        &self,
        attributes: &mut AdmissionAttributes,
        context: &AdmissionContext<'_>,
    ) -> Result<(), ApiError> {
        let seen_by = context.config.webhooks_that_see(&attributes.action());
        let webhooks = context.config.validating_webhooks.that_see(seen_by);
        webhook_dispatch::validate(webhooks, attributes, &self.0, context).await
    }
}
