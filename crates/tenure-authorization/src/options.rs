//! How requests are authorized: which authorizers are asked, and in which order.

use crate::webhook::WebhookOptions;
use std::sync::Arc;
use tenure_auth::abac::AbacPolicies;

/// The authorizers of a server, in the order in which they are asked.
#[derive(Clone, Debug, Default)]
pub struct Authorization(Vec<AuthorizerOptions>);

/// An authorizer.
#[derive(Clone, Debug)]
pub enum AuthorizerOptions {
    /// Everyone may do everything.
    AlwaysAllow,
    /// No one may do anything.
    AlwaysDeny,
    /// The stored roles and bindings.
    Rbac,
    /// Kubelets may read what the pods of their node refer to.
    Node,
    /// The policies of a file.
    Abac(Arc<AbacPolicies>),
    /// A server that is sent a review of each request.
    Webhook(WebhookOptions),
}

impl Authorization {
    /// Returns authorization by these authorizers, in this order.
    pub fn new(authorizers: impl IntoIterator<Item = AuthorizerOptions>) -> Authorization {
        Authorization(authorizers.into_iter().collect())
    }

    /// Returns authorization by the stored roles and bindings.
    pub fn rbac() -> Authorization {
        Authorization::new([AuthorizerOptions::Rbac])
    }

    /// Returns authorization that lets everyone do everything.
    pub fn always_allow() -> Authorization {
        Authorization::new([AuthorizerOptions::AlwaysAllow])
    }

    /// Returns the authorizers.
    pub fn authorizers(&self) -> &[AuthorizerOptions] {
        &self.0
    }
}
