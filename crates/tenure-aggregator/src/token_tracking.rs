//! Records when tokens in secrets are used, for the controller that removes unused ones: the day of the last use in a label of the
//! secret, and since when that is done in a config map.

use crate::{Aggregator, ApiServiceWriter};
use tenure_authentication::{LAST_USED, TokenUse};
use tenure_builtin::role::SECRETS;
use tenure_catalog::object::{Stored, fields, key};
use tenure_meta::{ApiError, GroupVersionResource};
use tenure_value::Value;

/// The config map that tells since when the use of tokens in secrets is tracked, for the controller that removes unused ones.
pub(crate) const TOKEN_TRACKING: &str = "kube-apiserver-legacy-service-account-token-tracking";

/// Returns the data of that config map; `None` if it has a day that is not in the future.
pub(crate) fn token_tracking(live: Option<&Value>, now: &str) -> Option<Value> {
    let today = now.split('T').next().unwrap_or_default();
    let since = live.and_then(|map| map.at(["data", "since"])).and_then(Value::as_str).unwrap_or_default();
    let shape = |text: &str| {
        text.bytes().map(|byte| if byte.is_ascii_digit() { b'0' } else { byte }).collect::<Vec<_>>()
    };
    let is_day = shape(since) == b"0000-00-00" && since <= today;
    (!is_day).then(|| Value::object([("since", Value::from(today))]))
}

impl Aggregator {
    /// Writes the day of a use into the label of a secret.
    pub(crate) async fn record_use(&self, writer: &dyn ApiServiceWriter, used: TokenUse) {
        if let Err(failure) = self.write_use(writer, &used).await {
            // The secret is gone, or another server has written the day.
            tracing::debug!(%failure, secret = %used.secret, "cannot record the use of a token");
        }
        used.done();
    }

    async fn write_use(&self, writer: &dyn ApiServiceWriter, used: &TokenUse) -> Result<(), ApiError> {
        let GroupVersionResource { group, version, resource: plural } = SECRETS;
        let Some(resource) = tenure_builtin::registry().find(group, version, plural) else { return Ok(()) };
        let entry = self.store.get(key(resource, &used.namespace, &used.secret).as_bytes()).await?;
        let Some(stored) = entry.map(|entry| Stored::read(&entry)).transpose()? else { return Ok(()) };
        let object = fields(Some(&stored.shown()));
        let metadata = fields(object.get("metadata"));
        let labels = fields(metadata.get("labels"));
        // Requests that came at once wait for the same day.
        if labels.get(LAST_USED).and_then(Value::as_str) == Some(&used.day) {
            return Ok(());
        }
        let metadata = metadata.with("labels", labels.with(LAST_USED, used.day.clone()));
        writer.update(SECRETS, &used.namespace, &object.with("metadata", metadata).into()).await
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tracking_begins_on_the_day_of_the_start() {
        let since = |day: &str| Value::object([("data", Value::object([("since", Value::from(day))]))]);
        let now = "2026-03-04T05:06:07Z";
        let today = Some(Value::object([("since", Value::from("2026-03-04"))]));
        assert_eq!(token_tracking(None, now), today);
        assert_eq!(token_tracking(Some(&since("2026-03-03")), now), None);
        assert_eq!(token_tracking(Some(&since("2026-03-05")), now), today);
        assert_eq!(token_tracking(Some(&since("yesterday")), now), today);
    }
}
