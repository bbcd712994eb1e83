//! Bootstrap tokens: what a machine joins a cluster with before it has credentials of its own. A token `ID.SECRET` is in the secret
//! `bootstrap-token-ID` of `kube-system`, with its groups and the time until which it is valid.

use crate::{authenticator::Authenticator, token_cache::TokenDigest};
use tenure_builtin::role::SECRETS;
use tenure_catalog::object::meta_text;
use tenure_meta::{UserInfo, ValueExt};
use tenure_value::{
    Text, Value, base64,
    time::{Precision, Timestamp},
};

const NAMESPACE: &str = "kube-system";
const SECRET_TYPE: &str = "bootstrap.kubernetes.io/token";
const USER_PREFIX: &str = "system:bootstrap:";
/// The group of all users of bootstrap tokens.
const GROUP: &str = "system:bootstrappers";
const ID_LENGTH: usize = 6;
const SECRET_LENGTH: usize = 16;
/// The most characters of a group after the one of all.
const MOST_GROUP_CHARACTERS: usize = 256;

impl Authenticator {
    /// Returns the user of a bootstrap token. Why one is refused is in the log, since the client must not learn what the secret holds.
    pub(crate) fn user_of_bootstrap_token(&self, token: &str) -> Option<UserInfo> {
        let (id, secret) = parts(token).filter(|_| self.has_bootstrap_tokens)?;
        let name = format!("bootstrap-token-{id}");
        let stored = self.stored(SECRETS, NAMESPACE, &name)?;
        user(&stored, (id, secret), self.clock.now())
            .inspect_err(|why| tracing::info!(secret = name, why, "bootstrap token refused"))
            .ok()
    }
}

/// Returns the id and the secret of a token of the form of bootstrap tokens.
fn parts(token: &str) -> Option<(&str, &str)> {
    let is_plain = |text: &str| text.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit());
    let (id, secret) = token.split_once('.')?;
    let is_token = id.len() == ID_LENGTH && secret.len() == SECRET_LENGTH && is_plain(id) && is_plain(secret);
    is_token.then_some((id, secret))
}

/// Returns the user of a token whose secret is stored, or why it is refused.
fn user(stored: &Value, (id, secret): (&str, &str), now: Timestamp) -> Result<UserInfo, String> {
    let entry = |name: &str| {
        let text = stored.at(["data", name]).and_then(Value::as_str).unwrap_or_default();
        String::from_utf8(base64::decode(text).unwrap_or_default()).unwrap_or_default()
    };
    if stored.text("type") != SECRET_TYPE {
        return Err(format!("its secret has another type than {SECRET_TYPE}"));
    }
    if !meta_text(stored, "deletionTimestamp").is_empty() {
        return Err("its secret has been deleted".into());
    }
    // Digests are compared, so that the time tells nothing about the secret.
    if TokenDigest::of(&entry("token-secret")) != TokenDigest::of(secret) {
        return Err("token-secret is another one".into());
    }
    if entry("token-id") != id {
        return Err(format!("token-id is not {id}, as the name of the secret says"));
    }
    match entry("expiration").as_str() {
        "" => {}
        text => match Timestamp::parse(text, Precision::Seconds) {
            Some(end) if now.seconds < end.seconds => {}
            Some(_) => return Err(format!("it expired at {text}")),
            None => return Err(format!("expiration {text:?} is not a time such as 2030-01-31T12:00:00Z")),
        },
    }
    if entry("usage-bootstrap-authentication") != "true" {
        return Err("usage-bootstrap-authentication is not true".into());
    }
    let mut groups = vec![Text::from(GROUP)];
    let extra = entry("auth-extra-groups");
    for group in extra.split(',').filter(|_| !extra.is_empty()) {
        if !is_group(group) {
            return Err(format!(
                "auth-extra-groups: {group:?} does not begin with {GROUP}: followed by lowercase letters, digits, - and :"
            ));
        }
        if !groups.iter().any(|other| other == group) {
            groups.push(group.into());
        }
    }
    Ok(UserInfo { groups, ..UserInfo::new(format!("{USER_PREFIX}{id}")) })
}

/// Whether a group may be that of a bootstrap token.
fn is_group(name: &str) -> bool {
    let rest = name.strip_prefix(GROUP).and_then(|rest| rest.strip_prefix(':')).unwrap_or_default();
    let is_plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
    rest.len() <= MOST_GROUP_CHARACTERS
        && rest.bytes().all(|byte| is_plain(byte) || matches!(byte, b'-' | b':'))
        && rest.bytes().last().is_some_and(is_plain)
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Timestamp = Timestamp { seconds: 1_800_000_000, nanos: 0 };

    /// Returns the secret of the token `abcdef.0123456789abcdef`, with changed entries.
    fn secret(changes: &[(&'static str, &str)]) -> Value {
        let mut entries = vec![
            ("token-id", "abcdef"),
            ("token-secret", "0123456789abcdef"),
            ("usage-bootstrap-authentication", "true"),
        ];
        entries.retain(|(name, _)| changes.iter().all(|(changed, _)| changed != name));
        entries.extend(changes);
        let data = entries.iter().map(|(name, value)| (*name, Value::from(base64::encode(value))));
        Value::object([("type", Value::from(SECRET_TYPE)), ("data", Value::object(data))])
    }

    #[test]
    fn tokens_have_an_id_and_a_secret() {
        for (token, want) in [
            ("abcdef.0123456789abcdef", Some(("abcdef", "0123456789abcdef"))),
            ("abcdef.0123456789abcde", None),
            ("abcdeF.0123456789abcdef", None),
            ("abcdef.0123456789abcde.", None),
            ("abcdef0123456789abcdef", None),
            ("../../.0123456789abcdef", None),
            ("", None),
        ] {
            assert_eq!(parts(token), want, "{token}");
        }
    }

    #[test]
    fn a_secret_says_who_the_token_is() {
        let groups = "system:bootstrappers:kubeadm:default-node-token,system:bootstrappers:a-1";
        for (changes, want) in [
            (&[][..], Ok(&["system:bootstrappers"][..])),
            (
                &[("auth-extra-groups", groups), ("expiration", "2027-01-15T08:00:01Z")],
                Ok(&[
                    "system:bootstrappers",
                    "system:bootstrappers:kubeadm:default-node-token",
                    "system:bootstrappers:a-1",
                ]),
            ),
            (&[("token-secret", "0123456789abcdeg")], Err("token-secret")),
            (&[("token-id", "abcdeg")], Err("token-id")),
            (&[("expiration", "2027-01-15T08:00:00Z")], Err("expired")),
            (&[("expiration", "soon")], Err("\"soon\" is not a time")),
            (&[("usage-bootstrap-authentication", "yes")], Err("usage-bootstrap-authentication")),
            (&[("auth-extra-groups", "system:masters")], Err("\"system:masters\"")),
            (&[("auth-extra-groups", "system:bootstrappers:a,")], Err("\"\"")),
            (&[("auth-extra-groups", "system:bootstrappers:a-")], Err("system:bootstrappers:a-")),
        ] {
            let user = user(&secret(changes), ("abcdef", "0123456789abcdef"), NOW);
            match (user, want) {
                (Ok(user), Ok(want)) => {
                    assert_eq!(user.name, "system:bootstrap:abcdef");
                    assert_eq!(user.groups, want, "{changes:?}");
                }
                (Err(why), Err(want)) => assert!(why.contains(want), "{changes:?}: {why}"),
                (user, want) => panic!("{changes:?}: {user:?}, expected {want:?}"),
            }
        }
    }

    #[test]
    fn other_and_deleted_secrets_are_no_tokens() {
        let Value::Object(valid) = secret(&[]) else { panic!("not an object") };
        let deleted = Value::object([("deletionTimestamp", Value::from("2027-01-15T07:00:00Z"))]);
        for (field, value) in [("type", Value::from("Opaque")), ("metadata", deleted)] {
            let stored = Value::Object(valid.clone().with(field, value));
            assert!(user(&stored, ("abcdef", "0123456789abcdef"), NOW).is_err(), "{field}");
        }
    }
}
