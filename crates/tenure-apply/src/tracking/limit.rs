//! A limit on the number of managers with the operation `Update`. Beyond it the oldest are merged into one manager for
//! each version. Appliers are never merged, because conflicts name them.

use crate::{Manager, Managers, Operation};
use std::collections::HashMap;
use tenure_fields::FieldSet;
use tenure_value::Text;

/// How many managers with the operation `Update` an object keeps.
pub const MAX_UPDATERS: usize = 10;

/// The name of the manager into which the oldest updaters are merged.
const ANCIENT_CHANGES: &str = "ancient-changes";

/// Merges the oldest updaters until the limit is met or no two of one version are left.
pub(super) fn merge_oldest_updaters(managers: &mut Managers) {
    let is_updater = |manager: &Manager| manager.operation == Operation::Update;
    let mut count = managers.iter().filter(|manager| is_updater(manager)).count();
    if count <= MAX_UPDATERS {
        return;
    }
    let (mut updaters, appliers): (Vec<Manager>, Vec<Manager>) =
        managers.iter().cloned().partition(is_updater);
    updaters.sort_by(|a, b| {
        let time = |manager: &Manager| manager.time.map_or(0, |time| time.unix());
        time(a)
            .cmp(&time(b))
            .then_with(|| a.name.cmp(&b.name))
            .then_with(|| a.api_version.cmp(&b.api_version))
            .then_with(|| a.subresource.cmp(&b.subresource))
    });
    // The merged manager of a version is where an earlier merge left it, else in the place of the oldest.
    let is_merged = |manager: &Manager| manager.name == ANCIENT_CHANGES && manager.subresource.is_empty();
    let existing = updaters.iter().enumerate().filter(|(_, manager)| is_merged(manager));
    let mut merged_at: HashMap<Text, usize> =
        existing.map(|(at, manager)| (manager.api_version.clone(), at)).collect();
    let mut oldest: HashMap<Text, usize> = HashMap::new();
    let mut parts: HashMap<usize, Vec<FieldSet>> = HashMap::new();
    let mut gone = vec![false; updaters.len()];
    for at in 0..updaters.len() {
        if count <= MAX_UPDATERS {
            break;
        }
        let (version, time) = (updaters[at].api_version.clone(), updaters[at].time);
        let Some(first) = oldest.get(&version).copied() else {
            oldest.insert(version, at);
            continue;
        };
        let into = *merged_at.entry(version.clone()).or_insert(first);
        let fields = updaters[at].fields.clone();
        gone[at] = at != into;
        let own = updaters[into].fields.clone();
        parts.entry(into).or_insert_with(|| vec![own]).push(fields);
        // The time of what is merged last; an entry that is still to come keeps its own until then.
        if into <= at {
            updaters[into].time = time;
        }
        updaters[into].name = Text::new_static(ANCIENT_CHANGES);
        updaters[into].subresource = Text::default();
        count -= 1;
    }
    for (into, sets) in parts {
        updaters[into].fields = union(sets);
    }
    let kept = updaters.into_iter().zip(gone).filter(|(_, gone)| !gone).map(|(manager, _)| manager);
    *managers = appliers.into_iter().chain(kept).collect();
}

/// Unites sets pairwise, so that none is copied more than a logarithmic number of times.
fn union(mut sets: Vec<FieldSet>) -> FieldSet {
    while sets.len() > 1 {
        sets =
            sets.chunks(2).map(|pair| pair.iter().skip(1).fold(pair[0].clone(), |a, b| a.union(b))).collect();
    }
    sets.pop().unwrap_or_default()
}
