//! A webhook that has a say, as its configuration describes it.

use super::{deed::Deed, expression::Condition, matching::Constraints};
use crate::{
    custom::{Webhook, WebhookTarget},
    kinds::Row,
};
use std::time::Duration;
use tenure_value::{Text, Value};

/// How long a webhook may take that does not say so, in seconds.
const PATIENCE: u64 = 10;

/// What becomes of a request when somebody who has a say in it cannot be asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum OnFailure {
    /// It is refused.
    Refuse,
    /// It goes on as if nobody had to be asked.
    GoOn,
}

impl OnFailure {
    /// Reads the word for it, which is in all configurations the same.
    pub fn read(of: &Value) -> OnFailure {
        if of.text("failurePolicy") == "Ignore" { OnFailure::GoOn } else { OnFailure::Refuse }
    }
}

/// A webhook.
#[derive(Debug)]
pub(crate) struct Hook {
    pub name: Text,
    /// The kind and the name of the configuration that it is in.
    pub configuration: (Text, Text),
    pub webhook: Webhook,
    pub constraints: Constraints,
    pub conditions: Vec<Condition>,
    pub on_failure: OnFailure,
    pub patience: Duration,
    /// Whether it may be asked about what is not going to happen.
    pub stands_dry_runs: bool,
    /// Whether it is asked again when others have changed the object since.
    pub is_reinvoked: bool,
}

impl Hook {
    /// Reads the webhooks of a configuration.
    pub fn all(configuration: &Value) -> impl Iterator<Item = Hook> {
        let name = configuration.get("metadata").unwrap_or(&Value::Null).text("name");
        let named = (configuration.text("kind"), name);
        configuration.items("webhooks").iter().map(move |of| Hook::read(of, named.clone()))
    }

    fn read(of: &Value, configuration: (Text, Text)) -> Hook {
        let seconds = of.get("timeoutSeconds").and_then(Value::as_i64).and_then(|of| u64::try_from(of).ok());
        let client = of.get("clientConfig").unwrap_or(&Value::Null);
        Hook {
            name: of.text("name"),
            configuration,
            webhook: Webhook {
                target: WebhookTarget::read(client),
                ca_bundle: client.text("caBundle"),
                review_versions: of.texts("admissionReviewVersions"),
            },
            constraints: Constraints::read(of),
            conditions: of.items("matchConditions").iter().map(Condition::read).collect(),
            on_failure: OnFailure::read(of),
            patience: Duration::from_secs(seconds.unwrap_or(PATIENCE)),
            stands_dry_runs: matches!(of.text("sideEffects").as_str(), "None" | "NoneOnDryRun"),
            is_reinvoked: of.text("reinvocationPolicy") == "IfNeeded",
        }
    }

    /// Returns why a webhook cannot be asked about something, if so.
    pub fn refuses_to_be_asked(&self, deed: &Deed) -> Option<String> {
        let cannot = deed.dry_run && !self.stands_dry_runs;
        cannot.then(|| format!("admission webhook {:?} does not support dry run", self.name.as_str()))
    }
}
