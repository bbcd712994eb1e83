//! Authentication by bearer token, or none at all for a server on a loopback socket without TLS. Tokens of service
//! accounts are checked elsewhere, since that needs the stored account.

use super::service_account_token::Issuer;
use crate::{Failure, Reason};
use hyper::{HeaderMap, header};

/// How requests are authenticated.
#[derive(Clone)]
pub enum Authentication {
    /// Only the holder of this bearer token is the administrator. An empty token authenticates nobody.
    Token(String),
    /// Every client is the administrator; the server listens on a loopback address only.
    Anyone,
}

/// Paths that need no token: they tell whether the server is healthy and nothing about its contents.
const PUBLIC_PATHS: [&str; 3] = ["/livez", "/readyz", "/healthz"];

impl Authentication {
    /// Whether a token is that of the administrator.
    pub fn knows(&self, given: &str) -> bool {
        matches!(self, Authentication::Token(token) if same_secret(given.as_bytes(), token.as_bytes()))
    }

    /// Returns the issuer of service account tokens. Servers with the same token accept each other's.
    pub(crate) fn issuer(&self) -> Issuer {
        match self {
            Authentication::Token(token) => Issuer::of_secret(token),
            // Clients need no token here, but TokenRequest and TokenReview still work.
            Authentication::Anyone => Issuer::of_secret(&uuid::Uuid::new_v4().to_string()),
        }
    }

    /// Authenticates a request as the administrator, or returns 401.
    pub fn check(&self, path: &str, headers: &HeaderMap) -> Result<(), Failure> {
        if matches!(self, Authentication::Anyone) || is_public(path) {
            return Ok(());
        }
        match bearer_token(headers) {
            Some(given) if self.knows(given) => Ok(()),
            _ => Err(Failure::new(Reason::Unauthorized, "Unauthorized")),
        }
    }
}

/// Returns the bearer token of a request.
pub(crate) fn bearer_token(headers: &HeaderMap) -> Option<&str> {
    headers.get(header::AUTHORIZATION)?.to_str().ok()?.strip_prefix("Bearer ").map(str::trim)
}

fn is_public(path: &str) -> bool {
    let is_below = |public: &&str| {
        path.strip_prefix(*public).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    };
    PUBLIC_PATHS.iter().any(is_below)
}

/// Compares in constant time for secrets of equal length. An empty secret equals nothing.
fn same_secret(given: &[u8], secret: &[u8]) -> bool {
    !secret.is_empty()
        && given.len() == secret.len()
        && given.iter().zip(secret).fold(0, |difference, (a, b)| difference | (a ^ b)) == 0
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(authorization: Option<&str>) -> HeaderMap {
        authorization.map(|value| (header::AUTHORIZATION, value.parse().unwrap())).into_iter().collect()
    }

    #[test]
    fn only_the_token_authenticates() {
        let token = Authentication::Token("secret".into());
        assert!(token.check("/api", &headers(Some("Bearer secret"))).is_ok());
        for wrong in [
            None,
            Some("Bearer wrong!"),
            Some("Bearer secret2"),
            Some("Basic secret"),
            Some("secret"),
            Some("Bearer "),
        ] {
            assert_eq!(token.check("/api", &headers(wrong)).unwrap_err().code(), 401, "{wrong:?}");
        }
        assert!(token.check("/readyz", &headers(None)).is_ok());
        assert!(token.check("/readyzz", &headers(None)).is_err());
        assert!(Authentication::Anyone.check("/api", &headers(None)).is_ok());
    }

    #[test]
    fn an_empty_token_authenticates_nobody() {
        let empty = Authentication::Token(String::new());
        assert_eq!(empty.check("/api", &headers(Some("Bearer "))).unwrap_err().code(), 401);
        assert!(!empty.knows(""));
    }
}
