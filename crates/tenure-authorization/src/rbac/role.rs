//! A role or cluster role: its rules, their limits, and which roles it aggregates.

use super::{FIELD_RULES_ANNOTATION, FieldRule, FieldRuleError, GrantedRule, Limit, PolicyRule};
use std::sync::Arc;
use tenure_meta::LabelSelector;
use tenure_value::Value;

/// The rules of a role.
#[derive(Clone, Debug, PartialEq)]
pub struct Role {
    /// Its rules.
    pub rules: Vec<PolicyRule>,
    /// The limits on what its write permissions may change, or why they cannot be read.
    pub field_rules: Result<Arc<[FieldRule]>, FieldRuleError>,
    /// Its labels, by which aggregated roles select it.
    pub(super) labels: Option<Value>,
    /// Which roles it collects the rules of, if it is an aggregated role.
    pub(super) selectors: Option<Vec<LabelSelector>>,
}

impl Role {
    /// Whether the role has field rules, or some that cannot be read.
    pub(super) fn limits_fields(&self) -> bool {
        self.field_rules.as_ref().map_or(true, |rules| !rules.is_empty())
    }

    /// Reads a role or a cluster role.
    pub(crate) fn read(object: &Value) -> Role {
        let annotation = object.at(["metadata", "annotations", FIELD_RULES_ANNOTATION]);
        let field_rules = annotation.and_then(Value::as_str).map_or(Ok(Vec::new()), FieldRule::parse);
        let selectors = object.at(["aggregationRule", "clusterRoleSelectors"]).and_then(Value::as_array);
        Role {
            rules: PolicyRule::list(object.get("rules")),
            field_rules: field_rules.map(Arc::from),
            labels: object.at(["metadata", "labels"]).cloned(),
            selectors: selectors.map(|selectors| {
                selectors.iter().filter_map(|selector| LabelSelector::of_object(selector).ok()).collect()
            }),
        }
    }

    /// Returns the rules of the role with the limits that it has itself.
    pub(crate) fn granted(&self) -> impl Iterator<Item = GrantedRule<'_>> {
        let limit = match &self.field_rules {
            Ok(rules) => Limit::Fields(rules),
            Err(_) => Limit::NoWrite,
        };
        self.rules.iter().map(move |rule| GrantedRule { rule, limit })
    }
}
