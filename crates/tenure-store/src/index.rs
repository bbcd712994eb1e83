//! The sorted map of keys, each with its current entry and the older versions that the kept history still shows.
//! Pure data: who may change it and when is the [ledger](crate::ledger)'s business.

use crate::entry::Commit;
use crate::{Entry, Revision};
use bytes::Bytes;
use std::collections::BTreeMap;
use std::ops::Bound;

/// A key's state from one revision on; no entry means that it was deleted.
#[derive(Clone, Debug)]
struct Version {
    since: Revision,
    entry: Option<Entry>,
}

/// All that is known of a key, oldest version first in `older`.
#[derive(Clone, Debug)]
struct Record {
    newest: Version,
    older: Vec<Version>,
}

impl Record {
    fn at(&self, revision: Revision) -> Option<&Entry> {
        if self.newest.since <= revision {
            return self.newest.entry.as_ref();
        }
        let known = self.older.partition_point(|version| version.since <= revision);
        self.older[..known].last()?.entry.as_ref()
    }
}

/// The keys and their versions.
#[derive(Clone, Debug, Default)]
pub(crate) struct Index {
    records: BTreeMap<Bytes, Record>,
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
        let start = if from > prefix { from } else { prefix };
        self.records
            .range::<[u8], _>((Bound::Included(start), Bound::Unbounded))
            .take_while(move |(key, _)| key.starts_with(prefix))
            .filter_map(move |(_, record)| record.at(at))
    }

    /// Puts an entry without history, as recovery does for what was there before the kept history begins.
    pub(crate) fn insert(&mut self, entry: Entry) {
        let version = Version { since: entry.modified, entry: Some(entry.clone()) };
        self.records.insert(entry.key, Record { newest: version, older: Vec::new() });
    }

    /// Takes over what a transaction changed, keeping what it replaced.
    pub(crate) fn apply(&mut self, commit: &Commit) {
        for change in &commit.changes {
            let version = Version { since: commit.revision, entry: change.current.clone() };
            match self.records.get_mut(&change.key) {
                Some(record) => record.older.push(std::mem::replace(&mut record.newest, version)),
                None => {
                    let record = Record { newest: version, older: Vec::new() };
                    self.records.insert(change.key.clone(), record);
                }
            }
        }
    }

    /// Drops what only states before this commit showed. Commits are forgotten oldest first.
    pub(crate) fn forget(&mut self, commit: &Commit) {
        for change in &commit.changes {
            let Some(record) = self.records.get_mut(&change.key) else { continue };
            let gone = record.older.partition_point(|version| version.since < commit.revision);
            record.older.drain(..gone);
            if record.older.is_empty() {
                // Most keys never change again; give back the room that their last change took.
                record.older.shrink_to_fit();
                if record.newest.entry.is_none() {
                    self.records.remove(&change.key);
                }
            }
        }
    }
}
