//! The check that users cannot grant more permissions than they have.
//!
//! A rule is compared as its single permissions: one group, resource, name and verb, or one path and verb. Their
//! number is the product of the rule's lists, so it is bounded. A permission that is limited to fields is less than the
//! same without a limit: where limits are involved, a permission for `*` is compared for each resource that a limit names, and
//! for one that none names.

use super::{
    GrantedRule, Limit, PolicyRule,
    limit::{is_within, is_write},
    rule::{ALL, has},
};
use std::collections::{BTreeMap, BTreeSet, HashSet};
use tenure_meta::url_covers;
use tenure_value::Text;

/// How many single permissions one check may compare.
const MOST_PERMISSIONS: usize = 20_000;
/// How many patterns of fields one check may compare.
const MOST_PATTERNS: usize = 1_000_000;
/// Stands for a group or a resource that no field rule names. It cannot be the name of one.
const UNNAMED: &str = "\u{0}";

/// The permissions that the user lacks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Uncovered {
    /// The permissions that the user does not have, or has for some fields only.
    Rules {
        /// The rules that the user lacks, merged where they differ in their verbs alone, sorted.
        rules: Vec<PolicyRule>,
        /// The fields that the user has some of these permissions for.
        limits: Vec<String>,
    },
    /// The rules have too many combinations to compare.
    TooMany,
}

/// Returns the part of `requested` that `owned` does not cover; `None` if it covers everything.
pub fn uncovered(owned: &[GrantedRule<'_>], requested: &[GrantedRule<'_>]) -> Option<Uncovered> {
    let Some(Missing { permissions, limits }) = missing_permissions(owned, requested) else {
        return Some(Uncovered::TooMany);
    };
    if permissions.is_empty() {
        return None;
    }
    let mut verbs_of: BTreeMap<PolicyRule, Vec<Text>> = BTreeMap::new();
    for permission in permissions {
        let PolicyRule { verbs, .. } = &permission;
        let verbs = verbs.clone();
        let known = verbs_of.entry(PolicyRule { verbs: Vec::new(), ..permission }).or_default();
        known.extend(verbs);
    }
    let rules = verbs_of.into_iter().map(|(rule, verbs)| PolicyRule { verbs, ..rule });
    let mut rules: Vec<(String, PolicyRule)> = rules.map(|rule| (rule.to_string(), rule)).collect();
    rules.sort();
    let rules = rules.into_iter().map(|(_, rule)| rule).collect();
    Some(Uncovered::Rules { rules, limits: limits.into_iter().collect() })
}

/// The single permissions that are not covered, each once, and the limits of those that are covered for some fields.
#[derive(Default)]
pub(crate) struct Missing {
    pub permissions: Vec<PolicyRule>,
    limits: BTreeSet<String>,
}

/// Returns the single permissions of `requested` that `owned` does not cover; `None` if there are too many to compare.
pub(crate) fn missing_permissions(
    owned: &[GrantedRule<'_>],
    requested: &[GrantedRule<'_>],
) -> Option<Missing> {
    let (mut missing, mut seen) = (Missing::default(), HashSet::new());
    let mut room = MOST_PERMISSIONS;
    let mut limits =
        owned.iter().any(|own| !own.limit.is_none()).then(|| Limits::named(owned.iter().chain(requested)));
    let covers_whole =
        |rule: &PolicyRule| owned.iter().any(|own| own.limit.is_none() && covers(own.rule, rule));
    for granted in requested.iter().filter(|granted| !covers_whole(granted.rule)) {
        room = room.checked_sub(permission_count(granted.rule))?;
        for one in permissions(granted.rule) {
            let is_covered = owned.iter().any(|own| covers(own.rule, &one))
                && match &mut limits {
                    Some(limits) => limits.cover(owned, granted.limit, &one, &mut missing.limits)?,
                    None => true,
                };
            if !is_covered && seen.insert(one.clone()) {
                missing.permissions.push(one);
            }
        }
    }
    Some(missing)
}

/// The groups and resources that field rules name, with how many comparisons may still be made.
struct Limits {
    groups: BTreeSet<Text>,
    resources: BTreeSet<Text>,
    room: usize,
    budget: usize,
}

impl Limits {
    fn named<'p>(rules: impl Iterator<Item = &'p GrantedRule<'p>>) -> Limits {
        let unnamed = || BTreeSet::from([Text::from(UNNAMED)]);
        let (mut groups, mut resources) = (unnamed(), unnamed());
        for granted in rules {
            let Limit::Fields(limits) = granted.limit else { continue };
            for limit in limits {
                groups.extend(limit.api_groups.iter().filter(|group| *group != ALL).cloned());
                // `*/scale` names the scale of a resource that no rule names.
                let resources_of = limit.resources.iter().filter(|resource| *resource != ALL);
                resources.extend(resources_of.map(|resource| match resource.strip_prefix("*/") {
                    Some(below) => Text::from(format!("{UNNAMED}/{below}")),
                    None => resource.clone(),
                }));
            }
        }
        Limits { groups, resources, room: MOST_PERMISSIONS, budget: MOST_PATTERNS }
    }

    /// Whether a single permission is covered in all its fields by rules that cover it otherwise; if it is not, the limits of these
    /// rules are added to `limits`. `None` if there is too much to compare.
    fn cover(
        &mut self,
        owned: &[GrantedRule<'_>],
        requested: Limit<'_>,
        one: &PolicyRule,
        limits: &mut BTreeSet<String>,
    ) -> Option<bool> {
        let ([group], [resource], [verb]) = (&one.api_groups[..], &one.resources[..], &one.verbs[..]) else {
            return Some(true);
        };
        if !is_write(verb) {
            return Some(true);
        }
        let groups: Vec<Text> = match group == ALL {
            true => self.groups.iter().cloned().collect(),
            false => vec![group.clone()],
        };
        let resources: Vec<Text> = match resource.strip_prefix("*/") {
            _ if resource == ALL => self.resources.iter().cloned().collect(),
            Some(below) => {
                let is_below = |granted: &&Text| granted.split_once('/').is_some_and(|(_, own)| own == below);
                let named = self.resources.iter().filter(is_below).cloned();
                named.chain([Text::from(format!("{UNNAMED}/{below}"))]).collect()
            }
            None => vec![resource.clone()],
        };
        self.room = self.room.checked_sub(groups.len().saturating_mul(resources.len()))?;
        for group in &groups {
            for resource in &resources {
                let named = PolicyRule {
                    api_groups: vec![group.clone()],
                    resources: vec![resource.clone()],
                    ..one.clone()
                };
                if !self.covers_resource(owned, requested, &named, limits)? {
                    return Some(false);
                }
            }
        }
        Some(true)
    }

    /// The same for a permission without `*`.
    fn covers_resource(
        &mut self,
        owned: &[GrantedRule<'_>],
        requested: Limit<'_>,
        one: &PolicyRule,
        limits: &mut BTreeSet<String>,
    ) -> Option<bool> {
        let (group, path) = (one.api_groups[0].as_str(), one.resources[0].as_str());
        let (resource, subresource) = path.split_once('/').unwrap_or((path, ""));
        let mut own_rules = Vec::new();
        for own in owned.iter().filter(|own| covers(own.rule, one)) {
            match own.limit.of(group, resource, subresource) {
                None => return Some(true),
                Some(rules) => own_rules.extend(rules),
            }
        }
        // What cannot be written today because of a limit that cannot be read may be tomorrow.
        let requested = match requested {
            Limit::NoWrite => None,
            Limit::Fields(_) => requested.of(group, resource, subresource),
        };
        let mut is_covered = requested.is_some();
        for rule in requested.into_iter().flatten() {
            is_covered = is_covered && is_within(rule, &own_rules, &mut self.budget)?;
        }
        if !is_covered {
            limits.extend(own_rules.iter().map(|rule| rule.to_string()));
        }
        Some(is_covered)
    }
}

/// Whether one rule alone covers another one.
fn covers(own: &PolicyRule, rule: &PolicyRule) -> bool {
    let verbs = rule.verbs.iter().all(|verb| has(&own.verbs, verb));
    if !rule.non_resource_urls.is_empty() {
        let covered = |path: &Text| own.non_resource_urls.iter().any(|url| url_covers(url, path));
        return verbs && rule.non_resource_urls.iter().all(covered);
    }
    let resource_covered = |resource: &Text| {
        let below = resource.split_once('/').map(|(_, below)| below);
        own.resources.iter().any(|granted| {
            granted == ALL
                || granted == resource
                || below.is_some_and(|below| granted.strip_prefix("*/") == Some(below))
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
