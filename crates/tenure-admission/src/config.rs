//! The configured webhooks and policies, compiled once when a configuration changes.

use crate::{
    AdmissionAttributes, ResourceAction, matching::MatchConstraints, policy::Policy,
    webhook::AdmissionWebhook,
};
use std::sync::Arc;
use tenure_builtin::role::REVIEWS;
use tenure_profile::{Behaviour, KubernetesVersion};
use tenure_value::Value;

pub use tenure_builtin::role::{ADMISSION_CONFIGURATIONS as CONFIGURATIONS, ADMISSION_GROUP as GROUP};

/// The configurations that policies do not see.
const POLICIES: [&str; 4] = [
    "mutatingadmissionpolicies",
    "mutatingadmissionpolicybindings",
    "validatingadmissionpolicies",
    "validatingadmissionpolicybindings",
];

/// The webhooks or the policies of one plugin, in the order in which they are called: those of manifests come first.
#[derive(Debug)]
pub(crate) struct Configured<T> {
    all: Vec<Arc<T>>,
    /// How many of them come from manifests.
    manifests: usize,
}

impl<T> Default for Configured<T> {
    fn default() -> Configured<T> {
        Configured { all: Vec::new(), manifests: 0 }
    }
}

impl<T> Configured<T> {
    fn of_api(all: impl Iterator<Item = T>) -> Configured<T> {
        Configured { all: all.map(Arc::new).collect(), manifests: 0 }
    }

    /// Returns the same with others of manifests.
    fn with_manifests(&self, manifests: &Configured<T>) -> Configured<T> {
        let of_api = self.all.iter().skip(self.manifests);
        let all = manifests.all.iter().chain(of_api).cloned().collect();
        Configured { all, manifests: manifests.all.len() }
    }

    /// Returns those that see an action.
    pub(crate) fn that_see(&self, seen_by: SeenBy) -> &[Arc<T>] {
        match seen_by {
            SeenBy::All => &self.all,
            SeenBy::Manifests => self.all.get(..self.manifests).unwrap_or_default(),
            SeenBy::None => &[],
        }
    }
}

/// Which webhooks or policies see an action.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SeenBy {
    All,
    /// Those that the API cannot change: no others could be removed if they do not respond, or refuse it.
    Manifests,
    None,
}

/// The webhooks and policies of a cluster.
#[derive(Debug, Default)]
pub struct AdmissionConfig {
    pub(crate) mutating_policies: Configured<Policy>,
    pub(crate) mutating_webhooks: Configured<AdmissionWebhook>,
    pub(crate) validating_policies: Configured<Policy>,
    pub(crate) validating_webhooks: Configured<AdmissionWebhook>,
    /// What the manifests of this configuration are.
    manifests: Option<Arc<AdmissionConfig>>,
    /// Whether webhooks do not see reviews of tokens and of access.
    hides_reviews: bool,
}

impl AdmissionConfig {
    /// Compiles the objects of [`CONFIGURATIONS`], each resource's in the order of their names, as a version of Kubernetes applies
    /// them.
    pub fn compile(objects: &[Vec<Value>; 6], version: KubernetesVersion) -> AdmissionConfig {
        let [mutating_policies, mutating_bindings, mutating, validating, policies, bindings] = objects;
        let webhooks = |configurations: &[Value]| {
            Configured::of_api(configurations.iter().flat_map(AdmissionWebhook::all))
        };
        let bound = |policies: &[Value], bindings: &[Value]| {
            Configured::of_api(policies.iter().filter_map(|policy| Policy::read(policy, bindings)))
        };
        AdmissionConfig {
            mutating_policies: bound(mutating_policies, mutating_bindings),
            mutating_webhooks: webhooks(mutating),
            validating_policies: bound(policies, bindings),
            validating_webhooks: webhooks(validating),
            manifests: None,
            hides_reviews: version.has(Behaviour::ReviewsHiddenFromWebhooks),
        }
    }

    /// Whether the manifests of this configuration are these.
    pub fn has_manifests(&self, manifests: &Arc<AdmissionConfig>) -> bool {
        self.manifests.as_ref().is_some_and(|current| Arc::ptr_eq(current, manifests))
    }

    /// Returns the same with the webhooks and policies of other manifests.
    pub fn with_manifests(&self, manifests: &Arc<AdmissionConfig>) -> AdmissionConfig {
        AdmissionConfig {
            mutating_policies: self.mutating_policies.with_manifests(&manifests.mutating_policies),
            mutating_webhooks: self.mutating_webhooks.with_manifests(&manifests.mutating_webhooks),
            validating_policies: self.validating_policies.with_manifests(&manifests.validating_policies),
            validating_webhooks: self.validating_webhooks.with_manifests(&manifests.validating_webhooks),
            manifests: Some(manifests.clone()),
            hides_reviews: self.hides_reviews,
        }
    }

    /// Whether a webhook or a policy may match an action: a quick negative for most writes.
    pub fn may_match(&self, action: &ResourceAction<'_>) -> bool {
        self.webhooks_may_match(&self.mutating_webhooks, action)
            || self.webhooks_may_match(&self.validating_webhooks, action)
            || policies_may_match(&self.mutating_policies, action)
            || policies_may_match(&self.validating_policies, action)
    }

    /// Whether a webhook or a policy matches a request by its rules.
    pub fn matches(&self, attributes: &AdmissionAttributes) -> bool {
        let action = attributes.action();
        let (webhooks, policies) = (self.webhooks_that_see(&action), policies_that_see(&action));
        let matches = |constraints: &MatchConstraints| constraints.matching_variant(attributes).is_some();
        [&self.mutating_webhooks, &self.validating_webhooks]
            .into_iter()
            .flat_map(|all| all.that_see(webhooks))
            .any(|webhook| matches(&webhook.constraints))
            || [&self.mutating_policies, &self.validating_policies]
                .into_iter()
                .flat_map(|all| all.that_see(policies))
                .any(|policy| matches(&policy.constraints))
    }

    /// Returns which webhooks see an action.
    pub(crate) fn webhooks_that_see(&self, action: &ResourceAction<'_>) -> SeenBy {
        match action.group {
            GROUP if CONFIGURATIONS.contains(&action.resource) => SeenBy::Manifests,
            group if self.hides_reviews && REVIEWS.contains(&(group, action.resource)) => SeenBy::None,
            _ => SeenBy::All,
        }
    }

    /// Whether one of some webhooks may match an action.
    pub(crate) fn webhooks_may_match(
        &self,
        webhooks: &Configured<AdmissionWebhook>,
        action: &ResourceAction<'_>,
    ) -> bool {
        let mut seen = webhooks.that_see(self.webhooks_that_see(action)).iter();
        seen.any(|webhook| webhook.constraints.may_match(action.operation, action.resource))
    }
}

/// Returns which policies see an action: a policy that sees the configurations of policies could not be removed, and one that sees
/// reviews would refuse everyone the answer to what they may do.
pub(crate) fn policies_that_see(action: &ResourceAction<'_>) -> SeenBy {
    match action.group {
        GROUP if POLICIES.contains(&action.resource) => SeenBy::Manifests,
        group if REVIEWS.contains(&(group, action.resource)) => SeenBy::None,
        _ => SeenBy::All,
    }
}

/// Whether one of some policies may match an action.
pub(crate) fn policies_may_match(policies: &Configured<Policy>, action: &ResourceAction<'_>) -> bool {
    let mut seen = policies.that_see(policies_that_see(action)).iter();
    seen.any(|policy| policy.constraints.may_match(action.operation, action.resource))
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
        let config = AdmissionConfig::compile(&objects, KubernetesVersion::V1_36);
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
        let later = AdmissionConfig::compile(&objects, KubernetesVersion::V1_37);
        assert!(!later.may_match(&action("authentication.k8s.io", "tokenreviews")), "until 1.37");
        assert!(later.may_match(&action("example.com", "tokenreviews")));
        // Those of manifests see the configurations, since the API cannot change them.
        let manifests = Arc::new(config);
        let combined = AdmissionConfig::default().with_manifests(&manifests);
        assert!(combined.may_match(&action(GROUP, "validatingwebhookconfigurations")));
        assert!(combined.has_manifests(&manifests) && !combined.has_manifests(&Arc::default()));
        let both = later.with_manifests(&manifests);
        let seen = |action| both.validating_webhooks.that_see(both.webhooks_that_see(&action)).len();
        assert_eq!(
            [
                seen(action("", "pods")),
                seen(action(GROUP, "validatingadmissionpolicies")),
                seen(action("authorization.k8s.io", "subjectaccessreviews")),
            ],
            [2, 1, 0]
        );
        assert_eq!(both.with_manifests(&Arc::default()).validating_webhooks.that_see(SeenBy::All).len(), 1);
    }

    #[test]
    fn policies_see_webhook_configurations_and_no_reviews() {
        for (group, resource, seen_by) in [
            ("", "pods", SeenBy::All),
            (GROUP, "validatingwebhookconfigurations", SeenBy::All),
            (GROUP, "validatingadmissionpolicies", SeenBy::Manifests),
            (GROUP, "mutatingadmissionpolicybindings", SeenBy::Manifests),
            ("authentication.k8s.io", "selfsubjectreviews", SeenBy::None),
            ("authorization.k8s.io", "subjectaccessreviews", SeenBy::None),
            ("example.com", "selfsubjectreviews", SeenBy::All),
        ] {
            let action = ResourceAction { operation: Operation::Create, group, resource, subresource: "" };
            assert_eq!(policies_that_see(&action), seen_by, "{resource}.{group}");
        }
    }
}
