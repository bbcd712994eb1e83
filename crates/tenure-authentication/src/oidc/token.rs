//! The tokens of issuers: their claims, and what is checked of them.

use crate::credentials::CompactToken;
use tenure_meta::ValueExt;
use tenure_value::{
    Text, Value,
    time::{Precision, Timestamp},
};

/// How far the clock of an issuer may be ahead.
const NOT_BEFORE_LEEWAY_SECONDS: i64 = 5 * 60;
/// An issuer whose tokens name it without the scheme.
const GOOGLE: (&str, &str) = ("accounts.google.com", "https://accounts.google.com");

/// The parts of a token. Its claims must not be trusted before its signature is verified.
#[derive(Debug)]
pub(crate) struct Token<'t> {
    pub algorithm: Text,
    pub key_id: Text,
    /// Whether the header names parameters that must be understood. None are.
    pub has_critical: bool,
    pub claims: Value,
    /// The signed part.
    pub message: &'t [u8],
    pub signature: Vec<u8>,
}

impl<'t> Token<'t> {
    /// Reads a token; `None` if it is not a JSON Web Token.
    pub fn read(text: &'t str) -> Option<Token<'t>> {
        let token = CompactToken::read(text)?;
        let header = token.header()?;
        Some(Token {
            algorithm: header.text("alg"),
            key_id: header.text("kid"),
            has_critical: header.get("crit").is_some(),
            claims: token.claims().filter(|claims| claims.as_object().is_some())?,
            message: token.message,
            signature: token.signature()?,
        })
    }

    /// Returns the claimed issuer of the token.
    pub fn issuer(&self) -> Text {
        match self.claims.text("iss") {
            short if short == GOOGLE.0 => GOOGLE.1.into(),
            issuer => issuer,
        }
    }

    /// Checks that the token is for one of the audiences.
    pub fn check_audience(&self, expected: &[String]) -> Result<(), String> {
        let given: Vec<&str> = match self.claims.get("aud") {
            Some(Value::Array(list)) => list.items().iter().filter_map(Value::as_str).collect(),
            Some(one) => one.as_str().into_iter().collect(),
            None => Vec::new(),
        };
        if given.iter().any(|audience| expected.iter().any(|known| known == audience)) {
            return Ok(());
        }
        Err(match expected {
            [only] => format!("expected audience {only:?} got {given:?}"),
            _ => format!("expected audience in {expected:?} got {given:?}"),
        })
    }

    /// Checks the time and returns when the token ends, in seconds since 1970. A token without an expiry has
    /// expired.
    pub fn check_time(&self, now: i64) -> Result<i64, String> {
        let at = |claim: &str| self.claims.get(claim).and_then(Value::as_f64).map(|at| at as i64);
        let text = |seconds: i64| Timestamp { seconds, nanos: 0 }.format(Precision::Seconds);
        let end = at("exp").unwrap_or_default();
        if end < now {
            return Err(format!("token is expired (Token Expiry: {})", text(end)));
        }
        if let Some(start) = at("nbf").filter(|start| now + NOT_BEFORE_LEEWAY_SECONDS < *start) {
            return Err(format!(
                "current time {} before the nbf (not before) time: {}",
                text(now),
                text(start)
            ));
        }
        Ok(end)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::credentials::MOST_BYTES;
    use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD as BASE64URL};

    fn token(claims: &str) -> String {
        let part = |text: &str| BASE64URL.encode(text);
        format!("{}.{}.{}", part(r#"{"alg":"RS256","kid":"k"}"#), part(claims), part("signature"))
    }

    #[test]
    fn what_is_not_a_token_is_not_read() {
        let good = token("{}");
        assert!(Token::read(&good).is_some());
        for text in
            ["", "a", "a.b", "a.b.c", "...", &format!("{good}.x"), &token("[]"), &token("{"), &good[1..]]
        {
            assert!(Token::read(text).is_none(), "{text}");
        }
        assert!(Token::read(&token(&format!("{{\"a\":{:?}}}", "x".repeat(MOST_BYTES)))).is_none());
    }

    #[test]
    fn audience_and_time_are_checked() {
        let check = |claims: &str, now: i64| {
            let text = token(claims);
            let token = Token::read(&text).unwrap();
            token.check_audience(&["a".into(), "b".into()]).and_then(|()| token.check_time(now))
        };
        assert_eq!(check(r#"{"aud":["x","b"],"exp":100}"#, 100), Ok(100));
        assert_eq!(check(r#"{"aud":"a","exp":1e2,"nbf":399}"#, 99), Ok(100));
        for (claims, why) in [
            (r#"{"aud":["x"],"exp":100}"#, r#"expected audience in ["a", "b"] got ["x"]"#),
            (r#"{"exp":100}"#, r#"expected audience in ["a", "b"] got []"#),
            (r#"{"aud":"a","exp":98}"#, "token is expired (Token Expiry: 1970-01-01T00:01:38Z)"),
            (r#"{"aud":"a"}"#, "token is expired (Token Expiry: 1970-01-01T00:00:00Z)"),
            (r#"{"aud":"a","exp":900,"nbf":400}"#, "before the nbf (not before) time: 1970-01-01T00:06:40Z"),
        ] {
            let error = check(claims, 99).unwrap_err();
            assert!(error.contains(why), "{claims}: {error}");
        }
    }
}
