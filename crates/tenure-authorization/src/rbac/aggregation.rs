//! Cluster roles that collect the rules of others, which they select by label.

use super::PolicyRule;

/// Joins the rules of the selected roles, in the order given, without repetitions.
pub fn aggregate_rules<'r>(selected: impl IntoIterator<Item = &'r [PolicyRule]>) -> Vec<PolicyRule> {
    let mut seen = std::collections::HashSet::new();
    let rules = selected.into_iter().flatten();
    rules.filter(|rule| seen.insert(*rule)).cloned().collect()
}
