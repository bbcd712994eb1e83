//! What the store holds and what a transaction did to it. All of it is shared, never copied: the bytes of a
//! value exist once, however many readers, watchers and kept revisions refer to them.

use crate::Revision;
use bytes::Bytes;
use std::ops::Range;
use std::sync::Arc;

/// A value under its key, with the revisions that created it and last changed it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// The key.
    pub key: Bytes,
    /// The value.
    pub value: Bytes,
    /// The revision at which the key came into being; a deletion and a later put start a new life.
    pub created: Revision,
    /// The revision of the last put.
    pub modified: Revision,
}

/// What one transaction did to one key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change {
    /// The key.
    pub key: Bytes,
    /// The entry before, absent if the change created it.
    pub previous: Option<Entry>,
    /// The entry after, absent if the change deleted it.
    pub current: Option<Entry>,
}

/// Everything one transaction changed, sorted by key.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Commit {
    pub(crate) revision: Revision,
    /// Milliseconds since 1970, for compaction by age.
    pub(crate) written_at: u64,
    pub(crate) changes: Box<[Change]>,
}

impl Commit {
    /// Returns the part of the changes that lies under a prefix.
    pub(crate) fn under(&self, prefix: &[u8]) -> Range<usize> {
        let start = self.changes.partition_point(|change| &change.key[..] < prefix);
        let length = self.changes[start..].partition_point(|change| change.key.starts_with(prefix));
        start..start + length
    }

    /// Returns roughly how many bytes keeping this commit costs beyond the values that are still current.
    pub(crate) fn weight(&self) -> usize {
        let replaced = |change: &Change| change.previous.as_ref().map_or(0, |entry| entry.value.len());
        self.changes.iter().map(|change| 256 + change.key.len() + replaced(change)).sum()
    }
}

/// All that one transaction changed under a watched prefix, in the order of the keys; never empty.
///
/// A transaction is delivered whole, so that a watcher may stop after any of these and resume after its
/// [`revision`](Changes::revision) without missing or repeating anything.
#[derive(Clone, Debug)]
pub struct Changes {
    commit: Arc<Commit>,
    part: Range<usize>,
}

impl Changes {
    /// Makes a delivery of changes, for stores that learn of them from elsewhere. Sorts by key.
    pub fn new(revision: Revision, mut changes: Vec<Change>) -> Changes {
        changes.sort_by(|a, b| a.key.cmp(&b.key));
        let part = 0..changes.len();
        Changes { commit: Arc::new(Commit { revision, written_at: 0, changes: changes.into() }), part }
    }

    /// Returns the part of a commit under a prefix, if there is any.
    pub(crate) fn of(commit: &Arc<Commit>, prefix: &[u8]) -> Option<Changes> {
        let part = commit.under(prefix);
        (!part.is_empty()).then(|| Changes { commit: commit.clone(), part })
    }

    /// Returns the revision of the transaction.
    pub fn revision(&self) -> Revision {
        self.commit.revision
    }

    /// Iterates over the changes.
    pub fn iter(&self) -> std::slice::Iter<'_, Change> {
        self.commit.changes[self.part.clone()].iter()
    }
}

impl<'a> IntoIterator for &'a Changes {
    type Item = &'a Change;
    type IntoIter = std::slice::Iter<'a, Change>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

impl PartialEq for Changes {
    fn eq(&self, other: &Changes) -> bool {
        self.revision() == other.revision() && self.iter().eq(other.iter())
    }
}
