//! Service account tokens: the key that signs them, and those that verify them.
//!
//! Without a configured key the server generates one and stores it, so that all servers over one store accept
//! each other's tokens.

use crate::{
    credentials::{
        Claims, JwtError, SECRET_TOKEN_ISSUER, SecretTokenClaims, ServiceAccountClaims,
        ServiceAccountTokenError, SigningKey, TokenRequest, VerifyingKey, jwk_set, sign, untrusted_issuer,
        verify,
    },
    token_cache::{TokenCache, TokenDigest},
};
use std::sync::Arc;
use tenure_meta::ApiError;
use tenure_store::{Error, Expected, Store, Transaction};
use tenure_transport::Reloadable;
use tenure_value::{Text, Value};

/// The key of the store under which servers share the key that signs tokens.
const SHARED_KEY: &[u8] = b"internal/service-account-key";
/// The issuer and audience of a server without configured ones.
const DEFAULT_ISSUER: &str = "https://kubernetes.default.svc";

/// The issuer, the audiences and the keys of service account tokens.
#[derive(Clone)]
pub struct TokenOptions {
    /// The issuers; the first one issues, the others are accepted.
    pub issuers: Vec<String>,
    /// The audiences of the server itself; the issuer if empty.
    pub audiences: Vec<String>,
    /// The longest lifetime of a token in seconds; longer requested ones are shortened.
    pub longest_seconds: Option<i64>,
    /// Where the published keys are, if not on this server.
    pub jwks_uri: Option<String>,
    /// The keys, which can be replaced while the server runs.
    pub keys: Reloadable<TokenKeys>,
}

/// The keys of service account tokens.
#[derive(Default)]
pub struct TokenKeys {
    /// The key that signs; by default the server generates one.
    pub signing: Option<Arc<SigningKey>>,
    /// Further keys that verify.
    pub verifying: Vec<VerifyingKey>,
}

impl Default for TokenOptions {
    fn default() -> TokenOptions {
        TokenOptions {
            issuers: vec![DEFAULT_ISSUER.into()],
            audiences: Vec::new(),
            longest_seconds: None,
            jwks_uri: None,
            keys: Reloadable::default(),
        }
    }
}

/// Issues and reads service account tokens.
pub struct TokenIssuer {
    issuers: Vec<Text>,
    /// The audiences of the server itself.
    pub audiences: Vec<Text>,
    /// The longest lifetime of a token in seconds.
    pub longest_seconds: Option<i64>,
    jwks_uri: Option<String>,
    /// The generated key.
    own: Option<Arc<SigningKey>>,
    keys: Reloadable<TokenKeys>,
    verified: TokenCache<TokenKeys, Claims>,
}

impl TokenIssuer {
    /// Opens the issuer; `shared` is the store that keeps the key if none is given.
    pub async fn open(options: TokenOptions, shared: Option<&dyn Store>) -> Result<TokenIssuer, ApiError> {
        let TokenOptions { mut issuers, audiences, longest_seconds, jwks_uri, keys } = options;
        if issuers.is_empty() {
            issuers.push(DEFAULT_ISSUER.into());
        }
        let own = match (keys.get().signing.is_some(), shared) {
            (true, _) => None,
            (false, Some(store)) => Some(Arc::new(shared_key(store).await?)),
            (false, None) => Some(Arc::new(SigningKey::generate().map_err(unusable)?.0)),
        };
        let issuers: Vec<Text> = issuers.into_iter().map(Text::from).collect();
        let audiences = match audiences.is_empty() {
            true => issuers[..1].to_vec(),
            false => audiences.into_iter().map(Text::from).collect(),
        };
        let verified = TokenCache::default();
        Ok(TokenIssuer { issuers, audiences, longest_seconds, jwks_uri, own, keys, verified })
    }

    /// Returns the keys that verify.
    fn verifying_keys(&self, keys: &TokenKeys) -> Vec<VerifyingKey> {
        let signing = keys.signing.as_ref().or(self.own.as_ref());
        let mut all: Vec<VerifyingKey> = signing.map(|key| key.verifying_key().clone()).into_iter().collect();
        all.extend(
            keys.verifying
                .iter()
                .filter(|key| Some(key.id.as_str()) != signing.map(|key| key.verifying_key().id.as_str()))
                .cloned(),
        );
        all
    }

    /// Returns the issuer of new tokens.
    pub fn issuer(&self) -> &str {
        &self.issuers[0]
    }

    /// Signs a token.
    pub fn issue(&self, request: &TokenRequest<'_>) -> Result<String, ApiError> {
        let keys = self.keys.get();
        let key = keys.signing.as_ref().or(self.own.as_ref());
        sign(key.ok_or_else(|| unusable("no key signs them"))?, &request.claims()).map_err(unusable)
    }

    /// Returns the claims of a token; the error is empty for other tokens.
    pub fn read(&self, token: &str, audiences: &[Text], now: i64) -> Result<ServiceAccountClaims, String> {
        let claims = self.verified_claims(token)?;
        match ServiceAccountClaims::read(&claims, &self.issuers, audiences, now) {
            Ok(claims) => Ok(claims),
            Err(ServiceAccountTokenError::Issuer(_)) => Err(String::new()),
            Err(error) => Err(error.to_string()),
        }
    }

    /// Returns the claims of a token in a secret and the audiences that it shares with those that are asked for; the error is
    /// empty for other tokens.
    pub fn read_of_secret(
        &self,
        token: &str,
        audiences: &[Text],
    ) -> Result<(SecretTokenClaims, Vec<Text>), String> {
        let claims = self.verified_claims(token)?;
        if claims.text("iss") != SECRET_TOKEN_ISSUER {
            return Err(String::new());
        }
        let given = claims.audiences();
        // Without an audience it is for the API server.
        let given = match given.is_empty() {
            true => self.audiences.iter().map(Text::as_str).collect(),
            false => given,
        };
        let shared: Vec<Text> =
            audiences.iter().filter(|audience| given.contains(&audience.as_str())).cloned().collect();
        if shared.is_empty() {
            return Err(format!(
                "token audiences {given:?} is invalid for the target audiences {audiences:?}"
            ));
        }
        Ok((SecretTokenClaims::read(&claims)?, shared))
    }

    /// Returns the claims of a token that one of the keys has signed.
    fn verified_claims(&self, token: &str) -> Result<Arc<Claims>, String> {
        let (keys, digest) = (self.keys.get(), TokenDigest::of(token));
        if let Some(claims) = self.verified.get(&keys, &digest) {
            return Ok(claims);
        }
        // The token of another issuer is for another authenticator.
        let is_own = |issuer: Text| issuer == SECRET_TOKEN_ISSUER || self.issuers.contains(&issuer);
        if !untrusted_issuer(token).is_some_and(is_own) {
            return Err(String::new());
        }
        match verify(&self.verifying_keys(&keys), token) {
            Ok(claims) => {
                let claims = Arc::new(claims);
                self.verified.insert(&keys, &digest, claims.clone());
                Ok(claims)
            }
            Err(JwtError::NotAToken) => Err(String::new()),
            Err(error) => Err(error.to_string()),
        }
    }

    /// Returns the document at `/.well-known/openid-configuration`.
    pub fn configuration(&self, jwks_uri: String) -> Value {
        let jwks_uri = self.jwks_uri.clone().unwrap_or(jwks_uri);
        let texts = |list: &[&str]| Value::array(list.iter().map(|text| Value::from(*text)));
        let keys = self.verifying_keys(&self.keys.get());
        let mut algorithms: Vec<&str> = keys.iter().map(VerifyingKey::algorithm).collect();
        algorithms.sort_unstable();
        algorithms.dedup();
        Value::object([
            ("id_token_signing_alg_values_supported", texts(&algorithms)),
            ("issuer", Value::from(self.issuer())),
            ("jwks_uri", Value::from(jwks_uri)),
            ("response_types_supported", texts(&["id_token"])),
            ("subject_types_supported", texts(&["public"])),
        ])
    }

    /// Returns the document at `/openid/v1/jwks`.
    pub fn key_set(&self) -> Value {
        jwk_set(&self.verifying_keys(&self.keys.get()))
    }
}

/// Reads the key that servers share, or generates it.
async fn shared_key(store: &dyn Store) -> Result<SigningKey, ApiError> {
    loop {
        if let Some(entry) = store.get(SHARED_KEY).await? {
            let value = entry.value.bytes();
            let pem = std::str::from_utf8(&value)
                .map_err(|_| ApiError::internal("the stored key of service account tokens is not PEM"))?;
            return SigningKey::from_pem(pem).map_err(unusable);
        }
        let (_, pem) = SigningKey::generate().map_err(unusable)?;
        let transaction = Transaction::new().put(SHARED_KEY.to_vec(), Expected::Absent, pem.into_bytes());
        match store.commit(transaction).await {
            // Another server may have been first.
            Ok(_) | Err(Error::Conflict(_)) => {}
            Err(error) => return Err(error.into()),
        }
    }
}

fn unusable(error: impl std::fmt::Display) -> ApiError {
    ApiError::internal(format!("service account tokens: {error}"))
}
