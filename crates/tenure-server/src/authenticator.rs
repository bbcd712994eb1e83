//! Who makes a request: the administrator, or a service account whose token the server issued and whose object still exists.
//! Everyone who is authenticated may do everything; authorization is a phase of its own.

use crate::{
    Access, Failure,
    clock::Clock,
    kinds::role::SERVICE_ACCOUNTS,
    object::{Stored, key, meta_text},
    token::{AUDIENCE, Claims, Issuer},
};
use hyper::{HeaderMap, header};
use std::sync::Arc;
use tenure_store::Store;
use tenure_value::Value;

/// Who makes a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Caller {
    Admin,
    Account(Claims),
}

impl Caller {
    /// Returns the caller as a `UserInfo`.
    pub fn to_value(&self) -> Value {
        let groups = |groups: &[&str]| Value::array(groups.iter().map(|group| Value::from(*group)));
        match self {
            Caller::Admin => Value::object([
                ("username", Value::from("admin")),
                ("groups", groups(&["system:masters", "system:authenticated"])),
            ]),
            Caller::Account(claims) => {
                let own = format!("system:serviceaccounts:{}", claims.namespace);
                Value::object([
                    ("username", Value::from(claims.user())),
                    ("uid", Value::from(claims.uid.clone())),
                    ("groups", groups(&["system:serviceaccounts", &own, "system:authenticated"])),
                ])
            }
        }
    }
}

/// Authenticates requests and issues the tokens of service accounts.
pub(crate) struct Authenticator {
    access: Access,
    issuer: Issuer,
    store: Arc<dyn Store>,
    clock: Clock,
}

impl Authenticator {
    pub fn new(access: Access, store: Arc<dyn Store>, clock: Clock) -> Authenticator {
        Authenticator { issuer: access.issuer(), access, store, clock }
    }

    /// Returns how the server is accessed.
    pub fn access(&self) -> &Access {
        &self.access
    }

    /// Checks that a request may enter.
    pub async fn authenticate(&self, path: &str, headers: &HeaderMap) -> Result<(), Failure> {
        let Err(failure) = self.access.check(path, headers) else { return Ok(()) };
        // Boxed, since most requests do not come here.
        match Box::pin(self.account_of(headers)).await {
            Some(_) => Ok(()),
            None => Err(failure),
        }
    }

    /// Returns who makes a request that was authenticated.
    pub async fn caller(&self, headers: &HeaderMap) -> Caller {
        self.account_of(headers).await.map_or(Caller::Admin, Caller::Account)
    }

    async fn account_of(&self, headers: &HeaderMap) -> Option<Claims> {
        let given = headers.get(header::AUTHORIZATION)?.to_str().ok()?.strip_prefix("Bearer ")?;
        let claims = self.account(given.trim())?;
        claims.audiences.iter().any(|audience| audience == AUDIENCE).then_some(claims)
    }

    /// Returns the claims of a token that was issued here, has not expired, and whose account still exists.
    pub fn account(&self, token: &str) -> Option<Claims> {
        let claims = self.issuer.read(token, self.clock.now().seconds)?;
        let (group, version, resource) = SERVICE_ACCOUNTS;
        let accounts = crate::kinds::registry().find(group, version, resource)?;
        let entry = self.store.peek(key(accounts, &claims.namespace, &claims.name).as_bytes()).ok()??;
        let stored = Stored::read(&entry).ok()?;
        (meta_text(&stored.object, "uid") == claims.uid.as_str()).then_some(claims)
    }

    /// Whether a token is the administrator's.
    pub fn is_admin_token(&self, token: &str) -> bool {
        self.access.knows(token)
    }

    /// Issues a token.
    pub fn issue(&self, claims: &Claims) -> String {
        self.issuer.issue(claims)
    }
}
