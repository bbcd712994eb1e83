//! The authorizers of a server, in the order in which they are asked. Those of a configuration file change while the server runs.

use crate::{Authorization, AuthorizerOptions, abac::AbacPolicies, node::NodeAuthorizer, webhook::Webhook};
use std::{future::Future, sync::Arc};
use tenure_meta::ApiError;
use tenure_profile::KubernetesVersion;
use tenure_transport::Reloadable;

/// The authorizers. The two most frequent configurations need no list.
#[derive(Clone)]
pub(crate) enum Chain {
    AlwaysAllow,
    Rbac,
    Several(Reloadable<Vec<Link>>),
}

/// An authorizer of a chain.
pub(crate) enum Link {
    AlwaysAllow,
    AlwaysDeny,
    Rbac,
    Node(NodeAuthorizer),
    Abac(Arc<AbacPolicies>),
    Webhook(Box<Webhook>),
}

impl Chain {
    pub async fn open(options: &Authorization) -> Result<Chain, ApiError> {
        Ok(match &options.authorizers()[..] {
            [AuthorizerOptions::AlwaysAllow] if !options.can_change() => Chain::AlwaysAllow,
            [AuthorizerOptions::Rbac] if !options.can_change() => Chain::Rbac,
            authorizers => Chain::Several(Reloadable::new(connect(authorizers, options.version()).await?)),
        })
    }

    /// Returns the task that replaces the authorizers when others are configured; `None` if they stay as they are.
    pub fn follow(&self, options: &Authorization) -> Option<impl Future<Output = ()> + Send + 'static> {
        let Chain::Several(links) = self else { return None };
        let (links, mut changes, version) = (links.clone(), options.changes()?, options.version());
        Some(async move {
            while changes.changed().await.is_ok() {
                let authorizers = changes.borrow_and_update().clone();
                match connect(&authorizers, version).await {
                    Ok(connected) => links.set(connected),
                    Err(error) => {
                        tracing::error!(%error, "authorizers not replaced, keeping the previous ones")
                    }
                }
            }
        })
    }

    pub fn links(&self) -> Arc<Vec<Link>> {
        match self {
            Chain::AlwaysAllow => Arc::new(vec![Link::AlwaysAllow]),
            Chain::Rbac => Arc::new(vec![Link::Rbac]),
            Chain::Several(links) => links.get(),
        }
    }
}

async fn connect(
    authorizers: &[AuthorizerOptions],
    version: KubernetesVersion,
) -> Result<Vec<Link>, ApiError> {
    let failed = |problem: String| ApiError::internal(problem);
    let mut links = Vec::new();
    for options in authorizers {
        links.push(match options {
            AuthorizerOptions::AlwaysAllow => Link::AlwaysAllow,
            AuthorizerOptions::AlwaysDeny => Link::AlwaysDeny,
            AuthorizerOptions::Rbac => Link::Rbac,
            AuthorizerOptions::Node => Link::Node(
                NodeAuthorizer::new(version).map_err(|error| failed(format!("rules of nodes: {error}")))?,
            ),
            AuthorizerOptions::Abac(policies) => Link::Abac(policies.clone()),
            AuthorizerOptions::Webhook(options) => {
                let connected = Webhook::connect(options).await;
                let connected =
                    connected.map_err(|error| failed(format!("authorization webhook: {error}")))?;
                Link::Webhook(Box::new(connected))
            }
        });
    }
    Ok(links)
}
