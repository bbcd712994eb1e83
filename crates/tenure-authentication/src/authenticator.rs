//! Authentication: the user of a client certificate, of a bearer token, or `system:anonymous`.
//!
//! Bearer tokens are the administrator's, those of a token file, those of service accounts that this server issued
//! and whose account and bound object still exist, those that controllers keep in secrets, bootstrap tokens, those of external
//! issuers, and those that a webhook knows. An unknown token is a 401; a request without one is anonymous if that is enabled.

use crate::{
    credentials::{RequestHeaderNames, ServiceAccountClaims, TokenFile, bearer_token},
    oidc::{AnonymousConfig, Authenticated, JwtAuthenticators},
    request_header::user_of_headers,
    token_cache::{TokenCache, TokenDigest},
    token_issuer::{TokenIssuer, TokenOptions},
    token_uses::TokenUses,
    token_webhook::{TokenWebhook, TokenWebhookOptions},
};
use hyper::{HeaderMap, header};
use std::{future::Future, sync::Arc, time::Duration};
use tenure_builtin::role::{NODES, PODS, SECRETS, SERVICE_ACCOUNTS};
use tenure_catalog::{
    Clock,
    object::{Stored, key, meta_text},
};
use tenure_http::Administrator;
use tenure_meta::{ApiError, GroupVersionResource, Reason, UserInfo};
use tenure_store::Store;
use tenure_transport::{
    Reloadable,
    serving::{ClientCertificate, FrontProxy},
};
use tenure_value::{
    Text, Value,
    time::{Precision, Timestamp},
};

/// Paths that need no credentials even if anonymous requests are refused, unless the paths of those are configured: they report
/// whether the server is healthy and nothing about its contents.
const PUBLIC_PATHS: [&str; 3] = ["/livez", "/readyz", "/healthz"];
/// The user name of the administrator.
const ADMINISTRATOR: &str = "admin";

/// How users are authenticated besides the administrator.
#[derive(Clone)]
pub struct IdentityOptions {
    /// Which requests without credentials run as `system:anonymous`.
    pub anonymous: AnonymousConfig,
    /// Static tokens.
    pub token_file: Option<Reloadable<TokenFile>>,
    /// Whether the bootstrap tokens in secrets of `kube-system` are valid.
    pub bootstrap_tokens: bool,
    /// The issuer, the audiences and the keys of service account tokens.
    pub tokens: TokenOptions,
    /// Tokens of external issuers.
    pub jwt: Option<Reloadable<JwtAuthenticators>>,
    /// The headers in which a front proxy names the user.
    pub request_headers: RequestHeaderNames,
    /// Where the uses of tokens in secrets are recorded.
    pub token_uses: Option<TokenUses>,
    /// A webhook that knows further tokens.
    pub token_webhook: Option<TokenWebhookOptions>,
}

impl Default for IdentityOptions {
    fn default() -> IdentityOptions {
        let anonymous = AnonymousConfig { enabled: true, ..AnonymousConfig::default() };
        IdentityOptions {
            anonymous,
            token_file: None,
            bootstrap_tokens: false,
            tokens: TokenOptions::default(),
            jwt: None,
            request_headers: RequestHeaderNames::default(),
            token_uses: None,
            token_webhook: None,
        }
    }
}

/// The user of a request, and the credential.
pub struct Identity {
    /// The user.
    pub user: Arc<UserInfo>,
    /// The credential that named the user.
    pub credential: Credential,
    /// What the client should know about its credential.
    pub warning: Option<&'static str>,
}

/// The credential of a client.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Credential {
    /// None, or the token of the administrator, which lasts as long as the server.
    Lasting,
    /// A certificate that ends at a time, in seconds since 1970.
    Certificate(i64),
    /// A token that can expire or be revoked.
    Token(Text),
}

/// How many seconds an object counts after its deletion for tokens that depend on it.
const DELETION_LEEWAY: i64 = 60;
/// How often a token is checked while a response to it lasts.
const RECHECK: Duration = Duration::from_secs(5);

/// Authenticates requests.
pub struct Authenticator {
    access: Administrator,
    administrator: Arc<UserInfo>,
    anonymous: AnonymousConfig,
    token_file: Option<Reloadable<TokenFile>>,
    pub(crate) has_bootstrap_tokens: bool,
    /// Issues and reads service account tokens.
    pub tokens: Arc<TokenIssuer>,
    jwt: Option<Reloadable<JwtAuthenticators>>,
    request_headers: RequestHeaderNames,
    pub(crate) token_uses: Option<TokenUses>,
    webhook: Option<Arc<TokenWebhook>>,
    verified: TokenCache<JwtAuthenticators, Authenticated>,
    pub(crate) store: Arc<dyn Store>,
    pub(crate) clock: Clock,
}

impl Authenticator {
    /// Opens an authenticator over a store.
    pub async fn open(
        access: Administrator,
        identity: IdentityOptions,
        store: Arc<dyn Store>,
        clock: Clock,
    ) -> Result<Authenticator, ApiError> {
        let IdentityOptions {
            anonymous,
            token_file,
            bootstrap_tokens: has_bootstrap_tokens,
            tokens,
            jwt,
            request_headers,
            token_uses,
            token_webhook,
        } = identity;
        let webhook = match &token_webhook {
            Some(options) => {
                let connected = TokenWebhook::connect(options).await;
                Some(Arc::new(
                    connected.map_err(|error| ApiError::internal(format!("token webhook: {error}")))?,
                ))
            }
            None => None,
        };
        // A server without authentication has no secrets to share with others over the same store.
        let shared = matches!(access, Administrator::Token(_)).then_some(&*store);
        let tokens = Arc::new(TokenIssuer::open(tokens, shared).await?);
        let verified = TokenCache::default();
        Ok(Authenticator {
            access,
            administrator: Arc::new(administrator()),
            anonymous,
            token_file,
            has_bootstrap_tokens,
            tokens,
            jwt,
            request_headers,
            token_uses,
            webhook,
            verified,
            store,
            clock,
        })
    }

    /// Returns the authenticator of a fork: the same credentials, over the objects of another store.
    pub fn fork(&self, store: Arc<dyn Store>, clock: Clock) -> Authenticator {
        Authenticator {
            access: self.access.clone(),
            administrator: self.administrator.clone(),
            anonymous: self.anonymous.clone(),
            token_file: self.token_file.clone(),
            has_bootstrap_tokens: self.has_bootstrap_tokens,
            tokens: self.tokens.clone(),
            jwt: self.jwt.clone(),
            request_headers: self.request_headers.clone(),
            // Requests of a fork are not counted as uses.
            token_uses: None,
            webhook: self.webhook.clone(),
            verified: TokenCache::default(),
            store,
            clock,
        }
    }

    /// Returns how the server is accessed.
    pub fn access(&self) -> &Administrator {
        &self.access
    }

    /// Returns the user of a request, or a 401.
    pub async fn authenticate(
        &self,
        path: &str,
        headers: &HeaderMap,
        (certificate, front_proxy): (Option<&ClientCertificate>, Option<&FrontProxy>),
    ) -> Result<Identity, ApiError> {
        let lasting = |user| Ok(Identity { user, credential: Credential::Lasting, warning: None });
        if matches!(self.access, Administrator::Anyone) {
            return lasting(self.administrator.clone());
        }
        // A front proxy names the user, and comes before everything else.
        let is_valid = |proxy: &&FrontProxy| proxy.expires.is_none_or(|end| self.clock.now().seconds <= end);
        if let Some(proxy) = front_proxy.filter(is_valid)
            && let Some(user) = user_of_headers(&self.request_headers, headers)
        {
            let credential = proxy.expires.map_or(Credential::Lasting, Credential::Certificate);
            return Ok(Identity { user: Arc::new(user.authenticated()), credential, warning: None });
        }
        // A valid certificate takes precedence over a token; an invalid one is an error only without a token.
        let mut is_invalid = matches!(certificate, Some(ClientCertificate::Invalid(_)));
        if let Some(ClientCertificate::User { user, expires }) = certificate {
            match expires {
                // It can expire while the connection is open.
                Some(end) if self.clock.now().seconds > *end => is_invalid = true,
                Some(end) => {
                    let credential = Credential::Certificate(*end);
                    return Ok(Identity { user: user.clone(), credential, warning: None });
                }
                None => return lasting(user.clone()),
            }
        }
        let given = headers.get(header::AUTHORIZATION).and_then(|value| value.to_str().ok());
        if let Some(token) = given.and_then(bearer_token) {
            if self.access.knows(token) {
                return lasting(self.administrator.clone());
            }
            let (user, warning) = self.user_of_token(token).await.ok_or_else(unauthorized)?;
            let credential = Credential::Token(token.into());
            return Ok(Identity { user: Arc::new(user), credential, warning });
        }
        if is_invalid {
            return Err(unauthorized());
        }
        if self.anonymous.allows(path) || self.anonymous.paths.is_empty() && is_public(path) {
            lasting(Arc::new(UserInfo::anonymous()))
        } else {
            Err(unauthorized())
        }
    }

    /// Returns a future that completes when a credential ends; `None` if it lasts.
    pub fn end_of(
        self: &Arc<Self>,
        credential: Credential,
    ) -> Option<impl Future<Output = ()> + Send + 'static> {
        if credential == Credential::Lasting {
            return None;
        }
        let authenticator = self.clone();
        Some(async move {
            loop {
                let pause = match &credential {
                    Credential::Lasting => RECHECK,
                    Credential::Certificate(end) => {
                        let left = end.saturating_sub(authenticator.clock.now().seconds);
                        let Ok(left) = u64::try_from(left) else { return };
                        // It is valid until the end of its last second. The clock may be set meanwhile.
                        Duration::from_secs(left + 1).min(RECHECK)
                    }
                    Credential::Token(token) => {
                        if authenticator.user_of_token(token).await.is_none() {
                            return;
                        }
                        RECHECK
                    }
                };
                authenticator.clock.sleep(pause).await;
            }
        })
    }

    /// Returns the user of a bearer token for this server that is not the administrator's, and what the client should know
    /// about the token.
    async fn user_of_token(&self, token: &str) -> Option<(UserInfo, Option<&'static str>)> {
        if let Some(user) = self.user_of_opaque_token(token) {
            return Some((user, None));
        }
        if let Ok(claims) = self.account(token, &self.tokens.audiences) {
            return Some((claims.user().authenticated(), None));
        }
        match self.user_of_secret(token, &self.tokens.audiences).await {
            Ok(found) => Some((found.user.authenticated(), found.warning)),
            Err(_) => {
                let user = match self.user_of_issuer(token).await {
                    Some(Ok(user)) => user,
                    _ => self.user_of_webhook(token, &self.tokens.audiences).await?.ok()?.0,
                };
                Some((user, None))
            }
        }
    }

    /// Returns the user of a token that a webhook knows, with those of the audiences that it is for, or why it is refused; `None` if
    /// there is no webhook, or if it does not say why.
    async fn user_of_webhook(
        &self,
        token: &str,
        audiences: &[Text],
    ) -> Option<Result<(UserInfo, Vec<Text>), String>> {
        let webhook = self.webhook.as_ref()?;
        // Boxed: the future of every request would have room for that.
        match Box::pin(webhook.authenticate(token, audiences, &self.tokens.audiences)).await {
            Ok((user, audiences)) => Some(Ok((user.authenticated(), audiences))),
            Err(reason) if reason.is_empty() => None,
            Err(reason) => Some(Err(reason)),
        }
    }

    /// Returns the user of a token of an external issuer, or why it is refused; `None` if no issuer is known to have issued
    /// it.
    async fn user_of_issuer(&self, token: &str) -> Option<Result<UserInfo, String>> {
        let (jwt, now) = (self.jwt.as_ref()?.get(), self.clock.now().seconds);
        let digest = TokenDigest::of(token);
        if let Some(known) = self.verified.get(&jwt, &digest).filter(|known| now <= known.expires) {
            return Some(Ok(known.user.clone().authenticated()));
        }
        // Boxed, as keys may have to be fetched: the future of every request would have room for that.
        let outcome = Box::pin(jwt.authenticate(token, now)).await?;
        Some(match outcome {
            Ok(verified) => {
                let user = verified.user.clone();
                self.verified.insert(&jwt, &digest, Arc::new(verified));
                Ok(user.authenticated())
            }
            Err(why) => {
                tracing::info!(why, "token of an external issuer refused");
                Err(why)
            }
        })
    }

    /// Returns the user of an opaque token: a static one, or a bootstrap token.
    fn user_of_opaque_token(&self, token: &str) -> Option<UserInfo> {
        let of_file = self.token_file.as_ref().and_then(|file| file.get().user(token).cloned());
        of_file.or_else(|| self.user_of_bootstrap_token(token)).map(UserInfo::authenticated)
    }

    /// Returns the user of a bearer token and the audiences among the requested ones that it is valid for, or why it is not
    /// valid.
    pub async fn review(&self, token: &str, audiences: &[Text]) -> Result<(UserInfo, Vec<Text>), String> {
        let known = match self.access.knows(token) {
            true => Some(administrator()),
            false => self.user_of_opaque_token(token),
        };
        let user = match known {
            Some(user) => user,
            None => match self.account(token, audiences) {
                Ok(claims) => return Ok((claims.user().authenticated(), claims.audiences)),
                Err(reason) if !reason.is_empty() => return Err(format!("[invalid bearer token, {reason}]")),
                Err(_) => match self.user_of_secret(token, audiences).await {
                    Ok(found) => return Ok((found.user.authenticated(), found.audiences)),
                    Err(reason) if !reason.is_empty() => {
                        return Err(format!("[invalid bearer token, {reason}]"));
                    }
                    Err(_) => match self.user_of_issuer(token).await {
                        Some(Ok(user)) => user,
                        refused => {
                            let reviewed = self.user_of_webhook(token, audiences).await;
                            let reason = match (reviewed, refused) {
                                (Some(Ok(found)), _) => return Ok(found),
                                (Some(Err(reason)), _) | (None, Some(Err(reason))) => reason,
                                (None, _) => return Err("invalid bearer token".into()),
                            };
                            return Err(format!("[invalid bearer token, {reason}]"));
                        }
                    },
                },
            },
        };
        // These tokens are for the API server, regardless of their other audiences.
        let own = audiences.iter().filter(|audience| self.tokens.audiences.contains(audience));
        match own.cloned().collect::<Vec<Text>>() {
            none if none.is_empty() => Err("invalid bearer token".into()),
            own => Ok((user, own)),
        }
    }

    /// Returns the claims of a token that was issued here, has not expired, and whose account and bound object still exist.
    /// The error is empty for other tokens.
    fn account(&self, token: &str, audiences: &[Text]) -> Result<ServiceAccountClaims, String> {
        let claims = self.tokens.read(token, audiences, self.clock.now().seconds)?;
        let (namespace, name) = (claims.namespace.as_str(), claims.name.as_str());
        match self.live_uid(SERVICE_ACCOUNTS, namespace, name) {
            Liveness::Absent => return Err(format!("serviceaccounts {name:?} not found")),
            Liveness::Deleted => return Err(format!("service account {namespace}/{name} has been deleted")),
            Liveness::Live(uid) if uid != claims.uid => {
                return Err(format!("service account UID ({uid}) does not match claim ({})", claims.uid));
            }
            Liveness::Live(_) => {}
        }
        for bound in &claims.bound {
            let (resource, namespace) = match bound.kind.as_str() {
                "pod" => (PODS, namespace),
                "secret" => (SECRETS, namespace),
                // The node of a bound pod may be deleted before the pod.
                _ if claims.bound.iter().any(|other| other.kind == "pod") => continue,
                _ => (NODES, ""),
            };
            match self.live_uid(resource, namespace, &bound.name) {
                Liveness::Live(uid) if uid == bound.uid => {}
                Liveness::Live(uid) => {
                    let (kind, claimed) = (&bound.kind, &bound.uid);
                    return Err(format!(
                        "{kind} UID ({uid}) does not match service account {kind} ref claim ({claimed})"
                    ));
                }
                _ => return Err("service account token has been invalidated".into()),
            }
        }
        Ok(claims)
    }

    /// Returns the uid of an object that tokens depend on. An object that waits for its finalizers or its grace period counts
    /// for a minute after the time of its deletion.
    fn live_uid(&self, resource: GroupVersionResource, namespace: &str, name: &str) -> Liveness {
        let Some(object) = self.stored(resource, namespace, name) else { return Liveness::Absent };
        let deletion = Timestamp::parse(meta_text(&object, "deletionTimestamp"), Precision::Seconds);
        match deletion.is_some_and(|at| at.seconds + DELETION_LEEWAY < self.clock.now().seconds) {
            true => Liveness::Deleted,
            false => Liveness::Live(meta_text(&object, "uid").into()),
        }
    }
}

impl Authenticator {
    /// Returns an object that a token depends on.
    pub(crate) fn stored(
        &self,
        GroupVersionResource { group, version, resource }: GroupVersionResource,
        namespace: &str,
        name: &str,
    ) -> Option<Value> {
        let resource = tenure_builtin::registry().find(group, version, resource)?;
        let entry = self.store.peek(key(resource, namespace, name).as_bytes()).ok()??;
        Some(Stored::read_object(&entry).ok()?.object)
    }
}

/// Whether an object that tokens depend on is there.
enum Liveness {
    /// It does not exist.
    Absent,
    /// It waits for its removal.
    Deleted,
    /// It exists, with this uid.
    Live(Text),
}

/// Returns the administrator, who may do everything.
fn administrator() -> UserInfo {
    UserInfo::new(ADMINISTRATOR).with_group(UserInfo::MASTERS).with_group(UserInfo::AUTHENTICATED)
}

fn unauthorized() -> ApiError {
    ApiError::new(Reason::Unauthorized, "Unauthorized")
}

fn is_public(path: &str) -> bool {
    let is_below = |public: &&str| {
        path.strip_prefix(*public).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    };
    PUBLIC_PATHS.iter().any(is_below)
}
