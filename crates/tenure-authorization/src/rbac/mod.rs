//! Role-based access control: roles grant permissions, bindings assign them to subjects.
//!
//! Permissions only add up: there is no rule that denies. [`Policy`] is kept in step with the stored roles and
//! bindings, and decides from an index of subjects.

mod aggregation;
mod bootstrap;
mod decision_cache;
mod escalation;
mod field_rule;
mod limit;
mod policy;
mod role;
mod rule;
mod subject;

pub use aggregation::aggregate_rules;
pub use bootstrap::{Reconciled, bootstrap_objects, reconcile, split, split_from};
pub use decision_cache::DecisionCache;
pub use escalation::{Uncovered, uncovered};
pub use field_rule::{
    FIELD_RULES_ANNOTATION, FieldPattern, FieldRule, FieldRuleError, FieldWrite, NO_FIELDS, check_fields,
    counted_rules,
};
pub(crate) use limit::WRITE_VERBS;
pub use limit::{GrantedRule, Limit};
pub use policy::{Binding, Grant, Policy, RoleRef, WritePermission};
pub use role::Role;
pub use rule::PolicyRule;
pub use subject::Subject;
