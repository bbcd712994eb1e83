//! The state of a store as pure data: the index of the entries and the kept history.

use crate::entry::Commit;
use crate::history::History;
use crate::index::Index;
use crate::{Error, Result, Revision};
use std::sync::Arc;

/// What the store holds at one moment.
#[derive(Clone, Debug, Default)]
pub(crate) struct State {
    pub(crate) index: Index,
    pub(crate) history: History,
}

impl State {
    /// Takes over a commit.
    pub(crate) fn apply(&mut self, commit: Arc<Commit>) {
        self.index.apply(&commit);
        self.history.push(commit);
    }

    /// Forgets history up to a revision, which stays readable.
    pub(crate) fn forget(&mut self, through: Revision) {
        while let Some(commit) = self.history.pop_through(through) {
            self.index.forget(&commit);
        }
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
