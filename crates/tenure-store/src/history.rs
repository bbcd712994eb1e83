//! The kept transactions, one per revision without gaps, and the decision which of them to forget.

use crate::entry::Commit;
use crate::limits::HistoryLimits;
use crate::{Compaction, Revision};
use std::collections::VecDeque;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

/// The commits after `compacted`; that of revision `r` is the `r - compacted`-th.
#[derive(Clone, Debug, Default)]
pub(crate) struct History {
    compacted: Revision,
    commits: VecDeque<Arc<Commit>>,
    weight: usize,
}

impl History {
    /// Starts a history whose first commit will be the one after this revision.
    pub(crate) fn starting_after(compacted: Revision) -> History {
        History { compacted, ..History::default() }
    }

    /// Returns the oldest revision that can be read; commits after it are kept.
    pub(crate) fn compacted(&self) -> Revision {
        self.compacted
    }

    /// Returns the newest revision.
    pub(crate) fn newest(&self) -> Revision {
        self.commits.back().map_or(self.compacted, |commit| commit.revision)
    }

    /// Returns the commit of a revision, if it is kept.
    pub(crate) fn get(&self, revision: Revision) -> Option<&Arc<Commit>> {
        if revision <= self.compacted {
            return None;
        }
        let place = revision.since(self.compacted) - 1;
        self.commits.get(usize::try_from(place).ok()?)
    }

    /// Iterates over the kept commits, oldest first.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &Arc<Commit>> {
        self.commits.iter()
    }

    /// Adds the next commit.
    pub(crate) fn push(&mut self, commit: Arc<Commit>) {
        debug_assert_eq!(commit.revision, self.newest().next());
        self.weight += commit.weight();
        self.commits.push_back(commit);
    }

    /// Forgets the oldest commit.
    pub(crate) fn pop(&mut self) -> Option<Arc<Commit>> {
        let commit = self.commits.pop_front()?;
        self.weight -= commit.weight();
        self.compacted = commit.revision;
        Some(commit)
    }

    /// Returns the revision that a compaction asks to compact to; not newer than the newest, not older than what
    /// already is.
    pub(crate) fn target(&self, compaction: Compaction, now: u64) -> Revision {
        let target = match compaction {
            Compaction::Before(revision) => revision.min(self.newest()),
            Compaction::KeepCount(count) => self.newest().back(count),
            Compaction::OlderThan(age) => self.older_than(age, now),
        };
        target.max(self.compacted)
    }

    /// Returns the revision that the limits ask to compact to.
    pub(crate) fn limit(&self, limits: &HistoryLimits, now: u64) -> Revision {
        let by_count = self.newest().back(limits.count).max(self.compacted);
        let by_age = self.older_than(limits.age, now);
        by_count.max(by_age).max(self.over_weight(limits.bytes))
    }

    fn older_than(&self, age: Duration, now: u64) -> Revision {
        let age = u64::try_from(age.as_millis()).unwrap_or(u64::MAX);
        let horizon = now.saturating_sub(age);
        // A clock that was set back makes times unordered; then the first young commit ends the walk.
        let old = self.commits.iter().take_while(|commit| commit.written_at < horizon).last();
        old.map_or(self.compacted, |commit| commit.revision)
    }

    fn over_weight(&self, bytes: usize) -> Revision {
        let mut excess = self.weight.saturating_sub(bytes);
        let heavy = self.commits.iter().take_while(|commit| {
            let over = excess > 0;
            excess = excess.saturating_sub(commit.weight());
            over
        });
        heavy.last().map_or(self.compacted, |commit| commit.revision)
    }
}

/// Returns the time that commits are stamped with: milliseconds since 1970.
pub(crate) fn now() -> u64 {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}
