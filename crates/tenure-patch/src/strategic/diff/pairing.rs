//! Pairing the entries of the modified list with those of the original and the live list.

use super::{
    entry_keys::{EntryKeys, entry_map},
    key_text,
};
use crate::{
    PatchError,
    strategic::{key_index::KeyIndex, merge_keys::MergeKeys},
};
use std::{
    cmp::Ordering,
    collections::{HashMap, VecDeque},
};
use tenure_value::{Object, Value};

/// The lists that are compared; in a two-way patch the original is the live one.
#[derive(Clone, Copy)]
pub(super) struct Lists<'v> {
    pub(super) modified: &'v [Value],
    pub(super) original: &'v [Value],
    pub(super) live: &'v [Value],
    pub(super) two_way: bool,
}

/// Where the entries of the modified list are in the two others.
pub(super) enum Pairing {
    /// In the same positions; no entry was added or removed.
    Aligned,
    /// In these positions.
    Found {
        matches: Vec<Match>,
        /// The entries to delete, by their positions in the original list and in the live one.
        gone: Vec<(usize, Option<usize>)>,
    },
}

#[derive(Clone, Copy, Default)]
pub(super) struct Match {
    pub(super) original: Option<usize>,
    pub(super) live: Option<usize>,
}

/// One of the lists that are compared.
struct Side<'v> {
    index: KeyIndex<'v>,
    taken: Vec<bool>,
}

impl<'v> Lists<'v> {
    pub(super) fn live_entry(self, found: Match) -> Option<&'v Object> {
        found.live.and_then(|at| self.live.get(at)).and_then(Value::as_object)
    }

    pub(super) fn original_entry(self, found: Match) -> Option<&'v Object> {
        found.original.and_then(|at| self.original.get(at)).and_then(Value::as_object)
    }

    /// Whether all lists have the same keys in the same positions, as they mostly have.
    pub(super) fn are_aligned(self, keys: &MergeKeys<'_>) -> bool {
        let same = |entry: &Value, other: &Value| {
            let (Value::Object(entry), Value::Object(other)) = (entry, other) else { return false };
            keys.names().enumerate().all(|(at, name)| match (entry.get(name), other.get(name)) {
                (Some(Value::Null), _) => false,
                (Some(key), Some(other)) => key.is_scalar() && key == other,
                (None, None) => at > 0,
                _ => false,
            })
        };
        let alike = |list: &[Value]| {
            list.len() == self.modified.len()
                && self.modified.iter().zip(list).all(|(entry, other)| same(entry, other))
        };
        alike(self.live) && (self.two_way || alike(self.original))
    }

    /// Finds every entry of the modified list in the two others; `None` if an entry is matched twice.
    pub(super) fn pair(self, keys: &EntryKeys<'_>) -> Result<Option<Pairing>, PatchError> {
        let original = if self.two_way { &[] } else { self.original };
        let texts = keys.texts([self.modified, original, self.live])?;
        let mut texts = texts.iter();
        let modified = Side::read(self.modified, self.modified, keys, texts.next())?;
        let mut original = Side::read(original, self.modified, keys, texts.next())?;
        let mut live = Side::read(self.live, self.modified, keys, texts.next())?;
        let mut matches = Vec::with_capacity(self.modified.len());
        for at in 0..self.modified.len() {
            let (Some(in_live), Some(in_original)) =
                (live.take(&modified.index, at), original.take(&modified.index, at))
            else {
                return Ok(None);
            };
            let in_original = if self.two_way { in_live } else { in_original };
            if in_live.is_none() && in_original.is_none() && modified.index.first_like(at) != at {
                return Ok(None);
            }
            matches.push(Match { original: in_original, live: in_live });
        }
        let shares = |side: &Side<'_>, at: &usize| modified.index.find_like(&side.index, *at, *at).is_some();
        if live.left().any(|at| shares(&live, &at)) || original.left().any(|at| shares(&original, &at)) {
            return Ok(None);
        }
        let side = if self.two_way { &live } else { &original };
        let in_live = |at: usize| live.index.find_like(&side.index, at, at);
        let mut gone: Vec<(usize, Option<usize>)> = side.left().map(|at| (at, in_live(at))).collect();
        gone.sort_by(|left, right| compare_keys(side.index.keys(left.0), side.index.keys(right.0)));
        Ok(Some(Pairing::Found { matches, gone }))
    }
}

impl Pairing {
    /// Returns where an entry of the modified list is in the others.
    pub(super) fn of(&self, at: usize) -> Match {
        match self {
            Pairing::Aligned => Match { original: Some(at), live: Some(at) },
            Pairing::Found { matches, .. } => matches.get(at).copied().unwrap_or_default(),
        }
    }

    /// Whether the order of the live list differs from that of the modified one.
    pub(super) fn moves(&self, lists: Lists<'_>) -> bool {
        match self {
            Pairing::Aligned => false,
            Pairing::Found { matches, .. } => {
                lists.live.len() != matches.len()
                    || matches.iter().enumerate().any(|(at, found)| found.live != Some(at))
            }
        }
    }
}

impl<'v> Side<'v> {
    fn read<'s: 'v>(
        list: &'v [Value],
        modified: &[Value],
        keys: &EntryKeys<'s>,
        texts: Option<&'v Vec<Value>>,
    ) -> Result<Side<'v>, PatchError> {
        let mut index = KeyIndex::new(keys.keys.len(), list.len(), keys.numbers());
        for (at, entry) in list.iter().enumerate() {
            let entry = entry_map(entry, list, modified)?;
            match texts {
                Some(texts) => index.keys_mut().push(texts.get(at)),
                None => keys.read(entry, at, index.keys_mut())?,
            }
            index.seal();
        }
        Ok(Side { index, taken: Vec::new() })
    }

    /// Returns the entries that were not taken.
    fn left(&self) -> impl Iterator<Item = usize> {
        (0..self.index.len()).filter(|at| !self.taken.get(*at).copied().unwrap_or_default())
    }

    /// Takes the entry with the keys of an entry of another list, if there is one; `None` if it was taken before.
    fn take(&mut self, wanted: &KeyIndex<'_>, number: usize) -> Option<Option<usize>> {
        let found = self.index.find_like(wanted, number, number);
        if let Some(at) = found {
            self.taken.resize(self.index.len(), false);
            if std::mem::replace(&mut self.taken[at], true) {
                return None;
            }
        }
        Some(found)
    }
}

fn compare_keys(left: &[Option<&Value>], right: &[Option<&Value>]) -> Ordering {
    let compare = |(left, right): (&Option<&Value>, &Option<&Value>)| match (left, right) {
        (Some(left), Some(right)) => key_text::compare(left, right),
        (left, right) => left.is_some().cmp(&right.is_some()),
    };
    left.iter().zip(right).map(compare).find(|order| order.is_ne()).unwrap_or(Ordering::Equal)
}

/// The entries of three lists in which several entries may have equal keys. Equal entries are paired first, then the
/// others with equal keys, in order.
pub(super) struct RepeatedPairing<'v> {
    pub(super) original: Vec<RepeatedEntry<'v>>,
    pub(super) modified: Vec<RepeatedEntry<'v>>,
    pub(super) live: Vec<RepeatedEntry<'v>>,
}

/// An entry and its partners in the other lists.
pub(super) struct RepeatedEntry<'v> {
    pub(super) map: &'v Object,
    /// The number of its keys among all keys.
    group: usize,
    pub(super) original: Option<usize>,
    pub(super) modified: Option<usize>,
    pub(super) live: Option<usize>,
}

impl<'v> RepeatedPairing<'v> {
    pub(super) fn new(
        [original, modified, live]: [&'v [Value]; 3],
        keys: &MergeKeys<'_>,
    ) -> RepeatedPairing<'v> {
        let mut groups: HashMap<Vec<Option<&'v Value>>, usize> = HashMap::new();
        let mut number = |list: &'v [Value]| -> Vec<RepeatedEntry<'v>> {
            let maps = list.iter().filter_map(Value::as_object);
            let entry = |map: &'v Object| {
                let next = groups.len();
                let group = *groups.entry(keys.names().map(|name| map.get(name)).collect()).or_insert(next);
                RepeatedEntry { map, group, original: None, modified: None, live: None }
            };
            maps.map(entry).collect()
        };
        let (mut original, mut live, mut modified) = (number(original), number(live), number(modified));
        for (at, other) in partners(&original, &live) {
            (original[at].live, live[other].original) = (Some(other), Some(at));
        }
        for (at, other) in partners(&modified, &original) {
            (modified[at].original, original[other].modified) = (Some(other), Some(at));
        }
        // The live entry of an entry is that of its original, or one that others added.
        let mut added: HashMap<usize, VecDeque<usize>> = HashMap::new();
        for (at, entry) in live.iter().enumerate().filter(|(_, entry)| entry.original.is_none()) {
            added.entry(entry.group).or_default().push_back(at);
        }
        for (at, entry) in modified.iter_mut().enumerate() {
            entry.live = match entry.original {
                Some(other) => original[other].live,
                None => added.get_mut(&entry.group).and_then(VecDeque::pop_front),
            };
            if let Some(other) = entry.live {
                live[other].modified = Some(at);
            }
        }
        RepeatedPairing { original, modified, live }
    }
}

/// Pairs the entries of two lists: equal ones first, then those with equal keys, in order.
fn partners(left: &[RepeatedEntry<'_>], right: &[RepeatedEntry<'_>]) -> Vec<(usize, usize)> {
    let mut pairs = Vec::new();
    let mut taken = vec![false; right.len()];
    let mut equal: HashMap<&Object, VecDeque<usize>> = HashMap::new();
    for (other, entry) in right.iter().enumerate() {
        equal.entry(entry.map).or_default().push_back(other);
    }
    let mut unpaired = Vec::new();
    for (at, entry) in left.iter().enumerate() {
        match equal.get_mut(entry.map).and_then(VecDeque::pop_front) {
            Some(other) => {
                taken[other] = true;
                pairs.push((at, other));
            }
            None => unpaired.push(at),
        }
    }
    let mut rest: HashMap<usize, VecDeque<usize>> = HashMap::new();
    for (other, entry) in right.iter().enumerate().filter(|(other, _)| !taken[*other]) {
        rest.entry(entry.group).or_default().push_back(other);
    }
    for at in unpaired {
        pairs.extend(rest.get_mut(&left[at].group).and_then(VecDeque::pop_front).map(|other| (at, other)));
    }
    pairs
}
