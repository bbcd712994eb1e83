//! The kept commits in the order of their revisions, and which of them to forget. A store that counts its own
//! transactions leaves no gaps between revisions; one that shares its counter with others does.

use crate::{Compaction, CowMap, Revision, entry::Commit, limits::HistoryLimits};
use std::ops::Bound;
use std::sync::Arc;
use std::time::Duration;

/// The commits after `compacted`, up to `newest`.
#[derive(Clone, Debug, Default)]
pub(crate) struct History {
    compacted: Revision,
    newest: Revision,
    commits: CowMap<Revision, Arc<Commit>>,
    weight: usize,
}

impl History {
    /// Starts a history whose first commit will be the one after this revision.
    pub(crate) fn starting_after(compacted: Revision) -> History {
        History { compacted, newest: compacted, ..History::default() }
    }

    /// Returns the oldest revision that can be read; commits after it are kept.
    pub(crate) fn compacted(&self) -> Revision {
        self.compacted
    }

    /// Returns the newest revision.
    pub(crate) fn newest(&self) -> Revision {
        self.newest
    }

    /// Returns the commit of a revision, if it is kept.
    pub(crate) fn get(&self, revision: Revision) -> Option<&Arc<Commit>> {
        self.commits.get(&revision)
    }

    /// Iterates over the kept commits after a revision, oldest first.
    pub(crate) fn after(&self, revision: Revision) -> impl Iterator<Item = &Arc<Commit>> {
        self.commits.range(Bound::Excluded(&revision), None).map(|(_, commit)| commit)
    }

    /// Iterates over the kept commits, oldest first.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &Arc<Commit>> {
        self.commits.iter().map(|(_, commit)| commit)
    }

    /// Adds the next commit.
    pub(crate) fn push(&mut self, commit: Arc<Commit>) {
        debug_assert!(commit.revision > self.newest);
        self.newest = commit.revision;
        self.weight += commit.weight();
        self.commits.insert(commit.revision, commit);
    }

    /// Puts a commit in the place of the one with the same changes.
    pub(crate) fn replace(&mut self, commit: Arc<Commit>) {
        debug_assert!(self.get(commit.revision).is_some_and(|replaced| replaced.weight() == commit.weight()));
        self.commits.insert(commit.revision, commit);
    }

    /// Notes that nothing else happened up to a revision.
    #[cfg(any(feature = "etcd", test))]
    pub(crate) fn reach(&mut self, revision: Revision) {
        self.newest = self.newest.max(revision);
    }

    /// Removes the oldest commit, unless it is after a revision.
    pub(crate) fn pop_through(&mut self, revision: Revision) -> Option<Arc<Commit>> {
        let due = self.commits.first().map(|(oldest, _)| *oldest).filter(|oldest| *oldest <= revision);
        let commit = due.and_then(|oldest| self.commits.remove(&oldest));
        if let Some(commit) = &commit {
            self.weight -= commit.weight();
        }
        let through = commit.as_ref().map_or(revision.min(self.newest), |commit| commit.revision);
        self.compacted = self.compacted.max(through);
        commit
    }

    /// Removes the newest commit if it is after a revision, and makes that revision the newest if none is.
    pub(crate) fn pop_after(&mut self, revision: Revision) -> Option<Arc<Commit>> {
        let last = self.commits.descending_from::<Revision>(Bound::Unbounded).next();
        let Some(due) = last.map(|(newest, _)| *newest).filter(|newest| *newest > revision) else {
            self.newest = self.newest.min(revision);
            return None;
        };
        let commit = self.commits.remove(&due)?;
        self.weight -= commit.weight();
        Some(commit)
    }

    /// Returns the revision that a compaction compacts to: not newer than the newest, not older than what is compacted.
    pub(crate) fn target(&self, compaction: Compaction, now: u64) -> Revision {
        let target = match compaction {
            Compaction::Before(revision) => revision.min(self.newest()),
            Compaction::KeepCount(count) => self.all_but(count),
            Compaction::OlderThan(age) => self.older_than(age, now),
        };
        target.max(self.compacted)
    }

    /// Returns the revision that the limits compact to.
    pub(crate) fn limit(&self, limits: &HistoryLimits, now: u64) -> Revision {
        let by_count = self.all_but(limits.count);
        let by_age = self.older_than(limits.age, now);
        by_count.max(by_age).max(self.over_weight(limits.bytes))
    }

    /// Returns the revision after which `count` commits are kept.
    fn all_but(&self, count: u64) -> Revision {
        let kept = usize::try_from(count).unwrap_or(usize::MAX);
        let excess = self.commits.len().saturating_sub(kept);
        let last = excess.checked_sub(1).and_then(|last| self.commits.iter().nth(last));
        last.map_or(self.compacted, |(revision, _)| *revision)
    }

    fn older_than(&self, age: Duration, now: u64) -> Revision {
        let age = u64::try_from(age.as_millis()).unwrap_or(u64::MAX);
        let horizon = now.saturating_sub(age);
        let is_old = |commit: &Commit| commit.written_at < horizon;
        if !self.commits.first().is_some_and(|(_, commit)| is_old(commit)) {
            return self.compacted;
        }
        // If the clock was set back, times are not in order; the first commit that is young enough ends the search.
        let old = self.iter().take_while(|commit| is_old(commit));
        let last = old.last().map_or(self.compacted, |commit| commit.revision);
        if self.after(last).next().is_none() { self.newest } else { last }
    }

    fn over_weight(&self, bytes: usize) -> Revision {
        let mut excess = self.weight.saturating_sub(bytes);
        if excess == 0 {
            return self.compacted;
        }
        let heavy = self.iter().take_while(|commit| {
            let over = excess > 0;
            excess = excess.saturating_sub(commit.weight());
            over
        });
        heavy.last().map_or(self.compacted, |commit| commit.revision)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn history(compacted: u64, revisions: &[u64]) -> History {
        let mut history = History::starting_after(Revision::from_number(compacted));
        for revision in revisions {
            let revision = Revision::from_number(*revision);
            history.push(Arc::new(Commit { revision, ..Commit::default() }));
        }
        history
    }

    #[test]
    fn commits_are_found_across_gaps() {
        let cases: [(u64, &[u64]); 4] = [(0, &[1, 2, 3, 4]), (4, &[5, 9, 10, 30]), (7, &[]), (2, &[900])];
        for (compacted, revisions) in cases {
            let history = history(compacted, revisions);
            for requested in 0..=1000 {
                let revision = Revision::from_number(requested);
                let found = history.get(revision).map(|commit| commit.revision.get());
                assert_eq!(
                    found,
                    revisions.iter().copied().find(|one| *one == requested),
                    "{requested} of {revisions:?}"
                );
                let after: Vec<u64> = history.after(revision).map(|commit| commit.revision.get()).collect();
                let expected: Vec<u64> = revisions.iter().copied().filter(|one| *one > requested).collect();
                assert_eq!(after, expected, "after {requested} of {revisions:?}");
            }
        }
    }

    #[test]
    fn the_newest_commits_can_be_undone() {
        let mut history = history(4, &[5, 9, 30]);
        let through = Revision::from_number(12);
        assert_eq!(history.pop_after(through).map(|commit| commit.revision.get()), Some(30));
        assert!(history.pop_after(through).is_none());
        assert_eq!((history.newest().get(), history.iter().count()), (12, 2));
    }

    #[test]
    fn compaction_stops_at_the_requested_revision_even_in_a_gap() {
        let mut history = history(4, &[5, 9, 30]);
        history.reach(Revision::from_number(40));
        assert_eq!(history.target(Compaction::KeepCount(1), 0).get(), 9);
        assert_eq!(history.target(Compaction::KeepCount(9), 0).get(), 4);
        let through = Revision::from_number(20);
        while history.pop_through(through).is_some() {}
        assert_eq!((history.compacted().get(), history.iter().count()), (20, 1));
        assert_eq!(history.target(Compaction::OlderThan(Duration::ZERO), 1).get(), 40);
    }
}
