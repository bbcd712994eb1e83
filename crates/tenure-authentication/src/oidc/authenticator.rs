//! The authenticator of one issuer: it reads the discovery document in the background, and then verifies tokens.

use crate::oidc::{claims::ClaimMapper, config::Issuer, issuer_keys::IssuerKeys, token::Token};
use std::{sync::Arc, time::Duration};
use tenure_meta::UserInfo;
use tenure_transport::WebClient;
use tokio::{
    sync::watch,
    task::AbortHandle,
    time::{sleep, timeout},
};

/// How long to wait before the discovery document is requested again.
const RETRY: Duration = Duration::from_secs(10);

/// The keys of an issuer, or why they are not known yet.
type Discovered = Result<Arc<IssuerKeys>, String>;

/// The authenticator of one issuer.
pub(crate) struct JwtAuthenticator {
    issuer: Issuer,
    algorithms: Arc<[String]>,
    mapper: ClaimMapper,
    discovered: watch::Receiver<Discovered>,
    discovery: AbortHandle,
}

impl JwtAuthenticator {
    /// Starts the discovery of an issuer, which may not be there yet: it may run on this very server.
    pub fn start(
        issuer: Issuer,
        algorithms: Arc<[String]>,
        mapper: ClaimMapper,
        client: WebClient,
    ) -> JwtAuthenticator {
        let (sender, discovered) = watch::channel(Err("not initialized".into()));
        let (url, discovery_url) = (issuer.url.clone(), issuer.discovery_url.clone());
        let discovery = tokio::spawn(async move {
            loop {
                match IssuerKeys::discover(client.clone(), &url, &discovery_url).await {
                    Ok(keys) => {
                        drop(sender.send_replace(Ok(Arc::new(keys))));
                        // The sender must outlive every receiver that waits for it.
                        return sender.closed().await;
                    }
                    Err(error) => {
                        tracing::error!(issuer = url, %error, "cannot read the discovery document, retrying");
                        drop(sender.send_replace(Err(error)));
                    }
                }
                sleep(RETRY).await;
            }
        });
        let discovery = discovery.abort_handle();
        JwtAuthenticator { issuer, algorithms, mapper, discovered, discovery }
    }

    /// Whether a token names this issuer.
    pub fn is_issuer_of(&self, token: &Token<'_>) -> bool {
        token.issuer() == self.issuer.url
    }

    /// Waits until the discovery document is read.
    pub async fn ready(&self, patience: Duration) -> Result<(), String> {
        let mut discovered = self.discovered.clone();
        if timeout(patience, discovered.wait_for(Result::is_ok)).await.is_ok_and(|found| found.is_ok()) {
            return Ok(());
        }
        let why = discovered.borrow().as_ref().err().cloned().unwrap_or_default();
        Err(format!("oidc: authenticator for issuer {:?} is not healthy: {why}", self.issuer.url))
    }

    /// Returns the user of a token of this issuer and when the token ends, or why it is refused.
    pub async fn authenticate(&self, token: &Token<'_>, now: i64) -> Result<(UserInfo, i64), String> {
        let discovered = self.discovered.borrow().clone();
        let keys = discovered.map_err(|_| "oidc: authenticator not initialized")?;
        let refused = |why: String| format!("oidc: verify token: oidc: {why}");
        token.check_audience(&self.issuer.audiences).map_err(refused)?;
        let expires = token.check_time(now).map_err(refused)?;
        if !self.algorithms.iter().any(|algorithm| *algorithm == token.algorithm) {
            return Err(refused(format!(
                "id token signed with unsupported algorithm, expected {:?} got {:?}",
                self.algorithms, token.algorithm
            )));
        }
        if token.has_critical {
            return Err(refused("unsupported crit header".into()));
        }
        keys.verify(token, now).await.map_err(|why| format!("oidc: verify token: {why}"))?;
        let user = self.mapper.user(&token.claims).map_err(|why| format!("oidc: {why}"))?;
        Ok((user, expires))
    }
}

impl Drop for JwtAuthenticator {
    fn drop(&mut self) {
        self.discovery.abort();
    }
}
