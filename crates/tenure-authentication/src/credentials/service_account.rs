//! Service account tokens: their claims, and the user that they identify.
//!
//! Whether the account and the bound object still exist is checked by the caller; the claims name both.

use super::{Claims, JwtError};
use tenure_meta::UserInfo;
use tenure_value::{Text, Value};

/// The claim with the additions of Kubernetes.
const PRIVATE: &str = "kubernetes.io";
/// The life of a token bound to a pod that requests the default of projected volumes; such tokens are extended, as
/// old clients reload them from the volume too late.
const PROJECTED_SECONDS: i64 = 3607;
const YEAR_SECONDS: i64 = 365 * 24 * 60 * 60;

/// An object that a token is bound to: the token ends with it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BoundObject {
    /// `pod`, `secret` or `node`.
    pub kind: Text,
    /// The name of the object.
    pub name: Text,
    /// The uid of the object.
    pub uid: Text,
}

/// The content of a new token.
#[derive(Clone, Debug)]
pub struct TokenRequest<'r> {
    /// The issuer.
    pub issuer: &'r str,
    /// The audiences.
    pub audiences: Vec<Text>,
    /// The namespace, the name and the uid of the account.
    pub account: (Text, Text, Text),
    /// The object that it is bound to, and the node of a bound pod.
    pub bound: Vec<BoundObject>,
    /// Its lifetime in seconds.
    pub seconds: i64,
    /// Whether it is for the API server itself.
    pub for_api_server: bool,
    /// A unique identifier.
    pub id: Text,
    /// The time in seconds since 1970.
    pub now: i64,
}

impl TokenRequest<'_> {
    /// Returns the claims of the token.
    pub fn claims(&self) -> Value {
        let (namespace, name, uid) = &self.account;
        // The node of a pod may not exist, and then has no uid.
        let reference = |name: &Text, uid: &Text| {
            let fields = [("name", name), ("uid", uid)].into_iter().filter(|(_, text)| !text.is_empty());
            Value::object(fields.map(|(field, text)| (field, Value::from(text.clone()))))
        };
        let is_extended = self.seconds == PROJECTED_SECONDS
            && self.for_api_server
            && self.bound.iter().any(|object| object.kind == "pod");
        let own = [("namespace", Value::from(namespace.clone())), ("serviceaccount", reference(name, uid))];
        let bound =
            self.bound.iter().map(|object| (object.kind.as_str(), reference(&object.name, &object.uid)));
        let after = is_extended.then(|| ("warnafter", Value::from(self.now + self.seconds)));
        let private = Value::object(own.into_iter().chain(bound).chain(after));
        let life = if is_extended { YEAR_SECONDS } else { self.seconds };
        Value::object([
            ("aud", Value::array(self.audiences.iter().cloned().map(Value::from))),
            ("exp", Value::from(self.now + life)),
            ("iat", Value::from(self.now)),
            ("iss", Value::from(self.issuer)),
            ("jti", Value::from(self.id.clone())),
            (PRIVATE, private),
            ("nbf", Value::from(self.now)),
            ("sub", Value::from(tenure_meta::service_account_name(namespace, name))),
        ])
    }
}

/// Why verified claims are not those of a service account of this server.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ServiceAccountTokenError {
    /// It has another issuer.
    #[error("issuer {0:?} is not this server's")]
    Issuer(String),
    /// It is for other audiences.
    #[error("token audiences {token:?} is invalid for the target audiences {server:?}")]
    Audience {
        /// Those of the token.
        token: Vec<String>,
        /// Those of the server.
        server: Vec<String>,
    },
    /// It does not name an account.
    #[error("token does not name a service account")]
    Account,
    /// It has expired or is not valid yet.
    #[error("service account {0}")]
    Time(#[from] JwtError),
}

/// The claims of a service account token.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServiceAccountClaims {
    /// The namespace of the account.
    pub namespace: Text,
    /// The name of the account.
    pub name: Text,
    /// The uid of the account.
    pub uid: Text,
    /// What the token is bound to.
    pub bound: Vec<BoundObject>,
    /// The audiences that token and server share.
    pub audiences: Vec<Text>,
    /// When the token expires, in seconds since 1970.
    pub expires: Option<i64>,
    id: Text,
}

impl ServiceAccountClaims {
    /// Reads verified claims. A token without audiences is for the API server; the identity comes from the private
    /// claim, not from `sub`.
    pub fn read(
        claims: &Claims,
        issuers: &[Text],
        audiences: &[Text],
        now: i64,
    ) -> Result<ServiceAccountClaims, ServiceAccountTokenError> {
        if !issuers.iter().any(|issuer| issuer == claims.text("iss")) {
            return Err(ServiceAccountTokenError::Issuer(claims.text("iss").into()));
        }
        claims.check_time(now)?;
        let given = claims.audiences();
        let shared: Vec<Text> = match given.is_empty() {
            true => audiences.to_vec(),
            false => {
                audiences.iter().filter(|audience| given.contains(&audience.as_str())).cloned().collect()
            }
        };
        if shared.is_empty() {
            return Err(ServiceAccountTokenError::Audience {
                token: given.into_iter().map(String::from).collect(),
                server: audiences.iter().map(|audience| audience.to_string()).collect(),
            });
        }
        let private = claims.0.get(PRIVATE).ok_or(ServiceAccountTokenError::Account)?;
        let text = |path: [&str; 2]| Text::from(private.at(path).and_then(Value::as_str).unwrap_or_default());
        let namespace = private.get("namespace").and_then(Value::as_str).unwrap_or_default();
        let name = text(["serviceaccount", "name"]);
        if namespace.is_empty() || name.is_empty() {
            return Err(ServiceAccountTokenError::Account);
        }
        let kinds = ["pod", "secret", "node"].into_iter().filter(|kind| private.get(kind).is_some());
        let bound = kinds.map(|kind| BoundObject {
            kind: kind.into(),
            name: text([kind, "name"]),
            uid: text([kind, "uid"]),
        });
        Ok(ServiceAccountClaims {
            namespace: namespace.into(),
            name,
            uid: text(["serviceaccount", "uid"]),
            bound: bound.collect(),
            audiences: shared,
            expires: claims.0.get("exp").and_then(Value::as_i64),
            id: claims.text("jti").into(),
        })
    }

    /// Returns the user of the token.
    pub fn user(&self) -> UserInfo {
        let mut user = UserInfo::service_account(&self.namespace, &self.name);
        user.uid = self.uid.clone();
        let mut extra = Vec::new();
        if !self.id.is_empty() {
            let id = Text::from(format!("JTI={}", self.id));
            extra.push(("authentication.kubernetes.io/credential-id".into(), vec![id]));
        }
        for object in self.bound.iter().filter(|object| object.kind != "secret") {
            let fields = [("name", &object.name), ("uid", &object.uid)];
            for (field, value) in fields.into_iter().filter(|(_, value)| !value.is_empty()) {
                let key = format!("authentication.kubernetes.io/{}-{field}", object.kind);
                extra.push((key.into(), vec![value.clone()]));
            }
        }
        extra.sort();
        user.extra = extra;
        user
    }
}
