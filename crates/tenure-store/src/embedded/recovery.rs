//! Turning a table and the batches of its journal back into a state, believing nothing: no revision may be missing, and
//! what the table already has is passed over.

use super::batch::{ReadBatch, ReadCommit};
use crate::entry::Commit;
use crate::history::History;
use crate::index::Index;
use crate::state::State;
use crate::{Change, Entry, Revision};
use bytes::Bytes;
use std::sync::Arc;

/// A state on its way back.
#[derive(Debug)]
pub(super) struct Recovery {
    state: State,
    forgotten: Revision,
}

impl Recovery {
    /// Starts with the entries of a revision.
    pub(super) fn new(revision: Revision, index: Index) -> Recovery {
        let state = State { index, history: History::starting_after(revision) };
        Recovery { state, forgotten: revision }
    }

    /// Takes the next batch and returns the newest revision.
    pub(super) fn add(&mut self, batch: ReadBatch) -> Result<Revision, String> {
        let newest = self.state.history.newest();
        if batch.after > newest {
            return Err(format!("a batch after revision {} follows revision {newest}", batch.after));
        }
        for commit in batch.commits {
            if commit.revision == self.state.history.newest().next() {
                self.apply(commit);
            } else if commit.revision > self.state.history.compacted() {
                return Err(format!("revision {} is there twice", commit.revision));
            }
        }
        self.forgotten = self.forgotten.max(batch.forgotten);
        Ok(self.state.history.newest())
    }

    fn apply(&mut self, commit: ReadCommit) {
        let ReadCommit { revision, written_at, changes } = commit;
        let change = |(key, current): (Bytes, Option<Entry>)| {
            let previous = self.state.index.get(&key).cloned();
            Change { key, previous, current }
        };
        let changes = changes.into_iter().map(change).collect();
        self.state.apply(Arc::new(Commit { revision, written_at, changes }));
    }

    /// Ends with the state, and with the commits that history had forgotten and the table does not have yet.
    pub(super) fn finish(mut self) -> Result<(State, Vec<Arc<Commit>>), String> {
        let newest = self.state.history.newest();
        if self.forgotten > newest {
            return Err(format!("revision {} was forgotten, but {newest} is the newest", self.forgotten));
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
    use super::*;

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
            let change = |key: &str| match key.strip_prefix('-') {
                Some(key) => (Bytes::copy_from_slice(key.as_bytes()), None),
                None => (Bytes::copy_from_slice(key.as_bytes()), Some(entry(key, revision))),
            };
            let changes = keys.split(' ').map(change).collect();
            ReadCommit { revision: at(revision), written_at: 0, changes }
        };
        ReadBatch { after: at(after), forgotten: at(0), commits: (0..).zip(commits).map(commit).collect() }
    }

    fn recover(table: u64, batches: Vec<ReadBatch>) -> Result<(State, Vec<Arc<Commit>>), String> {
        let mut index = Index::default();
        for key in ["a", "b"] {
            index.insert(entry(key, 1));
        }
        let mut recovery = Recovery::new(at(table), index);
        for batch in batches {
            recovery.add(batch)?;
        }
        recovery.finish()
    }

    fn keys(state: &State, revision: u64) -> String {
        let entries = state.index.range(b"", b"", at(revision));
        entries.map(|entry| String::from_utf8_lossy(&entry.key).into_owned()).collect()
    }

    #[test]
    fn what_happened_after_the_table_happens_again() {
        let (state, forgotten) = recover(4, vec![batch(4, &["-a c", "a"]), batch(6, &["-b"])]).unwrap();
        assert_eq!([4, 5, 6, 7].map(|revision| keys(&state, revision)), ["ab", "bc", "abc", "ac"]);
        assert_eq!((state.history.newest(), state.history.compacted()), (at(7), at(4)));
        assert!(forgotten.is_empty());
    }

    #[test]
    fn what_the_table_has_is_passed_over() {
        let (state, _) = recover(4, vec![batch(2, &["x", "y", "c"]), batch(5, &["d"])]).unwrap();
        assert_eq!((keys(&state, 6), state.history.newest()), ("abcd".to_owned(), at(6)));
    }

    #[test]
    fn what_was_forgotten_stays_forgotten_and_is_owed_to_the_table() {
        let mut last = batch(6, &["d"]);
        last.forgotten = at(6);
        let (state, forgotten) = recover(4, vec![batch(4, &["-a", "c"]), last]).unwrap();
        assert_eq!((state.history.compacted(), keys(&state, 7)), (at(6), "bcd".to_owned()));
        assert_eq!(forgotten.iter().map(|commit| commit.revision).collect::<Vec<_>>(), [at(5), at(6)]);
    }

    #[test]
    fn gaps_repetitions_and_a_forgotten_future_are_noticed() {
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
