//! The configured webhooks and policies, compiled once when a configuration changes.

use crate::{
    AdmissionAttributes, ResourceAction, matching::MatchConstraints, policy::Policy,
    webhook::AdmissionWebhook,
};
use tenure_value::Value;

/// The group of the configurations.
pub const GROUP: &str = "admissionregistration.k8s.io";
/// The resources of the configurations.
pub const CONFIGURATIONS: [&str; 6] = [
    "mutatingadmissionpolicies",
    "mutatingadmissionpolicybindings",
    "mutatingwebhookconfigurations",
    "validatingwebhookconfigurations",
    "validatingadmissionpolicies",
    "validatingadmissionpolicybindings",
];

/// The configurations that policies do not see.
const POLICIES: [&str; 4] = [
    "mutatingadmissionpolicies",
    "mutatingadmissionpolicybindings",
    "validatingadmissionpolicies",
    "validatingadmissionpolicybindings",
];
/// The reviews that policies do not see, by group and resource.
const REVIEWS: [(&str, &str); 6] = [
    ("authentication.k8s.io", "selfsubjectreviews"),
    ("authentication.k8s.io", "tokenreviews"),
    ("authorization.k8s.io", "localsubjectaccessreviews"),
    ("authorization.k8s.io", "selfsubjectaccessreviews"),
    ("authorization.k8s.io", "selfsubjectrulesreviews"),
    ("authorization.k8s.io", "subjectaccessreviews"),
];

/// The webhooks and policies of a cluster.
#[derive(Debug, Default)]
pub struct AdmissionConfig {
    pub(crate) mutating_policies: Vec<Policy>,
    /// In the order in which they are called.
    pub(crate) mutating_webhooks: Vec<AdmissionWebhook>,
    pub(crate) validating_policies: Vec<Policy>,
    pub(crate) validating_webhooks: Vec<AdmissionWebhook>,
}

impl AdmissionConfig {
    /// Compiles the objects of [`CONFIGURATIONS`], each resource's in the order of their names.
    pub fn compile(objects: &[Vec<Value>; 6]) -> AdmissionConfig {
        let [mutating_policies, mutating_bindings, mutating, validating, policies, bindings] = objects;
        let webhooks =
            |configurations: &[Value]| configurations.iter().flat_map(AdmissionWebhook::all).collect();
        let bound = |policies: &[Value], bindings: &[Value]| {
            policies.iter().filter_map(|policy| Policy::read(policy, bindings)).collect()
        };
        AdmissionConfig {
            mutating_policies: bound(mutating_policies, mutating_bindings),
            mutating_webhooks: webhooks(mutating),
            validating_policies: bound(policies, bindings),
            validating_webhooks: webhooks(validating),
        }
    }

    /// Whether a webhook or a policy may match an action: a quick negative for most writes.
    pub fn may_match(&self, action: &ResourceAction<'_>) -> bool {
        webhooks_may_match(self.webhook_constraints(), action)
            || policies_may_match(self.policy_constraints(), action)
    }

    /// Whether a webhook or a policy matches a request by its rules.
    pub fn matches(&self, attributes: &AdmissionAttributes) -> bool {
        let action = attributes.action();
        let matches = |constraints: &MatchConstraints| constraints.matching_variant(attributes).is_some();
        (!is_exempt_from_webhooks(&action) && self.webhook_constraints().any(matches))
            || (!is_exempt_from_policies(&action) && self.policy_constraints().any(matches))
    }

    fn webhook_constraints(&self) -> impl Iterator<Item = &MatchConstraints> {
        self.mutating_webhooks.iter().chain(&self.validating_webhooks).map(|webhook| &webhook.constraints)
    }

    fn policy_constraints(&self) -> impl Iterator<Item = &MatchConstraints> {
        self.mutating_policies.iter().chain(&self.validating_policies).map(|policy| &policy.constraints)
    }
}

/// Whether webhooks do not see an action: a webhook that does not respond could otherwise not be removed.
fn is_exempt_from_webhooks(action: &ResourceAction<'_>) -> bool {
    action.group == GROUP && CONFIGURATIONS.contains(&action.resource)
}

/// Whether policies do not see an action: a policy could otherwise not be removed, or would refuse everyone the answer to what
/// they may do.
fn is_exempt_from_policies(action: &ResourceAction<'_>) -> bool {
    match action.group {
        GROUP => POLICIES.contains(&action.resource),
        group => REVIEWS.contains(&(group, action.resource)),
    }
}

/// Whether one of the constraints of webhooks may match an action.
pub(crate) fn webhooks_may_match<'c>(
    mut constraints: impl Iterator<Item = &'c MatchConstraints>,
    action: &ResourceAction<'_>,
) -> bool {
    !is_exempt_from_webhooks(action)
        && constraints.any(|constraint| constraint.may_match(action.operation, action.resource))
}

/// Whether one of the constraints of policies may match an action.
pub(crate) fn policies_may_match<'c>(
    mut constraints: impl Iterator<Item = &'c MatchConstraints>,
    action: &ResourceAction<'_>,
) -> bool {
    !is_exempt_from_policies(action)
        && constraints.any(|constraint| constraint.may_match(action.operation, action.resource))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Operation;

    #[test]
    fn configurations_are_exempt() {
        let all = r#"[{"metadata":{"name":"a"},"webhooks":[{"name":"a.b.c","clientConfig":{"url":"https://h"},
            "rules":[{"operations":["*"],"apiGroups":["*"],"apiVersions":["*"],"resources":["*"]}]}]}]"#;
        let all: Value = all.parse().unwrap();
        let mut objects: [Vec<Value>; 6] = Default::default();
        objects[3] = all.as_array().unwrap().to_vec();
        let config = AdmissionConfig::compile(&objects);
        let action = |group, resource| ResourceAction {
            operation: Operation::Delete,
            group,
            resource,
            subresource: "",
        };
        assert!(config.may_match(&action("", "pods")));
        assert!(!config.may_match(&action(GROUP, "validatingwebhookconfigurations")));
        assert!(!AdmissionConfig::default().may_match(&action("", "pods")));
        assert!(config.may_match(&action("authentication.k8s.io", "tokenreviews")), "webhooks see reviews");
    }

    #[test]
    fn policies_see_webhook_configurations_and_no_reviews() {
        for (group, resource, is_exempt) in [
            ("", "pods", false),
            (GROUP, "validatingwebhookconfigurations", false),
            (GROUP, "validatingadmissionpolicies", true),
            (GROUP, "mutatingadmissionpolicybindings", true),
            ("authentication.k8s.io", "selfsubjectreviews", true),
            ("authorization.k8s.io", "subjectaccessreviews", true),
            ("example.com", "selfsubjectreviews", false),
        ] {
            let action = ResourceAction { operation: Operation::Create, group, resource, subresource: "" };
            assert_eq!(is_exempt_from_policies(&action), is_exempt, "{resource}.{group}");
        }
    }
}
