//! Who makes a request: the user of a client certificate, of a bearer token, or `system:anonymous`.
//!
//! Bearer tokens are the administrator's, those of a token file, and those of service accounts that this server issued
//! and whose account and bound object still exist. A token that nobody knows is a 401; a request without one is
//! anonymous where that is enabled.

use crate::token_issuer::{TokenIssuer, TokenOptions};
use hyper::{HeaderMap, header};
use std::sync::Arc;
use tenure_auth::{
    UserInfo,
    authentication::{ServiceAccountClaims, TokenFile, bearer_token},
};
use tenure_builtin::role::{NODES, PODS, SECRETS, SERVICE_ACCOUNTS};
use tenure_catalog::{
    Clock,
    object::{Stored, key, meta_text},
};
use tenure_http::{Authentication, ClientCertificate};
use tenure_meta::{ApiError, Reason};
use tenure_store::Store;
use tenure_value::{Text, Value};

/// Paths that need no credentials even where anonymous requests are refused: they tell whether the server is healthy and
/// nothing about its contents.
const PUBLIC_PATHS: [&str; 3] = ["/livez", "/readyz", "/healthz"];
/// The user name of the administrator.
const ADMINISTRATOR: &str = "admin";

/// How users are authenticated besides the administrator.
#[derive(Clone)]
pub struct IdentityOptions {
    /// Whether requests without credentials run as `system:anonymous`.
    pub anonymous: bool,
    /// Static tokens.
    pub token_file: Option<Arc<TokenFile>>,
    /// The issuer, the audiences and the keys of service account tokens.
    pub tokens: TokenOptions,
}

impl Default for IdentityOptions {
    fn default() -> IdentityOptions {
        IdentityOptions { anonymous: true, token_file: None, tokens: TokenOptions::default() }
    }
}

/// Authenticates requests.
pub(crate) struct Authenticator {
    access: Authentication,
    anonymous: bool,
    token_file: Option<Arc<TokenFile>>,
    pub tokens: TokenIssuer,
    store: Arc<dyn Store>,
    clock: Clock,
}

impl Authenticator {
    pub async fn open(
        access: Authentication,
        identity: IdentityOptions,
        store: Arc<dyn Store>,
        clock: Clock,
    ) -> Result<Authenticator, ApiError> {
        let IdentityOptions { anonymous, token_file, tokens } = identity;
        // A server that authenticates nobody has no secrets to share with others over the same store.
        let shared = matches!(access, Authentication::Token(_)).then_some(&*store);
        let tokens = TokenIssuer::open(tokens, shared).await?;
        Ok(Authenticator { access, anonymous, token_file, tokens, store, clock })
    }

    /// Returns how the server is accessed.
    pub fn access(&self) -> &Authentication {
        &self.access
    }

    /// Returns who makes a request, or a 401.
    pub fn authenticate(
        &self,
        path: &str,
        headers: &HeaderMap,
        certificate: Option<&ClientCertificate>,
    ) -> Result<UserInfo, ApiError> {
        if matches!(self.access, Authentication::Anyone) {
            return Ok(administrator());
        }
        // A valid certificate counts more than a token; an invalid one is only held against a request without a token.
        if let Some(ClientCertificate::User(user)) = certificate {
            return Ok(authenticated(user.clone()));
        }
        let given = headers.get(header::AUTHORIZATION).and_then(|value| value.to_str().ok());
        if let Some(token) = given.and_then(bearer_token) {
            return self.user_of_token(token).ok_or_else(unauthorized);
        }
        if matches!(certificate, Some(ClientCertificate::Invalid)) {
            return Err(unauthorized());
        }
        if self.anonymous || is_public(path) { Ok(UserInfo::anonymous()) } else { Err(unauthorized()) }
    }

    /// Returns the user of a bearer token for this server.
    fn user_of_token(&self, token: &str) -> Option<UserInfo> {
        if self.access.knows(token) {
            return Some(administrator());
        }
        if let Some(user) = self.token_file.as_ref().and_then(|file| file.user(token)) {
            return Some(authenticated(user.clone()));
        }
        let claims = self.account(token, &self.tokens.audiences).ok()?;
        Some(authenticated(claims.user()))
    }

    /// Returns the user of a bearer token and the audiences among those asked for that it is valid for, or why it is not
    /// valid.
    pub fn review(&self, token: &str, audiences: &[Text]) -> Result<(UserInfo, Vec<Text>), String> {
        let own = || -> Vec<Text> {
            audiences.iter().filter(|audience| self.tokens.audiences.contains(audience)).cloned().collect()
        };
        let known = match self.access.knows(token) {
            true => Some(administrator()),
            false => self.token_file.as_ref().and_then(|file| file.user(token)).cloned().map(authenticated),
        };
        if let Some(user) = known {
            return Ok((user, own()));
        }
        match self.account(token, audiences) {
            Ok(claims) => Ok((authenticated(claims.user()), claims.audiences)),
            Err(reason) if reason.is_empty() => Err("invalid bearer token".into()),
            Err(reason) => Err(format!("[invalid bearer token, {reason}]")),
        }
    }

    /// Returns the claims of a token that was issued here, has not expired, and whose account and bound object still exist.
    /// The error is empty for what is not such a token at all.
    fn account(&self, token: &str, audiences: &[Text]) -> Result<ServiceAccountClaims, String> {
        let claims = self.tokens.read(token, audiences, self.clock.now().seconds)?;
        let account = self.uid_of(SERVICE_ACCOUNTS, &claims.namespace, &claims.name);
        if account.as_deref() != Some(claims.uid.as_str()) {
            return Err("service account token has been invalidated".into());
        }
        for bound in &claims.bound {
            let (resource, namespace) = match bound.kind.as_str() {
                "pod" => (PODS, claims.namespace.as_str()),
                "secret" => (SECRETS, claims.namespace.as_str()),
                // The node of a bound pod may be gone before the pod.
                _ if claims.bound.iter().any(|other| other.kind == "pod") => continue,
                _ => (NODES, ""),
            };
            if self.uid_of(resource, namespace, &bound.name).as_deref() != Some(bound.uid.as_str()) {
                return Err("service account token has been invalidated".into());
            }
        }
        Ok(claims)
    }

    /// Returns the uid of an object.
    fn uid_of(
        &self,
        (group, version, resource): (&str, &str, &str),
        namespace: &str,
        name: &str,
    ) -> Option<String> {
        let resource = tenure_builtin::registry().find(group, version, resource)?;
        let entry = self.store.peek(key(resource, namespace, name).as_bytes()).ok()??;
        Some(meta_text(&Stored::read(&entry).ok()?.object, "uid").to_string())
    }
}

/// Returns the administrator, who may do everything.
fn administrator() -> UserInfo {
    UserInfo::new(ADMINISTRATOR).with_group(UserInfo::MASTERS).with_group(UserInfo::AUTHENTICATED)
}

/// Returns a user with the group of those who are authenticated.
fn authenticated(user: UserInfo) -> UserInfo {
    if user.name == UserInfo::ANONYMOUS { user } else { user.with_group(UserInfo::AUTHENTICATED) }
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

/// Returns a user as a `UserInfo` of the API.
pub(crate) fn user_info(user: &UserInfo) -> Value {
    let texts = |list: &[Text]| Value::array(list.iter().cloned().map(Value::from));
    let mut fields = vec![("username", Value::from(user.name.clone()))];
    if !user.uid.is_empty() {
        fields.push(("uid", Value::from(user.uid.clone())));
    }
    if !user.groups.is_empty() {
        fields.push(("groups", texts(&user.groups)));
    }
    if !user.extra.is_empty() {
        let extra = user.extra.iter().map(|(key, values)| (key.clone(), texts(values)));
        fields.push(("extra", Value::object(extra)));
    }
    Value::object(fields)
}
