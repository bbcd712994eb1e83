//! How requests are authorized: which authorizers are asked, and in which order.

use crate::{abac::AbacPolicies, webhook::WebhookOptions};
use std::sync::Arc;
use tenure_profile::KubernetesVersion;
use tokio::sync::watch;

/// The authorizers of a server, in the order in which they are asked.
#[derive(Clone, Debug, Default)]
pub struct Authorization {
    authorizers: watch::Sender<Arc<[AuthorizerOptions]>>,
    can_change: bool,
    version: KubernetesVersion,
}

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
        Authorization {
            authorizers: watch::Sender::new(authorizers.into_iter().collect()),
            can_change: false,
            version: KubernetesVersion::DEFAULT,
        }
    }

    /// Returns authorization by these authorizers until [`Authorization::replace`] is called.
    pub fn changing(authorizers: impl IntoIterator<Item = AuthorizerOptions>) -> Authorization {
        Authorization { can_change: true, ..Authorization::new(authorizers) }
    }

    /// Replaces the authorizers of a running server. `Node` and `RBAC` may change their places, but they are not added or removed, as
    /// in Kubernetes: what they decide by is read at the start.
    pub fn replace(&self, authorizers: impl IntoIterator<Item = AuthorizerOptions>) -> Result<(), String> {
        let authorizers: Arc<[AuthorizerOptions]> = authorizers.into_iter().collect();
        let fixed = |authorizers: &[AuthorizerOptions]| {
            let has_node = authorizers.iter().any(|each| matches!(each, AuthorizerOptions::Node));
            (has_node, authorizers.iter().any(|each| matches!(each, AuthorizerOptions::Rbac)))
        };
        if fixed(&authorizers) != fixed(&self.authorizers()) {
            let problem = "authorizers of the types Node and RBAC can be moved, but neither added nor removed without a restart";
            return Err(problem.into());
        }
        self.authorizers.send_replace(authorizers);
        Ok(())
    }

    /// Returns the same with the rules that a version of Kubernetes has for nodes.
    pub fn at(self, version: KubernetesVersion) -> Authorization {
        Authorization { version, ..self }
    }

    pub(crate) fn version(&self) -> KubernetesVersion {
        self.version
    }

    pub(crate) fn can_change(&self) -> bool {
        self.can_change
    }

    /// Returns a receiver of the authorizers that replace these, if that can happen.
    pub(crate) fn changes(&self) -> Option<watch::Receiver<Arc<[AuthorizerOptions]>>> {
        self.can_change.then(|| self.authorizers.subscribe())
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
    pub fn authorizers(&self) -> Arc<[AuthorizerOptions]> {
        self.authorizers.borrow().clone()
    }
}
