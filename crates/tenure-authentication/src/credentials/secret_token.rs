//! Tokens in secrets of the type `kubernetes.io/service-account-token`, which a controller signs: they name the account and the
//! secret, have no audience, and last as long as both.

use super::Claims;
use tenure_meta::UserInfo;
use tenure_value::Text;

/// The issuer of tokens in secrets.
pub const SECRET_TOKEN_ISSUER: &str = "kubernetes/serviceaccount";

/// The claims of a token in a secret.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SecretTokenClaims {
    /// The namespace of the account and the secret.
    pub namespace: Text,
    /// The name of the secret.
    pub secret: Text,
    /// The name of the account.
    pub name: Text,
    /// The uid of the account.
    pub uid: Text,
}

impl SecretTokenClaims {
    /// Reads verified claims, or says what is wrong with them.
    pub fn read(claims: &Claims) -> Result<SecretTokenClaims, &'static str> {
        let text = |claim: &str, otherwise| match claims.text(claim) {
            "" => Err(otherwise),
            text => Ok(Text::from(text)),
        };
        let subject = text("sub", "sub claim is missing")?;
        let claims = SecretTokenClaims {
            namespace: text("kubernetes.io/serviceaccount/namespace", "namespace claim is missing")?,
            secret: text("kubernetes.io/serviceaccount/secret.name", "secretName claim is missing")?,
            name: text(
                "kubernetes.io/serviceaccount/service-account.name",
                "serviceAccountName claim is missing",
            )?,
            uid: text(
                "kubernetes.io/serviceaccount/service-account.uid",
                "serviceAccountUID claim is missing",
            )?,
        };
        match tenure_meta::service_account_name(&claims.namespace, &claims.name) == subject.as_str() {
            true => Ok(claims),
            false => Err("sub claim is invalid"),
        }
    }

    /// Returns the user of the token.
    pub fn user(&self) -> UserInfo {
        let mut user = UserInfo::service_account(&self.namespace, &self.name);
        user.uid = self.uid.clone();
        user
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn claims_name_the_account_and_the_secret() {
        let all = [
            ("sub", "system:serviceaccount:ns:sa", "sub claim is missing"),
            ("kubernetes.io/serviceaccount/namespace", "ns", "namespace claim is missing"),
            ("kubernetes.io/serviceaccount/secret.name", "token", "secretName claim is missing"),
            (
                "kubernetes.io/serviceaccount/service-account.name",
                "sa",
                "serviceAccountName claim is missing",
            ),
            ("kubernetes.io/serviceaccount/service-account.uid", "1", "serviceAccountUID claim is missing"),
        ];
        let without = |left_out: &str| {
            let claims = all.iter().filter(|(claim, ..)| *claim != left_out);
            Claims(tenure_value::Value::object(claims.map(|(claim, text, _)| (*claim, (*text).into()))))
        };
        for (claim, _, error) in all {
            assert_eq!(SecretTokenClaims::read(&without(claim)), Err(error), "{claim}");
        }
        let read = SecretTokenClaims::read(&without("")).unwrap();
        assert_eq!(
            (read.secret.as_str(), read.user().name.as_str()),
            ("token", "system:serviceaccount:ns:sa")
        );
        assert_eq!(read.user().uid, "1");
        let Claims(whole) = without("sub");
        let other = whole.as_object().cloned().unwrap().with("sub", "system:serviceaccount:ns:other");
        assert_eq!(SecretTokenClaims::read(&Claims(other.into())), Err("sub claim is invalid"));
    }
}
