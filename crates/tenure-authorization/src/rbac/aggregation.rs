//! Cluster roles that collect the rules of others, which they select by label.
//!
//! A controller copies the rules into the aggregated role. What limits a copied rule is found in the roles that it was copied from, so
//! that a limit holds at whatever moment the controller runs: a rule that no selected role grants permits no write.

use super::{FieldRule, PolicyRule, Role};
use std::{
    collections::{BTreeMap, HashMap, HashSet},
    sync::Arc,
};
use tenure_value::Text;

/// Joins the rules of the selected roles, in the order given, without repetitions.
pub fn aggregate_rules<'r>(selected: impl IntoIterator<Item = &'r [PolicyRule]>) -> Vec<PolicyRule> {
    let mut seen = HashSet::new();
    let rules = selected.into_iter().flatten();
    rules.filter(|rule| seen.insert(*rule)).cloned().collect()
}

/// The limits of one rule of an aggregated role: one for each role that grants it, of which any suffices.
pub(super) type Alternatives = Vec<Arc<[FieldRule]>>;

/// Returns the limits of the rules of every aggregated role, in the order of its rules.
pub(super) fn aggregated_limits(roles: &HashMap<Text, Arc<Role>>) -> HashMap<Text, Vec<Alternatives>> {
    let aggregated: BTreeMap<&Text, &Role> = roles
        .iter()
        .filter(|(_, role)| role.selectors.is_some())
        .map(|(name, role)| (name, &**role))
        .collect();
    let mut limits: HashMap<Text, Vec<Alternatives>> = aggregated
        .iter()
        .map(|(name, role)| ((*name).clone(), vec![Alternatives::new(); role.rules.len()]))
        .collect();
    // One round for each level of aggregation. Alternatives are only added, so that roles that aggregate each other come to an end.
    for _ in 0..=aggregated.len() {
        let mut changed = false;
        for (name, role) in &aggregated {
            let found = limits_of(name, role, roles, &limits);
            let known = limits.get(*name);
            if known.is_none_or(|known| known.iter().map(Vec::len).ne(found.iter().map(Vec::len))) {
                limits.insert((*name).clone(), found);
                changed = true;
            }
        }
        if !changed {
            break;
        }
    }
    limits
}

/// Returns the limits of the rules of one aggregated role, given those of the others so far.
fn limits_of(
    name: &Text,
    role: &Role,
    roles: &HashMap<Text, Arc<Role>>,
    limits: &HashMap<Text, Vec<Alternatives>>,
) -> Vec<Alternatives> {
    let mut found = vec![Alternatives::new(); role.rules.len()];
    // The limits of the role itself cannot be read.
    let Ok(own) = &role.field_rules else { return found };
    // Of equal rules the first one counts.
    let positions: HashMap<&PolicyRule, usize> =
        role.rules.iter().enumerate().rev().map(|(at, rule)| (rule, at)).collect();
    let mut seen: HashSet<(usize, *const FieldRule)> = HashSet::new();
    let is_selected =
        |part: &Role| role.selectors.iter().flatten().any(|selector| selector.matches(part.labels.as_ref()));
    for (other, part) in roles.iter().filter(|(other, part)| *other != name && is_selected(part)) {
        for (index, rule) in part.rules.iter().enumerate() {
            let Some(at) = positions.get(rule).copied() else { continue };
            let alternatives: &[Arc<[FieldRule]>] = match (&part.selectors, &part.field_rules) {
                (Some(_), _) => {
                    limits.get(other).and_then(|limits| limits.get(index)).map_or(&[], Vec::as_slice)
                }
                (None, Ok(limits)) => std::slice::from_ref(limits),
                (None, Err(_)) => &[],
            };
            let new = alternatives.iter().filter(|limits| seen.insert((at, limits.as_ptr())));
            found[at].extend(new.cloned());
        }
    }
    if !own.is_empty() {
        // Limits of its own are for what it collects without limits; both at once cannot be expressed.
        for alternatives in &mut found {
            let is_unlimited = alternatives.iter().any(|limits| limits.is_empty());
            *alternatives = if is_unlimited { vec![own.clone()] } else { Vec::new() };
        }
    }
    found
}
