//! Rebuilds the state from a table and the batches of its journal. No revision may be missing; what the table already has
//! is skipped.

use super::batch::{Item, ReadBatch, ReadCommit, ReadError};
use crate::encryption::Session;
use crate::entry::Commit;
use crate::history::History;
use crate::index::Index;
use crate::ledger::Ledger;
use crate::state::State;
use crate::{Entry, KeyChange, Revision};
use std::sync::Arc;

/// A state that is being rebuilt.
#[derive(Debug)]
pub(super) struct Recovery {
    state: State,
    encryption: Session,
    forgotten: Revision,
    /// Whether a value is not encrypted with the current key.
    outdated: bool,
}

impl Recovery {
    /// Starts with the content of a table.
    pub(super) fn new(revision: Revision, index: Index, ledger: Ledger, encryption: Session) -> Recovery {
        let state = State { index, history: History::starting_after(revision), ledger, packed: revision };
        Recovery { state, encryption, forgotten: revision, outdated: false }
    }

    /// Returns the newest revision.
    pub(super) fn newest(&self) -> Revision {
        self.state.history.newest()
    }

    /// Tells whether a value is not encrypted with the current key.
    pub(super) fn is_outdated(&self) -> bool {
        self.outdated
    }

    /// Applies the next batch and returns the newest revision.
    pub(super) fn add(&mut self, batch: ReadBatch) -> Result<Revision, ReadError> {
        let newest = self.newest();
        if batch.after > newest {
            return Err(format!("a batch after revision {} follows revision {newest}", batch.after).into());
        }
        for commit in batch.commits {
            if commit.revision == self.newest().next() {
                self.apply(commit)?;
            } else if commit.revision > self.state.history.compacted() {
                return Err(format!("revision {} occurs twice", commit.revision).into());
            }
        }
        self.forgotten = self.forgotten.max(batch.forgotten);
        Ok(self.newest())
    }

    fn apply(&mut self, commit: ReadCommit) -> Result<(), ReadError> {
        let ReadCommit { revision, written_at, items } = commit;
        let (mut changes, mut records) = (Vec::new(), Vec::new());
        for (key, item) in items {
            let previous = self.state.index.get(&key).cloned();
            // One copy of a key is enough for all its versions.
            let key = previous.as_ref().map_or(key, |entry| entry.key.clone());
            let current = match item {
                Item::Record(stored) => {
                    let record = self.encryption.read(&key, &stored.bytes, stored.protection)?;
                    records.push((key, record));
                    continue;
                }
                Item::Delete => None,
                Item::Put { created, value } => {
                    self.outdated |= !self.encryption.is_current(&key, &value.bytes, value.protection);
                    let mut value = self.encryption.read(&key, &value.bytes, value.protection)?.into();
                    self.state.index.pack(&key, &mut value);
                    Some(Entry { key: key.clone(), value, created, modified: revision })
                }
            };
            changes.push(KeyChange { key, previous, current });
        }
        let (changes, records) = (changes.into(), records.into());
        self.state.apply(Arc::new(Commit { revision, written_at, changes, records }));
        Ok(())
    }

    /// Returns the state, and the commits that history has forgotten and the table does not have yet.
    pub(super) fn finish(mut self) -> Result<(State, Vec<Arc<Commit>>), String> {
        let newest = self.newest();
        if self.forgotten > newest {
            return Err(format!(
                "history is forgotten up to revision {}, but {newest} is the newest",
                self.forgotten
            ));
        }
        let mut forgotten = Vec::new();
        while let Some(commit) = self.state.history.pop_through(self.forgotten) {
            self.state.index.forget(&commit);
            forgotten.push(commit);
        }
        Ok((self.state, forgotten))
    }
}

#[cfg(test)]
mod tests {
    use super::super::batch::Stored;
    use super::*;
    use crate::encryption::Protection;
    use crate::{Encryption, LedgerRequest};
    use bytes::Bytes;

    fn at(revision: u64) -> Revision {
        Revision::from_number(revision)
    }

    fn entry(key: &str, modified: u64) -> Entry {
        let key = Bytes::copy_from_slice(key.as_bytes());
        Entry { key, value: "v".into(), created: at(1), modified: at(modified) }
    }

    /// A batch written as the keys of each of its commits, `-key` for a deletion.
    fn batch(after: u64, commits: &[&str]) -> ReadBatch {
        let commit = |(number, keys): (u64, &&str)| {
            let revision = after + 1 + number;
            let stored =
                |bytes: &'static str| Stored { protection: Protection::Plaintext, bytes: bytes.into() };
            let key_of = |key: &str| Bytes::copy_from_slice(key.as_bytes());
            let change = |key: &str| match key.strip_prefix('-') {
                Some(key) => (key_of(key), Item::Delete),
                None => (key_of(key), Item::Put { created: at(1), value: stored("v") }),
            };
            let record = |key: &str| (key_of(key.trim_start_matches('-')), Item::Record(stored("r")));
            let items = keys.split(' ').map(change).chain(keys.split(' ').map(record)).collect();
            ReadCommit { revision: at(revision), written_at: 0, items }
        };
        ReadBatch { after: at(after), forgotten: at(0), commits: (0..).zip(commits).map(commit).collect() }
    }

    fn recover(table: u64, batches: Vec<ReadBatch>) -> Result<(State, Vec<Arc<Commit>>), ReadError> {
        let mut index = Index::default();
        for key in ["a", "b"] {
            index.insert(entry(key, 1));
        }
        let session = Encryption::default().session();
        let mut recovery = Recovery::new(at(table), index, Ledger::default(), session);
        for batch in batches {
            recovery.add(batch)?;
        }
        Ok(recovery.finish()?)
    }

    fn keys(state: &State, revision: u64) -> String {
        let entries = state.index.range(b"", b"", at(revision));
        entries.map(|entry| String::from_utf8_lossy(&entry.key).into_owned()).collect()
    }

    #[test]
    fn commits_after_the_table_are_replayed() {
        let (state, forgotten) = recover(4, vec![batch(4, &["-a c", "a"]), batch(6, &["-b"])]).unwrap();
        assert_eq!([4, 5, 6, 7].map(|revision| keys(&state, revision)), ["ab", "bc", "abc", "ac"]);
        assert_eq!((state.history.newest(), state.history.compacted()), (at(7), at(4)));
        assert!(forgotten.is_empty());
    }

    #[test]
    fn commits_that_the_table_has_are_skipped() {
        let (state, _) = recover(4, vec![batch(2, &["x", "y", "c"]), batch(5, &["d"])]).unwrap();
        assert_eq!((keys(&state, 6), state.history.newest()), ("abcd".to_owned(), at(6)));
        let records = state.ledger.read(&LedgerRequest::prefix("", 9)).records;
        let revisions: Vec<_> = records.iter().map(|record| record.revision.get()).collect();
        assert_eq!(revisions, [6, 5], "the records of the replayed commits only");
    }

    #[test]
    fn forgotten_history_stays_forgotten_and_is_due_for_the_table() {
        let mut last = batch(6, &["d"]);
        last.forgotten = at(6);
        let (state, forgotten) = recover(4, vec![batch(4, &["-a", "c"]), last]).unwrap();
        assert_eq!((state.history.compacted(), keys(&state, 7)), (at(6), "bcd".to_owned()));
        assert_eq!(forgotten.iter().map(|commit| commit.revision).collect::<Vec<_>>(), [at(5), at(6)]);
    }

    #[test]
    fn gaps_repetitions_and_a_forgotten_future_are_detected() {
        let mut future = batch(4, &["c"]);
        future.forgotten = at(9);
        let cases = [
            ("a gap", vec![batch(4, &["c"]), batch(6, &["d"])]),
            ("a gap at the start", vec![batch(5, &["c"])]),
            ("a repetition", vec![batch(4, &["c", "d"]), batch(5, &["d"])]),
            ("a forgotten future", vec![future]),
        ];
        for (what, batches) in cases {
            assert!(recover(4, batches).is_err(), "{what}");
        }
    }
}
