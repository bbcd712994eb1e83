//! The state of a store as pure data: the index of the entries, the kept history and the ledger. Clones share memory until
//! one of them changes, so that a snapshot costs a few reference counts.

use crate::entry::Commit;
use crate::history::History;
use crate::index::Index;
use crate::ledger::{Ledger, Record};
use crate::limits::RESTORE_GAP;
use crate::{Entry, Error, LedgerLimits, LedgerRecord, Result, Revision};
use std::sync::Arc;

/// Everything a store holds at one moment.
#[derive(Clone, Debug, Default)]
pub(crate) struct State {
    pub(crate) index: Index,
    pub(crate) history: History,
    pub(crate) ledger: Ledger,
    /// The values of the kept history are packed up to this revision.
    pub(crate) packed: Revision,
}

impl State {
    /// Returns the state with the content of a backup. Entries keep their revisions, and the history begins well above that of the
    /// backup.
    pub(crate) fn restored(
        revision: Revision,
        entries: Vec<Entry>,
        records: Vec<LedgerRecord>,
        ledger: LedgerLimits,
    ) -> State {
        let newest = revision.skip(RESTORE_GAP);
        let mut state = State {
            history: History::starting_after(newest),
            ledger: Ledger::new(ledger),
            ..State::default()
        };
        entries.into_iter().for_each(|entry| state.index.insert(entry));
        for record in records.into_iter().rev() {
            let LedgerRecord { key, revision, written_at, record } = record;
            state.ledger.push(key, Record { revision, written_at, bytes: record });
        }
        state
    }

    /// Applies a commit.
    pub(crate) fn apply(&mut self, commit: Arc<Commit>) {
        self.index.apply(&commit);
        self.ledger.apply(&commit);
        self.history.push(commit);
    }

    /// Forgets history up to a revision, which stays readable.
    pub(crate) fn forget(&mut self, through: Revision) {
        while let Some(commit) = self.history.pop_through(through) {
            self.index.forget(&commit);
        }
    }

    /// Packs the values of at most `count` kept commits, the oldest first, and tells whether there may be more.
    pub(crate) fn pack(&mut self, count: usize) -> bool {
        let commits: Vec<Arc<Commit>> = self.history.after(self.packed).take(count).cloned().collect();
        for commit in &commits {
            let packed = self.index.pack_commit(commit);
            self.history.replace(Arc::new(packed));
            self.packed = commit.revision;
        }
        commits.len() == count
    }

    /// Leaves the values of the history so far as they are: packing them would end that memory is shared with another state.
    pub(crate) fn keep_shared(&mut self) {
        self.packed = self.history.newest();
    }

    /// Goes back to a revision of the kept history, as if later commits had never happened.
    pub(crate) fn rewind(&mut self, revision: Revision) -> Result<()> {
        self.check_readable(revision)?;
        while let Some(commit) = self.history.pop_after(revision) {
            self.index.revert(&commit);
            self.ledger.revert(&commit);
        }
        self.packed = self.packed.min(revision);
        Ok(())
    }

    /// Returns the number of entries under a prefix from a key on, as they were at a revision that can be read. Takes time
    /// for the transactions since, not for the entries.
    pub(crate) fn count(&self, prefix: &[u8], from: &[u8], at: Revision) -> usize {
        let (mut created, mut deleted) = (0, 0);
        for commit in self.history.after(at) {
            for change in commit.changes[commit.under(prefix)].iter().filter(|change| &change.key[..] >= from)
            {
                created += usize::from(change.previous.is_none());
                deleted += usize::from(change.current.is_none());
            }
        }
        (self.index.count(prefix, from) + deleted).saturating_sub(created)
    }

    /// Refuses revisions that are compacted or in the future.
    pub(crate) fn check_readable(&self, requested: Revision) -> Result<()> {
        let (oldest, current) = (self.history.compacted(), self.history.newest());
        if requested > current {
            return Err(Error::Future { requested, current });
        }
        if requested < oldest {
            return Err(Error::TooOld { requested, oldest });
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Expected, Transaction, stage::Stage};

    #[test]
    fn a_packed_history_exists_once_in_memory() {
        let mut state = State::default();
        for number in 0..60 {
            let mut stage = Stage::new(state.history.newest(), 0);
            let value = format!("{number} {}", "the same text again and again ".repeat(10));
            let put = Transaction::new().put(
                format!("objects/apps/deployments/{}", number % 20),
                Expected::Anything,
                value,
            );
            stage.add(&put, &state.index).unwrap();
            stage.into_commits().into_iter().for_each(|commit| state.apply(commit));
        }
        let texts = |state: &State| format!("{:?}", state.history.iter().collect::<Vec<_>>());
        let before = texts(&state);
        while state.pack(7) {}
        assert_eq!(texts(&state), before);

        // The first values are what the base is chosen by.
        for commit in state.history.iter().skip(30) {
            let change = &commit.changes[0];
            let kept = |entry: &Option<Entry>, at: Revision| {
                let entry = entry.as_ref().unwrap();
                let mut read = state.index.range(&entry.key, b"", at).filter(|read| read.key == entry.key);
                read.next().unwrap().value.shares_packed(&entry.value)
            };
            assert!(kept(&change.current, commit.revision), "after {}", commit.revision);
            assert!(kept(&change.previous, commit.revision.back(1)), "before {}", commit.revision);
        }
    }
}
