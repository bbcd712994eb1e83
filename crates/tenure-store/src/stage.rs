//! Evaluates transactions against the current state and those staged before, so that many can be written to the disk in
//! one batch and each still sees the ones before it.

use crate::Conflict;
use crate::entry::Commit;
use crate::index::Index;
use crate::transaction::Action;
use crate::{Committed, Entry, Error, KeyChange, Result, Revision, StagedTransactions, Transaction};
use bytes::Bytes;
use foldhash::quality::RandomState;
use std::collections::HashMap;
use std::sync::Arc;

/// Transactions that have been evaluated but are not yet visible.
#[derive(Debug)]
pub(crate) struct Stage {
    newest: Revision,
    now: u64,
    staged: HashMap<Bytes, Option<Entry>, RandomState>,
    commits: Vec<Arc<Commit>>,
}

impl Stage {
    /// Starts staging on top of the newest revision.
    pub(crate) fn new(newest: Revision, now: u64) -> Stage {
        Stage { newest, now, staged: HashMap::default(), commits: Vec::new() }
    }

    /// Ends the staging and returns the commits.
    pub(crate) fn into_commits(self) -> Vec<Arc<Commit>> {
        self.commits
    }

    /// Evaluates a validated transaction. A conflict leaves the stage unchanged.
    pub(crate) fn add(&mut self, transaction: &Transaction, index: &Index) -> Result<Committed> {
        let operations = transaction.operations();
        let mut previous = Vec::with_capacity(operations.len());
        for operation in operations {
            let current = match self.staged.get(&operation.key) {
                Some(staged) => staged.as_ref(),
                None => index.get(&operation.key),
            };
            if !operation.expected.holds(current) {
                let current = current.cloned();
                let key = operation.key.clone();
                return Err(Error::Conflict(Box::new(Conflict {
                    key,
                    expected: operation.expected,
                    current,
                })));
            }
            previous.push(current.cloned());
        }
        let revision = self.newest.next();
        let mut changes = Vec::with_capacity(operations.len());
        for (operation, previous) in operations.iter().zip(&previous) {
            changes.extend(change(&operation.key, &operation.action, previous.clone(), revision));
        }
        if changes.is_empty() {
            return Ok(Committed { revision: self.newest, previous });
        }
        changes.sort_by(|a, b| a.key.cmp(&b.key));
        for change in &changes {
            self.staged.insert(change.key.clone(), change.current.clone());
        }
        self.newest = revision;
        // Records are kept for long; see `change` for why they are copied. Most are about a key that changes.
        let copy = |(key, record): &(Bytes, Bytes)| {
            let changed = changes.binary_search_by(|change| change.key.cmp(key)).ok();
            let key = changed.map_or_else(|| Bytes::copy_from_slice(key), |place| changes[place].key.clone());
            (key, Bytes::copy_from_slice(record))
        };
        let records = transaction.records().iter().map(copy).collect();
        let changes = changes.into();
        self.commits.push(Arc::new(Commit { revision, written_at: self.now, changes, records }));
        Ok(Committed { revision, previous })
    }

    /// Evaluates transactions that were tried on a copy, in order, and returns the revision of each. A conflict of one leaves the
    /// stage as it was before the first.
    pub(crate) fn add_all(&mut self, all: &StagedTransactions, index: &Index) -> Result<Vec<Revision>> {
        let (newest, commits) = (self.newest, self.commits.len());
        let mut before: Vec<(Bytes, Option<Option<Entry>>)> = Vec::new();
        let mut committed = Vec::with_capacity(all.len());
        while let Some(transaction) = all.translated(committed.len(), &committed) {
            let keys = transaction.operations().iter().map(|operation| operation.key.clone());
            before.extend(keys.map(|key| (key.clone(), self.staged.get(&key).cloned())));
            match self.add(&transaction, index) {
                Ok(one) => committed.push(one.revision),
                Err(error) => {
                    for (key, staged) in before.into_iter().rev() {
                        match staged {
                            Some(staged) => self.staged.insert(key, staged),
                            None => self.staged.remove(&key),
                        };
                    }
                    self.newest = newest;
                    self.commits.truncate(commits);
                    return Err(error);
                }
            }
        }
        Ok(committed)
    }
}

fn change(key: &Bytes, action: &Action, previous: Option<Entry>, revision: Revision) -> Option<KeyChange> {
    // The caller's buffers may be slices of larger ones; what is kept for long is copied to its exact size.
    let key = previous.as_ref().map_or_else(|| Bytes::copy_from_slice(key), |entry| entry.key.clone());
    match action {
        Action::Check => None,
        Action::Delete => previous.map(|entry| KeyChange { key, previous: Some(entry), current: None }),
        Action::Put(value) => {
            let created = previous.as_ref().map_or(revision, |entry| entry.created);
            let value = Bytes::copy_from_slice(value).into();
            let current = Entry { key: key.clone(), value, created, modified: revision };
            Some(KeyChange { key, previous, current: Some(current) })
        }
    }
}
