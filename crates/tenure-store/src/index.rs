//! The sorted map of keys, each with its current entry and the older versions that the kept history still shows.
//! Pure data: [`shared_state`](crate::shared_state) decides when it changes.

use crate::{CowMap, Entry, Revision, StoredValue, entry::Commit, value::Bases};
use bytes::Bytes;
use std::collections::VecDeque;
use std::ops::Bound;

/// Most keys have fewer versions than this that are kept. Up to then there is no space for more than there are.
const FEW: usize = 8;

/// The state of a key from one revision on; no entry means that it was deleted.
#[derive(Clone, Debug)]
struct Version {
    since: Revision,
    entry: Option<Entry>,
}

/// All kept versions of a key, oldest first in `older`.
#[derive(Clone, Debug)]
struct Record {
    newest: Version,
    older: VecDeque<Version>,
}

impl Record {
    fn at(&self, revision: Revision) -> Option<&Entry> {
        if self.newest.since <= revision {
            return self.newest.entry.as_ref();
        }
        let known = self.older.partition_point(|version| version.since <= revision);
        self.older.get(known.checked_sub(1)?)?.entry.as_ref()
    }
}

/// Returns the first key after all that have a prefix, if there is one.
pub(crate) fn successor(prefix: &[u8]) -> Option<Vec<u8>> {
    let raised = prefix.iter().rposition(|byte| *byte < u8::MAX)?;
    let mut successor = prefix[..=raised].to_vec();
    successor[raised] += 1;
    Some(successor)
}

/// The keys and their versions.
#[derive(Clone, Debug, Default)]
pub(crate) struct Index {
    records: CowMap<Bytes, Record>,
    /// The keys of the records without a current entry.
    deleted: CowMap<Bytes, ()>,
    bases: Bases,
}

impl Index {
    /// Returns the current entry under a key.
    pub(crate) fn get(&self, key: &[u8]) -> Option<&Entry> {
        self.records.get(key)?.newest.entry.as_ref()
    }

    /// Iterates over the entries under a prefix from a key on, as they were at a revision.
    pub(crate) fn range<'a>(
        &'a self,
        prefix: &'a [u8],
        from: &[u8],
        at: Revision,
    ) -> impl Iterator<Item = &'a Entry> {
        let start = from.max(prefix);
        let end = successor(prefix).map(Bytes::from);
        self.records.range(Bound::Included(start), end).filter_map(move |(_, record)| record.at(at))
    }

    /// Returns the number of current entries under a prefix from a key on, without visiting them.
    pub(crate) fn count(&self, prefix: &[u8], from: &[u8]) -> usize {
        let (start, end) = (from.max(prefix), successor(prefix));
        let records = end.as_deref().map_or(self.records.len(), |end| self.records.rank(end));
        let deleted = end.as_deref().map_or(self.deleted.len(), |end| self.deleted.rank(end));
        let records = records.saturating_sub(self.records.rank(start));
        records - deleted.saturating_sub(self.deleted.rank(start))
    }

    /// Notes whether the record of a key has a current entry.
    fn note(&mut self, key: &Bytes, is_deleted: bool) {
        if is_deleted {
            self.deleted.insert(key.clone(), ());
        } else {
            self.deleted.remove(key);
        }
    }

    /// Packs a value, if that is worthwhile.
    pub(crate) fn pack(&self, key: &[u8], value: &mut StoredValue) {
        self.bases.pack(key, value);
    }

    /// Puts an entry without history, as recovery does for entries from before the kept history.
    pub(crate) fn insert(&mut self, mut entry: Entry) {
        self.pack(&entry.key, &mut entry.value);
        let version = Version { since: entry.modified, entry: Some(entry.clone()) };
        self.note(&entry.key, false);
        self.records.insert(entry.key, Record { newest: version, older: VecDeque::new() });
    }

    /// Applies a commit and keeps the versions that it replaces.
    pub(crate) fn apply(&mut self, commit: &Commit) {
        for change in &commit.changes {
            let version = Version { since: commit.revision, entry: change.current.clone() };
            let (mut was_deleted, is_deleted) = (false, version.entry.is_none());
            match self.records.get_mut(&change.key) {
                Some(record) => {
                    was_deleted = record.newest.entry.is_none();
                    if record.older.len() < FEW {
                        // Most keys change rarely: no space for more.
                        record.older.reserve_exact(1);
                    }
                    record.older.push_back(std::mem::replace(&mut record.newest, version));
                }
                None => {
                    let record = Record { newest: version, older: VecDeque::new() };
                    self.records.insert(change.key.clone(), record);
                }
            }
            if was_deleted != is_deleted {
                self.note(&change.key, is_deleted);
            }
        }
    }

    /// Packs the versions before and after a kept commit, and returns the commit with the packed values. All that is kept of a key
    /// shares its newest copy.
    pub(crate) fn pack_commit(&mut self, commit: &Commit) -> Commit {
        let (mut changes, mut records) = (commit.changes.clone(), commit.records.clone());
        for change in &mut changes {
            let Some(record) = self.records.get_mut(&change.key) else { continue };
            if let Some(newest) = &record.newest.entry {
                change.key = newest.key.clone();
            }
            let after = record.older.partition_point(|version| version.since < commit.revision);
            let before = after.checked_sub(1).and_then(|before| record.older.get_mut(before));
            pack_both(&self.bases, &change.key, before, &mut change.previous);
            let after = record.older.get_mut(after).unwrap_or(&mut record.newest);
            pack_both(&self.bases, &change.key, Some(after), &mut change.current);
        }
        for (key, _) in &mut records {
            if let Ok(at) = changes.binary_search_by(|change| change.key.cmp(key)) {
                *key = changes[at].key.clone();
            }
        }
        Commit { changes, records, ..*commit }
    }

    /// Reverts the newest commit: every key gets the version back that the commit replaced.
    pub(crate) fn revert(&mut self, commit: &Commit) {
        for change in &commit.changes {
            let Some(record) = self.records.get_mut(&change.key) else { continue };
            let is_deleted = match record.older.pop_back() {
                Some(before) => {
                    record.newest = before;
                    record.newest.entry.is_none()
                }
                None => {
                    self.records.remove(&change.key);
                    false
                }
            };
            self.note(&change.key, is_deleted);
        }
    }

    /// Drops the versions that only revisions before this commit show. Commits are forgotten oldest first.
    pub(crate) fn forget(&mut self, commit: &Commit) {
        for change in &commit.changes {
            let Some(record) = self.records.get_mut(&change.key) else { continue };
            let gone = record.older.partition_point(|version| version.since < commit.revision);
            record.older.drain(..gone);
            if record.older.is_empty() {
                // Most keys never change again; free the memory that their last change took.
                record.older.shrink_to_fit();
                match &mut record.newest.entry {
                    Some(entry) => self.bases.pack(&change.key, &mut entry.value),
                    None => {
                        self.records.remove(&change.key);
                        self.note(&change.key, false);
                    }
                }
            }
        }
    }
}

/// Packs the value of a version, and lets a copy of its entry share the memory.
fn pack_both(bases: &Bases, key: &Bytes, version: Option<&mut Version>, copy: &mut Option<Entry>) {
    if let Some(Version { entry: Some(entry), .. }) = version
        && let Some(copy) = copy
    {
        bases.pack_well(key, &mut entry.value);
        entry.key = key.clone();
        *copy = entry.clone();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_successor_is_the_first_key_without_the_prefix() {
        let cases: [(&[u8], Option<&[u8]>); 6] = [
            (b"", None),
            (b"a", Some(b"b")),
            (b"a/", Some(b"a0")),
            (b"a\xff", Some(b"b")),
            (b"\xff\xff", None),
            (b"a\xfe\xff", Some(b"a\xff")),
        ];
        for (prefix, expected) in cases {
            assert_eq!(successor(prefix).as_deref(), expected, "{}", prefix.escape_ascii());
        }
    }

    #[test]
    fn a_page_that_begins_after_its_prefix_is_empty() {
        let mut index = Index::default();
        for key in ["a/1", "b/1", "c/1"] {
            let (key, revision) = (Bytes::from_static(key.as_bytes()), Revision::from_number(1));
            index.insert(Entry { key, value: Bytes::new().into(), created: revision, modified: revision });
        }
        let count = |prefix: &[u8], from: &[u8]| index.range(prefix, from, Revision::from_number(1)).count();
        assert_eq!([count(b"b/", b"a/1"), count(b"b/", b"b/1"), count(b"b/", b"b/2")], [1, 1, 0]);
        assert_eq!([count(b"b/", b"c/1"), count(b"", b"b/1"), count(b"", b"")], [0, 2, 3]);
        assert_eq!(index.range(b"", b"", Revision::ZERO).count(), 0);
    }
}
