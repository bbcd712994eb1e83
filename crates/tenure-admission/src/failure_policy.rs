//! What happens if a webhook or a policy fails.

use tenure_meta::ValueExt;
use tenure_value::Value;

/// What happens to a request if a webhook or a policy fails.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FailurePolicy {
    /// The request is refused.
    Fail,
    /// The failure is ignored.
    Ignore,
}

impl FailurePolicy {
    /// Reads the `failurePolicy` of a webhook or a policy.
    pub fn read(value: &Value) -> FailurePolicy {
        if value.text("failurePolicy") == "Ignore" { FailurePolicy::Ignore } else { FailurePolicy::Fail }
    }
}
