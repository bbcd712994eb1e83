//! Lists in which several entries share their keys. No patch by key can say which of them is meant, and a
//! deletion would take them all; so the list is written whole, as it should be, and replaces the live one.
//! What others added to the live list is part of it.

use super::{
    entries::{EntryKeys, replacement},
    fields::{ListPatch, Sides, Walk},
};
use crate::{
    PatchError,
    strategic::{
        LiveOnly, Options, apply,
        order::{NONE, Standing, arrange},
        plan::{self, Position},
    },
};
use tenure_value::{Array, Object, Value};

/// An entry of one of the lists: the group of entries with its keys, and its partners.
struct Entry<'v> {
    map: &'v Object,
    group: usize,
    original: Option<usize>,
    live: Option<usize>,
    modified: Option<usize>,
}

impl Walk<'_> {
    pub(super) fn repeated(
        &mut self,
        sides: Sides<'_, Array>,
        modified: &Array,
        keys: &EntryKeys<'_>,
        position: Position<'_>,
    ) -> Result<ListPatch, PatchError> {
        let whole = || modified.to_vec();
        let Some(live) = sides.live else {
            return Ok(ListPatch { items: whole(), new: true, ..ListPatch::default() });
        };
        let wanted = if sides.same() { whole() } else { self.united(sides, modified, keys, position)? };
        if live.items() == wanted {
            return Ok(ListPatch::default());
        }
        self.removals += 1;
        Ok(replacement(wanted))
    }

    /// Returns the live list as the manifest would have it.
    fn united(
        &mut self,
        sides: Sides<'_, Array>,
        modified: &Array,
        keys: &EntryKeys<'_>,
        position: Position<'_>,
    ) -> Result<Vec<Value>, PatchError> {
        let maps = |list: Option<&'_ Array>| -> Vec<Object> {
            list.into_iter().flatten().filter_map(Value::as_object).cloned().collect()
        };
        let (original, live) = (maps(sides.original), maps(sides.live));
        let mut groups: Vec<Object> = Vec::new();
        let mut original = number(original.iter(), keys, &mut groups);
        let mut live = number(live.iter(), keys, &mut groups);
        let mut modified = number(modified.iter().filter_map(Value::as_object), keys, &mut groups);
        for group in 0..groups.len() {
            pair(&mut original, &mut live, group, |original, live| (&mut original.live, &mut live.original));
            pair(&mut modified, &mut original, group, |modified, original| {
                (&mut modified.original, &mut original.modified)
            });
        }
        follow(&mut modified, &original, &mut live);
        let item = plan::item(position.ty);
        let retain = plan::retains(position.marks);
        let mut entries: Vec<(Value, Standing)> = Vec::new();
        for entry in &live {
            let survives = entry.modified.is_some() || entry.original.is_none();
            if !survives {
                continue;
            }
            let place = entries.len() as u32;
            let mut value = Value::Object(entry.map.clone());
            if let Some(rank) = entry.modified {
                let manifest = &modified[rank];
                let last = manifest.original.map(|at| original[at].map);
                let below = Sides { original: last, live: Some(entry.map) };
                let begun = self.object(below, manifest.map, item, retain)?;
                if let Some(patch) = self.finish(begun) {
                    value = apply(&value, &patch.into(), item, &Options::default())?;
                }
            }
            entries.push((value, Standing { rank: entry.modified.map_or(NONE, |rank| rank as u32), place }));
        }
        for (rank, entry) in modified.iter().enumerate().filter(|(_, entry)| entry.live.is_none()) {
            entries.push((entry.map.clone().into(), Standing { rank: rank as u32, place: NONE }));
        }
        let order = arrange(entries.iter().map(|(_, standing)| Some(*standing)), LiveOnly::InPlace);
        Ok(order.into_iter().map(|at| entries[at as usize].0.clone()).collect())
    }
}

/// Numbers the groups of entries that share their keys.
fn number<'v>(
    entries: impl Iterator<Item = &'v Object>,
    keys: &EntryKeys<'_>,
    groups: &mut Vec<Object>,
) -> Vec<Entry<'v>> {
    entries
        .map(|map| {
            let identity = keys.keys.of(map);
            let group = groups.iter().position(|known| *known == identity).unwrap_or_else(|| {
                groups.push(identity);
                groups.len() - 1
            });
            Entry { map, group, original: None, live: None, modified: None }
        })
        .collect()
}

/// Pairs the entries of one group in two lists: equal ones first, the others in their order.
fn pair<'v>(
    left: &mut [Entry<'v>],
    right: &mut [Entry<'v>],
    group: usize,
    partners: impl for<'e> Fn(
        &'e mut Entry<'v>,
        &'e mut Entry<'v>,
    ) -> (&'e mut Option<usize>, &'e mut Option<usize>),
) {
    for equal in [true, false] {
        for at in (0..left.len()).filter(|at| left[*at].group == group).collect::<Vec<_>>() {
            for other in (0..right.len()).filter(|other| right[*other].group == group).collect::<Vec<_>>() {
                let fits = !equal || left[at].map == right[other].map;
                let (mine, theirs) = partners(&mut left[at], &mut right[other]);
                if fits && mine.is_none() && theirs.is_none() {
                    (*mine, *theirs) = (Some(other), Some(at));
                }
            }
        }
    }
}

/// Finds the live entry of each entry of the manifest: that of its original, or one that others added.
fn follow(modified: &mut [Entry<'_>], original: &[Entry<'_>], live: &mut [Entry<'_>]) {
    for (rank, manifest) in modified.iter_mut().enumerate() {
        let is_added = |entry: &Entry<'_>| {
            entry.group == manifest.group && entry.original.is_none() && entry.modified.is_none()
        };
        manifest.live = match manifest.original {
            Some(last) => original[last].live,
            None => live.iter().position(is_added),
        };
        if let Some(at) = manifest.live {
            live[at].modified = Some(rank);
        }
    }
}
