//! Who gets in: the holder of the token, or on a loopback socket without TLS anyone.

use super::service_account_token::Issuer;
use crate::{Failure, Reason};
use hyper::{HeaderMap, header};

/// How requests are let in.
#[derive(Clone)]
pub enum Authentication {
    /// Only with this bearer token.
    Token(String),
    /// Everyone; the server listens on loopback only.
    Anyone,
}

/// What may be asked without a token: whether the server is up, and nothing about what it holds.
const OPEN: [&str; 3] = ["/livez", "/readyz", "/healthz"];

impl Authentication {
    /// Whether a token is the one that lets in.
    pub fn knows(&self, given: &str) -> bool {
        matches!(self, Authentication::Token(token) if same_secret(given.as_bytes(), token.as_bytes()))
    }

    /// Makes what signs the tokens of service accounts. Servers that let in the same token know each other's.
    pub(crate) fn issuer(&self) -> Issuer {
        match self {
            Authentication::Token(token) => Issuer::of_secret(token),
            // Nobody needs a token here, but one can be made and looked at.
            Authentication::Anyone => Issuer::of_secret(&uuid::Uuid::new_v4().to_string()),
        }
    }

    /// Lets a request in, or says why not.
    pub fn check(&self, path: &str, headers: &HeaderMap) -> Result<(), Failure> {
        let Authentication::Token(token) = self else { return Ok(()) };
        if OPEN
            .iter()
            .any(|open| path.strip_prefix(open).is_some_and(|rest| rest.is_empty() || rest.starts_with('/')))
        {
            return Ok(());
        }
        let given = headers.get(header::AUTHORIZATION).and_then(|value| value.to_str().ok());
        match given.and_then(|value| value.strip_prefix("Bearer ")) {
            Some(given) if same_secret(given.trim().as_bytes(), token.as_bytes()) => Ok(()),
            _ => Err(Failure::new(Reason::Unauthorized, "Unauthorized")),
        }
    }
}

/// Compares in a time that does not tell how much is right.
fn same_secret(given: &[u8], secret: &[u8]) -> bool {
    given.len() == secret.len() && given.iter().zip(secret).fold(0, |wrong, (a, b)| wrong | (a ^ b)) == 0
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(authorization: Option<&str>) -> HeaderMap {
        authorization.map(|value| (header::AUTHORIZATION, value.parse().unwrap())).into_iter().collect()
    }

    #[test]
    fn only_the_token_opens() {
        let access = Authentication::Token("secret".into());
        assert!(access.check("/api", &headers(Some("Bearer secret"))).is_ok());
        for wrong in [
            None,
            Some("Bearer wrong!"),
            Some("Bearer secret2"),
            Some("Basic secret"),
            Some("secret"),
            Some("Bearer "),
        ] {
            assert_eq!(access.check("/api", &headers(wrong)).unwrap_err().code(), 401, "{wrong:?}");
        }
        assert!(access.check("/readyz", &headers(None)).is_ok());
        assert!(access.check("/readyzz", &headers(None)).is_err());
        assert!(Authentication::Anyone.check("/api", &headers(None)).is_ok());
    }
}
