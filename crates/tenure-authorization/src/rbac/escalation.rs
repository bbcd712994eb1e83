//! The check that users cannot grant more permissions than they have.
//!
//! A rule is compared as its single permissions: one group, resource, name and verb, or one path and verb. Their
//! number is the product of the rule's lists, so it is bounded.

use super::{
    PolicyRule,
    rule::{ALL, has},
};
use std::collections::{BTreeMap, HashSet};
use tenure_meta::url_covers;
use tenure_value::Text;

/// How many single permissions one check may compare.
const MOST_PERMISSIONS: usize = 20_000;

/// The permissions that the user lacks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Uncovered {
    /// The rules that the user lacks, merged where they differ in their verbs alone, sorted.
    Rules(Vec<PolicyRule>),
    /// The rules have too many combinations to compare.
    TooMany,
}

/// Returns the part of `requested` that `owned` does not cover; `None` if it covers everything.
pub fn uncovered(owned: &[&PolicyRule], requested: &[PolicyRule]) -> Option<Uncovered> {
    let Some(missing) = missing_permissions(owned, requested) else { return Some(Uncovered::TooMany) };
    if missing.is_empty() {
        return None;
    }
    let mut verbs_of: BTreeMap<PolicyRule, Vec<Text>> = BTreeMap::new();
    for permission in missing {
        let PolicyRule { verbs, .. } = &permission;
        let verbs = verbs.clone();
        let known = verbs_of.entry(PolicyRule { verbs: Vec::new(), ..permission }).or_default();
        known.extend(verbs);
    }
    let rules = verbs_of.into_iter().map(|(rule, verbs)| PolicyRule { verbs, ..rule });
    let mut rules: Vec<(String, PolicyRule)> = rules.map(|rule| (rule.to_string(), rule)).collect();
    rules.sort();
    Some(Uncovered::Rules(rules.into_iter().map(|(_, rule)| rule).collect()))
}

/// Returns the single permissions of `requested` that `owned` does not cover, each once; `None` if there are too many
/// to compare.
pub(crate) fn missing_permissions(
    owned: &[&PolicyRule],
    requested: &[PolicyRule],
) -> Option<Vec<PolicyRule>> {
    let (mut missing, mut seen) = (Vec::new(), HashSet::new());
    let mut room = MOST_PERMISSIONS;
    for rule in requested.iter().filter(|rule| !owned.iter().any(|own| covers(own, rule))) {
        room = room.checked_sub(permission_count(rule))?;
        let lacking = permissions(rule).into_iter().filter(|one| !owned.iter().any(|own| covers(own, one)));
        missing.extend(lacking.filter(|one| seen.insert(one.clone())));
    }
    Some(missing)
}

/// Whether one rule alone covers another one.
fn covers(own: &PolicyRule, rule: &PolicyRule) -> bool {
    let verbs = rule.verbs.iter().all(|verb| has(&own.verbs, verb));
    if !rule.non_resource_urls.is_empty() {
        let covered = |path: &Text| own.non_resource_urls.iter().any(|of| url_covers(of, path));
        return verbs && rule.non_resource_urls.iter().all(covered);
    }
    let resource_covered = |resource: &Text| {
        let below = resource.split_once('/').map(|(_, below)| below);
        own.resources.iter().any(|of| {
            of == ALL || of == resource || below.is_some_and(|below| of.strip_prefix("*/") == Some(below))
        })
    };
    let names = match (own.resource_names.is_empty(), rule.resource_names.is_empty()) {
        (true, _) => true,
        (false, true) => false,
        (false, false) => rule.resource_names.iter().all(|name| own.resource_names.contains(name)),
    };
    verbs
        && names
        && rule.api_groups.iter().all(|group| has(&own.api_groups, group))
        && rule.resources.iter().all(resource_covered)
}

fn permission_count(rule: &PolicyRule) -> usize {
    let resources = rule.api_groups.len().saturating_mul(rule.resources.len());
    let resources = resources.saturating_mul(rule.resource_names.len().max(1));
    resources.saturating_add(rule.non_resource_urls.len()).saturating_mul(rule.verbs.len())
}

/// Returns the single permissions of a rule.
fn permissions(rule: &PolicyRule) -> Vec<PolicyRule> {
    let mut permissions = Vec::with_capacity(permission_count(rule));
    let names: Vec<Vec<Text>> = match rule.resource_names.is_empty() {
        true => vec![Vec::new()],
        false => rule.resource_names.iter().map(|name| vec![name.clone()]).collect(),
    };
    for group in &rule.api_groups {
        for resource in &rule.resources {
            for verb in &rule.verbs {
                permissions.extend(names.iter().map(|names| PolicyRule {
                    api_groups: vec![group.clone()],
                    resources: vec![resource.clone()],
                    resource_names: names.clone(),
                    non_resource_urls: Vec::new(),
                    verbs: vec![verb.clone()],
                }));
            }
        }
    }
    for path in &rule.non_resource_urls {
        permissions.extend(rule.verbs.iter().map(|verb| PolicyRule {
            non_resource_urls: vec![path.clone()],
            verbs: vec![verb.clone()],
            ..PolicyRule::default()
        }));
    }
    permissions
}
