//! Role-based access control: roles grant permissions, bindings assign them to subjects.
//!
//! Permissions only add up: there is no rule that denies. [`Policy`] is kept in step with the stored roles and
//! bindings, and decides from an index of subjects.

mod aggregation;
mod bootstrap;
mod decision_cache;
mod escalation;
mod field_rule;
mod policy;
mod rule;
mod subject;

pub use aggregation::aggregate_rules;
pub use bootstrap::{Reconciled, bootstrap_objects, reconcile, split, split_from};
pub use decision_cache::DecisionCache;
pub use escalation::{Uncovered, uncovered};
pub use field_rule::{
    FIELD_RULES_ANNOTATION, FieldPattern, FieldRule, FieldRuleError, FieldWrite, check_fields,
};
pub use policy::{Binding, Grant, Policy, Role, RoleRef, WritePermission};
pub use rule::PolicyRule;
pub use subject::Subject;
