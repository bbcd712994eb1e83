//! JSON Web Tokens: signed claims.

use super::{KeyError, SigningKey, VerifyingKey, compact_token::CompactToken};
use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD as BASE64URL};
use tenure_value::{Text, Value, json};

/// How far clocks may differ: a token is valid from this long before `nbf` to this long after `exp`.
const LEEWAY_SECONDS: i64 = 60;

/// The claims of a token whose signature was verified.
#[derive(Clone, Debug, PartialEq)]
pub struct Claims(pub Value);

/// Why a token is not valid.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum JwtError {
    /// It is not a JSON Web Token at all, so that another authenticator may accept it.
    #[error("not a JSON Web Token")]
    NotAToken,
    /// The key that verifies it does not.
    #[error("signature is invalid")]
    Signature,
    /// It names a key that is not among those that verify.
    #[error("invalid signature, no keys found")]
    UnknownKey,
    /// Its header names parameters that must be understood, and none are.
    #[error("unsupported crit header")]
    Critical,
    /// It is not valid any more.
    #[error("token has expired")]
    Expired,
    /// It is not valid yet.
    #[error("token is not valid yet")]
    NotYetValid,
}

/// Signs claims.
pub fn sign(key: &SigningKey, claims: &Value) -> Result<String, KeyError> {
    let public = key.verifying_key();
    let header =
        Value::object([("alg", Value::from(public.algorithm())), ("kid", Value::from(public.id.as_str()))]);
    let part = |value: &Value| BASE64URL.encode(json::to_vec(value));
    let message = format!("{}.{}", part(&header), part(claims));
    let signature = BASE64URL.encode(key.sign(message.as_bytes())?);
    Ok(format!("{message}.{signature}"))
}

/// Returns the claims of a token that is signed by one of the keys. Without a `kid` every key is tried.
pub fn verify(keys: &[VerifyingKey], token: &str) -> Result<Claims, JwtError> {
    let token = CompactToken::read(token).ok_or(JwtError::NotAToken)?;
    let header = token.header().ok_or(JwtError::NotAToken)?;
    let signature = token.signature().ok_or(JwtError::NotAToken)?;
    let text = |field: &str| header.get(field).and_then(Value::as_str);
    if header.get("crit").is_some() {
        return Err(JwtError::Critical);
    }
    let mut candidates =
        keys.iter().filter(|key| text("kid").is_none_or(|id| id.is_empty() || id == key.id)).peekable();
    if candidates.peek().is_none() {
        return Err(JwtError::UnknownKey);
    }
    let mut candidates = candidates.filter(|key| text("alg") == Some(key.algorithm()));
    if !candidates.any(|key| key.verifies(token.message, &signature)) {
        return Err(JwtError::Signature);
    }
    token.claims().map(Claims).ok_or(JwtError::NotAToken)
}

/// Returns the claimed issuer of a token. The signature is not verified: the issuer only selects the keys that verify it.
pub fn untrusted_issuer(token: &str) -> Option<Text> {
    let claims = CompactToken::read(token)?.claims()?;
    claims.get("iss").and_then(Value::as_str).map(Text::from)
}

impl Claims {
    /// Checks the time; a token without `exp` does not expire.
    pub fn check_time(&self, now: i64) -> Result<(), JwtError> {
        let at = |field: &str| self.0.get(field).and_then(Value::as_f64);
        if at("exp").is_some_and(|end| now as f64 > end + LEEWAY_SECONDS as f64) {
            return Err(JwtError::Expired);
        }
        if at("nbf").is_some_and(|start| (now + LEEWAY_SECONDS) as f64 <= start) {
            return Err(JwtError::NotYetValid);
        }
        Ok(())
    }

    /// Returns the audiences: one or a list of them.
    pub fn audiences(&self) -> Vec<&str> {
        match self.0.get("aud") {
            Some(Value::Array(list)) => list.iter().filter_map(Value::as_str).collect(),
            Some(one) => one.as_str().into_iter().collect(),
            None => Vec::new(),
        }
    }

    /// Returns a claim that is a string, or "".
    pub fn text(&self, name: &str) -> &str {
        self.0.get(name).and_then(Value::as_str).unwrap_or_default()
    }
}
