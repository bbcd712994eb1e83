//! Tokens that a controller keeps in secrets: they are valid as long as the secret holds them and the account exists. Their use
//! is recorded in a label of the secret, once a day, for the controller that removes unused ones.

use crate::authenticator::Authenticator;
use ring::digest::{SHA256, digest};
use tenure_builtin::role::{SECRETS, SERVICE_ACCOUNTS};
use tenure_catalog::object::meta_text;
use tenure_meta::{UserInfo, ValueExt};
use tenure_value::{
    Text, Value, base64,
    time::{Precision, Timestamp},
};

/// The label that says since when a token must not be used.
const INVALID_SINCE: &str = "kubernetes.io/legacy-token-invalid-since";
/// The label of the day of the last use.
pub const LAST_USED: &str = "kubernetes.io/legacy-token-last-used";
/// The warning to users of the tokens that Kubernetes once created for every account.
const WARNING: &str = "Use tokens from the TokenRequest API or manually created secret-based tokens instead of \
                       auto-generated secret-based tokens.";
const DAY_SECONDS: i64 = 24 * 60 * 60;

/// The user of a token in a secret.
pub(crate) struct SecretTokenUser {
    pub user: UserInfo,
    pub audiences: Vec<Text>,
    pub warning: Option<&'static str>,
}

impl Authenticator {
    /// Returns the user of a token in a secret; the error is empty for other tokens.
    pub(crate) async fn user_of_secret(
        &self,
        token: &str,
        audiences: &[Text],
    ) -> Result<SecretTokenUser, String> {
        let (claims, audiences) = self.tokens.read_of_secret(token, audiences)?;
        let (namespace, name) = (claims.namespace.as_str(), claims.name.as_str());
        let is_deleted = |object: &Value| !meta_text(object, "deletionTimestamp").is_empty();
        let secret = self.stored(SECRETS, namespace, &claims.secret).filter(|secret| !is_deleted(secret));
        let secret = secret.ok_or("Token has been invalidated")?;
        let held = secret.at(["data", "token"]).and_then(Value::as_str).unwrap_or_default();
        // Digests are compared, so that the time tells nothing about the token.
        let digest_of = |text: &str| digest(&SHA256, text.as_bytes());
        if digest_of(held).as_ref() != digest_of(&base64::encode(token)).as_ref() {
            return Err("Token does not match server's copy".into());
        }
        let account = self.stored(SERVICE_ACCOUNTS, namespace, name);
        let account = account.ok_or_else(|| format!("serviceaccounts {name:?} not found"))?;
        if is_deleted(&account) {
            return Err(format!("ServiceAccount {namespace}/{name} has been deleted"));
        }
        let uid = meta_text(&account, "uid");
        if uid != claims.uid {
            return Err(format!("ServiceAccount UID ({uid}) does not match claim ({})", claims.uid));
        }
        self.record_use(&secret).await;
        if !label(&secret, INVALID_SINCE).is_empty() {
            return Err(format!(
                "the token in secret {namespace}/{} for service account {namespace}/{name} has been marked invalid. Use \
                 tokens from the TokenRequest API or manually created secret-based tokens, or remove the '{INVALID_SINCE}' \
                 label from the secret to temporarily allow use of this token",
                claims.secret
            ));
        }
        // The field has the name of the resource.
        let is_generated =
            account.items(SECRETS.resource).iter().any(|reference| reference.text("name") == claims.secret);
        Ok(SecretTokenUser { user: claims.user(), audiences, warning: is_generated.then_some(WARNING) })
    }

    /// Has the day of the use recorded, unless it is.
    async fn record_use(&self, secret: &Value) {
        let Some(uses) = &self.token_uses else { return };
        let (now, last) = (self.clock.now(), label(secret, LAST_USED));
        let day = |seconds: i64| {
            let text = Timestamp { seconds, ..now }.format(Precision::Seconds);
            Text::from(text.split('T').next().unwrap_or_default())
        };
        let today = day(now.seconds);
        // The clock of another server may be ahead.
        if last != today.as_str() && last != day(now.seconds + DAY_SECONDS).as_str() {
            uses.record(meta_text(secret, "namespace").into(), meta_text(secret, "name").into(), today).await;
        }
    }
}

fn label<'s>(secret: &'s Value, name: &str) -> &'s str {
    secret.at(["metadata", "labels", name]).and_then(Value::as_str).unwrap_or_default()
}
