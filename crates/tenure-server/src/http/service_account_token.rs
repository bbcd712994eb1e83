//! Service account tokens: JSON Web Tokens with a subject, audiences and an expiry. The server stores none and verifies
//! their signature; whether the account still exists is checked elsewhere.

use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
use ring::{digest, hmac};
use tenure_value::{Limits, Text, Value, json};

/// The default audience: this server.
pub(crate) const AUDIENCE: &str = "https://kubernetes.default.svc";
/// The `iss` claim.
const ISSUER: &str = "tenure";
/// Limits of the claims of a token.
const LIMITS: Limits = Limits { bytes: 16 * 1024, depth: 8, nodes: 1000 };

/// The claims of a token.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Claims {
    pub namespace: Text,
    pub name: Text,
    /// The account's UID, so that a recreated account does not accept old tokens.
    pub uid: Text,
    pub audiences: Vec<Text>,
    /// The period of validity, in seconds since 1970.
    pub issued: i64,
    pub expires: i64,
}

impl Claims {
    /// Returns the user name of the account.
    pub fn user(&self) -> String {
        format!("system:serviceaccount:{}:{}", self.namespace, self.name)
    }

    fn to_value(&self) -> Value {
        let texts = |texts: &[Text]| Value::array(texts.iter().map(|text| Value::from(text.clone())));
        let account =
            Value::object([("name", Value::from(self.name.clone())), ("uid", self.uid.clone().into())]);
        let place = [("namespace", Value::from(self.namespace.clone())), ("serviceaccount", account)];
        Value::object([
            ("aud", texts(&self.audiences)),
            ("exp", Value::from(self.expires)),
            ("iat", Value::from(self.issued)),
            ("iss", ISSUER.into()),
            ("jti", uuid::Uuid::new_v4().to_string().into()),
            ("kubernetes.io", Value::object(place)),
            ("nbf", Value::from(self.issued)),
            ("sub", self.user().into()),
        ])
    }

    fn of_value(value: &Value) -> Option<Claims> {
        let text = |path: &[&str]| value.at(path.iter().copied()).and_then(Value::as_str).map(Text::from);
        let audiences = value.get("aud")?.as_array()?.iter().map(|one| one.as_str().map(Text::from));
        Some(Claims {
            namespace: text(&["kubernetes.io", "namespace"])?,
            name: text(&["kubernetes.io", "serviceaccount", "name"])?,
            uid: text(&["kubernetes.io", "serviceaccount", "uid"])?,
            audiences: audiences.collect::<Option<_>>()?,
            issued: value.get("iat").and_then(Value::as_i64)?,
            expires: value.get("exp").and_then(Value::as_i64)?,
        })
    }
}

/// Signs and verifies tokens.
pub(crate) struct Issuer {
    key: hmac::Key,
}

impl Issuer {
    /// Creates an issuer from a secret: servers with the same secret accept each other's tokens.
    pub fn of_secret(secret: &str) -> Issuer {
        let mut context = digest::Context::new(&digest::SHA256);
        context.update(b"tenure tokens of service accounts\0");
        context.update(secret.as_bytes());
        Issuer { key: hmac::Key::new(hmac::HMAC_SHA256, context.finish().as_ref()) }
    }

    pub fn issue(&self, claims: &Claims) -> String {
        let head = URL_SAFE_NO_PAD.encode(br#"{"alg":"HS256","typ":"JWT"}"#);
        let body = URL_SAFE_NO_PAD.encode(json::to_vec(&claims.to_value()));
        let signed = format!("{head}.{body}");
        let signature = hmac::sign(&self.key, signed.as_bytes());
        format!("{signed}.{}", URL_SAFE_NO_PAD.encode(signature))
    }

    /// Returns the claims of a token that this issuer signed and that is valid now.
    pub fn read(&self, token: &str, now: i64) -> Option<Claims> {
        let (signed, signature) = token.rsplit_once('.')?;
        let signature = URL_SAFE_NO_PAD.decode(signature).ok()?;
        hmac::verify(&self.key, signed.as_bytes(), &signature).ok()?;
        let (_, body) = signed.split_once('.')?;
        let body = URL_SAFE_NO_PAD.decode(body).ok()?;
        let claims = Claims::of_value(&json::parse(&body, &LIMITS).ok()?)?;
        (claims.issued <= now && now < claims.expires).then_some(claims)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_own_unexpired_tokens_are_accepted() {
        let claims = Claims {
            namespace: "n".into(),
            name: "a".into(),
            uid: "u".into(),
            audiences: vec![AUDIENCE.into(), "other".into()],
            issued: 1000,
            expires: 1600,
        };
        let issuer = Issuer::of_secret("s");
        let token = issuer.issue(&claims);
        assert_eq!(Issuer::of_secret("s").read(&token, 1000), Some(claims.clone()));
        assert_eq!(claims.user(), "system:serviceaccount:n:a");
        assert_eq!(issuer.read(&token, 999), None, "not yet");
        assert_eq!(issuer.read(&token, 1600), None, "no longer");
        assert_eq!(Issuer::of_secret("t").read(&token, 1000), None, "another's");
        let (head, rest) = token.split_once('.').unwrap();
        let (body, signature) = rest.split_once('.').unwrap();
        let later = URL_SAFE_NO_PAD.encode(json::to_vec(&Claims { expires: 9999, ..claims }.to_value()));
        let none = URL_SAFE_NO_PAD.encode(br#"{"alg":"none"}"#);
        for forged in [
            format!("{head}.{later}.{signature}"),
            format!("{none}.{body}.{signature}"),
            format!("{none}.{body}."),
            format!("{head}.{body}"),
            String::new(),
            "..".to_owned(),
            "a.b.c".to_owned(),
        ] {
            assert_eq!(issuer.read(&forged, 1000), None, "{forged}");
        }
    }
}
