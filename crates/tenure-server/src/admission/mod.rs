//! Those who have a say in what is written: webhooks and policies, as their configurations say it. Nothing here asks
//! anyone or reads the store; `api/admission.rs` and `api/policies.rs` do. What is configured is compiled once, when it changes.

mod deed;
mod expression;
mod hook;
mod matching;
mod policy;
mod review;

pub(crate) use deed::{Deed, Form, Operation};
pub(crate) use expression::{Condition, Scene};
pub(crate) use hook::{Hook, OnFailure};
pub(crate) use matching::Constraints;
pub(crate) use policy::{Action, Binding, Change, Policy, Refusal};
pub(crate) use review::{Review, Verdict, request};

use deed::is_exempt;
use tenure_value::Value;

/// The group of the configurations.
pub(crate) const GROUP: &str = "admissionregistration.k8s.io";
/// The resources of the configurations that are acted upon.
pub(crate) const CONFIGURATIONS: [&str; 6] = [
    "mutatingadmissionpolicies",
    "mutatingadmissionpolicybindings",
    "mutatingwebhookconfigurations",
    "validatingwebhookconfigurations",
    "validatingadmissionpolicies",
    "validatingadmissionpolicybindings",
];

/// Everyone who has a say.
#[derive(Debug, Default)]
pub(crate) struct Gate {
    /// The policies that change what is written.
    pub mutating_policies: Vec<Policy>,
    /// Those who may change what is written, in the order in which they are asked.
    pub mutating: Vec<Hook>,
    /// Those who may refuse it.
    pub validating: Vec<Hook>,
    /// The rules that it must hold to.
    pub policies: Vec<Policy>,
}

impl Gate {
    /// Reads the objects of the configurations, each resource's in the order of their names.
    pub fn read(of: &[Vec<Value>; 6]) -> Gate {
        let [mutating_policies, mutating_bindings, mutating, validating, policies, bindings] = of;
        let hooks = |of: &[Value]| of.iter().flat_map(Hook::all).collect();
        let bound = |policies: &[Value], bindings: &[Value]| {
            policies.iter().filter_map(|policy| Policy::read(policy, bindings)).collect()
        };
        Gate {
            mutating_policies: bound(mutating_policies, mutating_bindings),
            mutating: hooks(mutating),
            validating: hooks(validating),
            policies: bound(policies, bindings),
        }
    }

    /// Whether nobody has a say in anything.
    pub fn is_open(&self) -> bool {
        self.constraints().next().is_none()
    }

    /// Whether a rule names an operation on a resource, in whichever group and version: a quick no for most writes.
    pub fn may_concern(&self, operation: Operation, resource: &str) -> bool {
        self.constraints().any(|of| of.may_concern(operation, resource))
    }

    /// Whether somebody may have a say in what is done. Nobody has one in who has a say: a webhook that does not
    /// answer could not be removed otherwise.
    pub fn concerns(&self, deed: &Deed) -> bool {
        !is_exempt(deed) && self.constraints().any(|of| of.form(deed).is_some())
    }

    /// Returns what each is about who has a say.
    fn constraints(&self) -> impl Iterator<Item = &Constraints> {
        let hooks = self.mutating.iter().chain(&self.validating).map(|hook| &hook.constraints);
        hooks.chain(self.mutating_policies.iter().chain(&self.policies).map(|policy| &policy.constraints))
    }
}
