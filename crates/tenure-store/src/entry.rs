//! Entries, and the changes of a transaction. Both are shared, never copied: the bytes of a value exist once in memory,
//! regardless of how many readers, watchers and kept revisions refer to them.

use crate::{Revision, StoredValue};
use bytes::Bytes;
use std::ops::Range;
use std::sync::{Arc, Weak};

/// A value under its key, with the revisions that created it and last changed it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// The key.
    pub key: Bytes,
    /// The value.
    pub value: StoredValue,
    /// The revision that created the entry; a put after a deletion creates a new one.
    pub created: Revision,
    /// The revision of the last put.
    pub modified: Revision,
}

/// The change of one key by one transaction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeyChange {
    /// The key.
    pub key: Bytes,
    /// The entry before; `None` if the change created it.
    pub previous: Option<Entry>,
    /// The entry after; `None` if the change deleted it.
    pub current: Option<Entry>,
}

/// All changes of one transaction, sorted by key, and the records that it left in the ledger.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Commit {
    pub(crate) revision: Revision,
    /// Milliseconds since 1970, for compaction by age.
    pub(crate) written_at: u64,
    pub(crate) changes: Box<[KeyChange]>,
    /// The keys and their ledger records.
    pub(crate) records: Box<[(Bytes, Bytes)]>,
}

impl Commit {
    /// Returns the range of the changes under a prefix.
    pub(crate) fn under(&self, prefix: &[u8]) -> Range<usize> {
        let start = self.changes.partition_point(|change| &change.key[..] < prefix);
        let length = self.changes[start..].partition_point(|change| change.key.starts_with(prefix));
        start..start + length
    }

    /// Returns roughly how many bytes keeping this commit costs, beyond the current values.
    pub(crate) fn weight(&self) -> usize {
        let replaced = |change: &KeyChange| change.previous.as_ref().map_or(0, |entry| entry.value.len());
        self.changes.iter().map(|change| 256 + change.key.len() + replaced(change)).sum()
    }
}

/// The changes of one transaction under a watched prefix, in the order of the keys; never empty.
///
/// A transaction is delivered whole: a watcher may stop after any of these and resume after its
/// [`revision`](Changes::revision) without missing or repeating anything.
#[derive(Clone, Debug)]
pub struct Changes {
    commit: Arc<Commit>,
    part: Range<usize>,
}

impl Changes {
    /// Creates changes, for other implementations of the store. Sorts them by key.
    pub fn new(revision: Revision, mut changes: Vec<KeyChange>) -> Changes {
        changes.sort_by(|a, b| a.key.cmp(&b.key));
        let part = 0..changes.len();
        Changes { commit: Arc::new(Commit { revision, changes: changes.into(), ..Commit::default() }), part }
    }

    /// Returns the changes of a commit under a prefix, if there are any.
    pub(crate) fn of(commit: &Arc<Commit>, prefix: &[u8]) -> Option<Changes> {
        let part = commit.under(prefix);
        (!part.is_empty()).then(|| Changes { commit: commit.clone(), part })
    }

    /// Returns the revision of the transaction.
    pub fn revision(&self) -> Revision {
        self.commit.revision
    }

    /// Iterates over the ledger records that the transaction left about the changed keys.
    pub fn records(&self) -> impl Iterator<Item = (&Bytes, &Bytes)> {
        let changed = |key: &Bytes| self.iter().any(|change| change.key == *key);
        self.commit.records.iter().filter(move |(key, _)| changed(key)).map(|(key, record)| (key, record))
    }

    /// Returns a reference that does not keep the changes in memory.
    pub fn downgrade(&self) -> WeakChanges {
        WeakChanges { commit: Arc::downgrade(&self.commit), part: self.part.clone() }
    }

    /// Iterates over the changes.
    pub fn iter(&self) -> std::slice::Iter<'_, KeyChange> {
        self.commit.changes[self.part.clone()].iter()
    }
}

/// Changes that exist as long as the history has them.
#[derive(Clone, Debug)]
pub struct WeakChanges {
    commit: Weak<Commit>,
    part: Range<usize>,
}

impl WeakChanges {
    /// Returns the changes, unless the history has been compacted past them.
    pub fn upgrade(&self) -> Option<Changes> {
        Some(Changes { commit: self.commit.upgrade()?, part: self.part.clone() })
    }
}

impl<'a> IntoIterator for &'a Changes {
    type Item = &'a KeyChange;
    type IntoIter = std::slice::Iter<'a, KeyChange>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

impl PartialEq for Changes {
    fn eq(&self, other: &Changes) -> bool {
        self.revision() == other.revision() && self.iter().eq(other.iter())
    }
}
