//! A webhook that authenticates tokens: another server is sent a review of each token that this server does not know. Answers are
//! remembered, by the digest of the token and the audiences.

use crate::{
    credentials::{TokenStatus, token_review},
    token_cache::TokenDigest,
};
use std::{path::PathBuf, time::Duration};
use tenure_catalog::Cache;
use tenure_meta::UserInfo;
use tenure_transport::{ConnectError, ReviewVersion, ReviewWebhook};
use tenure_value::Text;
use tokio::time::Instant;

/// How many answers are remembered.
const MOST_ANSWERS: usize = 4096;
/// How long an answer may take.
const TIMEOUT: Duration = Duration::from_secs(30);

/// A webhook that authenticates tokens.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TokenWebhookOptions {
    /// The kubeconfig that names the server and the credentials.
    pub config: PathBuf,
    /// The version of the reviews.
    pub version: ReviewVersion,
    /// How long an answer is remembered; zero to ask about each request.
    pub cache_ttl: Duration,
}

impl TokenWebhookOptions {
    /// Returns the options with the defaults of kube-apiserver.
    pub fn new(config: impl Into<PathBuf>) -> TokenWebhookOptions {
        let cache_ttl = Duration::from_secs(2 * 60);
        TokenWebhookOptions { config: config.into(), version: ReviewVersion::default(), cache_ttl }
    }
}

/// A webhook that is asked.
pub(crate) struct TokenWebhook {
    options: TokenWebhookOptions,
    webhook: ReviewWebhook,
    answers: Cache<TokenDigest, (TokenStatus, Instant)>,
}

impl TokenWebhook {
    /// Reads the kubeconfig. Nothing is sent yet.
    pub async fn connect(options: &TokenWebhookOptions) -> Result<TokenWebhook, ConnectError> {
        let webhook = ReviewWebhook::connect(&options.config, TIMEOUT).await?;
        Ok(TokenWebhook { options: options.clone(), webhook, answers: Cache::new(MOST_ANSWERS, |_| 1) })
    }

    /// Returns the user of a token, and those of the wanted audiences that it is for; or why it is refused, which may be empty. A token
    /// without audiences is for those of the server.
    pub async fn authenticate(
        &self,
        token: &str,
        wanted: &[Text],
        own: &[Text],
    ) -> Result<(UserInfo, Vec<Text>), String> {
        let key =
            TokenDigest::of_all(std::iter::once(token).chain(wanted.iter().map(|audience| &**audience)));
        let known = self.answers.look(&key, |(status, end)| (Instant::now() < *end).then(|| status.clone()));
        let status = match known {
            Some(status) => status,
            None => {
                let review = token_review(self.options.version, token, wanted);
                let answer = self.webhook.review(&review).await.inspect_err(|problem| {
                    tracing::error!(webhook = self.webhook.server(), problem, "token webhook failed");
                })?;
                let status = TokenStatus::read(&answer);
                if !self.options.cache_ttl.is_zero() {
                    self.answers.insert(&key, (status.clone(), Instant::now() + self.options.cache_ttl));
                }
                status
            }
        };
        match status {
            TokenStatus::Refused(reason) => Err(reason),
            TokenStatus::User(user, audiences) => {
                let audiences = if audiences.is_empty() { own } else { &audiences };
                let common: Vec<Text> =
                    wanted.iter().filter(|audience| audiences.contains(audience)).cloned().collect();
                if common.is_empty() { Err(String::new()) } else { Ok((user, common)) }
            }
        }
    }
}
