//! Lists in which several entries have equal keys, as Kubernetes patches them: both lists are sorted by key, those with
//! equal keys in reverse, and walked in step. Entries are thus paired by their position among those with equal keys, and
//! a deletion by key deletes all of them.

use super::{Calculator, ListPatch, Sides};
use crate::{
    ErrorKind, PatchError,
    strategic::{
        diff::{entry_keys::EntryKeys, key_text, pairing::Lists},
        directive::PATCH,
        key_index::InOrder,
        patch_meta::{self, PatchMeta},
    },
};
use std::{cmp::Ordering, collections::HashMap};
use tenure_value::{Array, Object, Text, Value};

/// What happens to an entry between two lists.
enum Step<'v> {
    Kept(&'v Object, &'v Object),
    Added(&'v Object),
    Deleted(&'v Object),
}

impl Calculator<'_> {
    pub(super) fn recorded_list(
        &mut self,
        lists: Lists<'_>,
        new: bool,
        keys: &EntryKeys<'_>,
        meta: PatchMeta<'_>,
    ) -> Result<ListPatch, PatchError> {
        let removals = self.removals;
        let items = match self.two_way {
            true => self.walked(lists.live, lists.modified, keys, meta, Walk::All)?,
            false => {
                let changes = self.walked(lists.live, lists.modified, keys, meta, Walk::Changes)?;
                check_order(&changes, lists.modified, keys)?;
                let deletions = self.walked(lists.original, lists.modified, keys, meta, Walk::Deletions)?;
                merge_patches(deletions, changes, lists.modified, keys)
            }
        };
        let key = |entry: &Value| entry.as_object().map(|entry| keys.keys.of(entry));
        let moved = lists.live.len() != lists.modified.len()
            || lists.live.iter().zip(lists.modified).any(|(live, modified)| key(live) != key(modified));
        let mut patch = ListPatch { new, items, ..ListPatch::default() };
        if self.removals > removals || !lists.live.is_empty() && (!patch.items.is_empty() || moved) {
            patch.order.extend(lists.modified.iter().filter_map(key).map(Value::Object));
        }
        Ok(patch)
    }

    /// Returns the entries that lead from one list to another.
    fn walked(
        &mut self,
        from: &[Value],
        to: &[Value],
        keys: &EntryKeys<'_>,
        meta: PatchMeta<'_>,
        walk: Walk,
    ) -> Result<Vec<Value>, PatchError> {
        let item = patch_meta::item_type(meta.ty);
        let (mut items, mut deletions) = (Vec::new(), Vec::new());
        for step in steps(from, to, keys.keys.name(0)) {
            match step {
                Step::Kept(from, to) => {
                    let sides = match walk {
                        Walk::All => Sides { original: Some(from), live: Some(from) },
                        Walk::Changes => Sides { original: None, live: Some(from) },
                        Walk::Deletions => Sides { original: Some(from), live: Some(to) },
                    };
                    let begun = self.object(sides, to, item, meta.retains_keys())?;
                    items.extend(self.finish_with(begun, keys.identity(to)).map(Value::Object));
                }
                Step::Added(to) if walk != Walk::Deletions => items.push(to.clone().into()),
                Step::Deleted(from) if walk != Walk::Changes => {
                    self.removals += 1;
                    deletions.push(keys.deletion(from));
                }
                Step::Added(_) | Step::Deleted(_) => {}
            }
        }
        let ranks = positions(to, keys);
        let rank = |item: &Value| {
            let key = item.as_object().map(|entry| keys.keys.of(entry));
            key.and_then(|key| ranks.get(&key).copied()).unwrap_or(u32::MAX)
        };
        items.sort_by_key(rank);
        items.extend(deletions);
        Ok(items)
    }
}

/// Which steps go into a patch.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Walk {
    All,
    Changes,
    Deletions,
}

/// Returns the steps from one list to another, by key.
fn steps<'v>(from: &'v [Value], to: &'v [Value], key: &str) -> Vec<Step<'v>> {
    let sorted = |list: &'v [Value]| {
        let maps = list.iter().rev().filter_map(Value::as_object);
        let mut entries: Vec<(&'v Object, &'v Value)> =
            maps.filter_map(|entry| Some((entry, entry.get(key)?))).collect();
        entries.sort_by(|left, right| key_text::compare(left.1, right.1));
        entries
    };
    let (from, to) = (sorted(from), sorted(to));
    let (mut at_from, mut at_to) = (0, 0);
    let mut steps = Vec::new();
    loop {
        let order = match (from.get(at_from), to.get(at_to)) {
            (Some(from), Some(to)) => key_text::compare(from.1, to.1),
            (Some(_), None) => Ordering::Less,
            (None, Some(_)) => Ordering::Greater,
            (None, None) => return steps,
        };
        steps.push(match order {
            Ordering::Equal => Step::Kept(from[at_from].0, to[at_to].0),
            Ordering::Less => Step::Deleted(from[at_from].0),
            Ordering::Greater => Step::Added(to[at_to].0),
        });
        at_from += usize::from(order.is_le());
        at_to += usize::from(order.is_ge());
    }
}

/// Checks that the changed entries are in the order of the modified list. As recorded, equal keys can fail here: the
/// changed ones are sorted together.
fn check_order(changes: &[Value], modified: &[Value], keys: &EntryKeys<'_>) -> Result<(), PatchError> {
    let order = keys.index(modified, modified)?;
    let changed = keys.index(changes, changes)?;
    let mut search = InOrder::new(&order);
    match (0..changed.len()).find(|at| !search.advance(changed.keys(*at))) {
        None => Ok(()),
        Some(at) => Err(ErrorKind::OrderMismatch {
            patch: Array::from(changes.to_vec()),
            order: modified
                .iter()
                .filter_map(|entry| Some(keys.keys.of(entry.as_object()?).into()))
                .collect(),
            entry: changes[at].clone(),
        }
        .into()),
    }
}

/// Returns the first position of each key.
fn positions(list: &[Value], keys: &EntryKeys<'_>) -> HashMap<Object, u32> {
    let mut positions = HashMap::with_capacity(list.len());
    for (at, entry) in list.iter().enumerate() {
        if let Value::Object(entry) = entry {
            positions.entry(keys.keys.of(entry)).or_insert(at as u32);
        }
    }
    positions
}

/// Merges the entries of two patches of one list, of which the second wins, in the order of the modified list.
fn merge_patches(
    deletions: Vec<Value>,
    changes: Vec<Value>,
    modified: &[Value],
    keys: &EntryKeys<'_>,
) -> Vec<Value> {
    let places = positions(&deletions, keys);
    let mut merged = deletions;
    let mut joined: HashMap<Object, usize> = HashMap::new();
    for change in changes {
        let Value::Object(change) = change else { continue };
        let key = keys.keys.of(&change);
        let target = places.get(&key).map(|at| *at as usize).or_else(|| joined.get(&key).copied());
        match target {
            Some(at) => {
                if let Value::Object(entry) = &merged[at] {
                    merged[at] = merge_fields(entry, &change).into();
                }
            }
            None => {
                joined.insert(key, merged.len());
                merged.push(change.into());
            }
        }
    }
    let ranks = positions(modified, keys);
    merged.sort_by_key(|entry| {
        let key = entry.as_object().filter(|entry| !entry.contains(PATCH)).map(|entry| keys.keys.of(entry));
        key.and_then(|key| ranks.get(&key).copied()).unwrap_or(u32::MAX)
    });
    merged
}

/// Merges the fields of two patches of one map, of which the second wins.
fn merge_fields(first: &Object, second: &Object) -> Object {
    let mut fields: Vec<(Text, Value)> = first.fields().to_vec();
    for (name, value) in second {
        let value = match (first.get(name), value) {
            (Some(Value::Object(first)), Value::Object(second)) => merge_fields(first, second).into(),
            _ => value.clone(),
        };
        fields.push((name.clone(), value));
    }
    Object::from_unsorted(fields)
}
