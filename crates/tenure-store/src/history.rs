//! The kept transactions in the order of their revisions, and the decision which of them to forget. A store that
//! counts its own transactions leaves no gaps; one that shares its counter with others does.

use crate::entry::Commit;
use crate::limits::HistoryLimits;
use crate::{Compaction, Revision};
use std::collections::VecDeque;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

/// The commits after `compacted`, up to `newest`.
#[derive(Clone, Debug, Default)]
pub(crate) struct History {
    compacted: Revision,
    newest: Revision,
    commits: VecDeque<Arc<Commit>>,
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
        self.starting_at(self.place_after(revision.back(1)))
            .next()
            .filter(|commit| commit.revision == revision)
    }

    /// Iterates over the kept commits after a revision, oldest first.
    pub(crate) fn after(&self, revision: Revision) -> impl Iterator<Item = &Arc<Commit>> {
        self.starting_at(self.place_after(revision))
    }

    fn starting_at(&self, place: usize) -> impl Iterator<Item = &Arc<Commit>> {
        self.commits.range(place.min(self.commits.len())..)
    }

    /// Returns how many of the kept commits are not after a revision.
    fn place_after(&self, revision: Revision) -> usize {
        // Right without gaps, and too far by their number otherwise.
        let place =
            usize::try_from(revision.since(self.compacted)).unwrap_or(usize::MAX).min(self.commits.len());
        match place.checked_sub(1).and_then(|last| self.commits.get(last)) {
            Some(commit) if commit.revision != revision => {
                self.commits.partition_point(|commit| commit.revision <= revision)
            }
            _ => place,
        }
    }

    /// Iterates over the kept commits, oldest first.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &Arc<Commit>> {
        self.commits.iter()
    }

    /// Adds the next commit.
    pub(crate) fn push(&mut self, commit: Arc<Commit>) {
        debug_assert!(commit.revision > self.newest);
        self.newest = commit.revision;
        self.weight += commit.weight();
        self.commits.push_back(commit);
    }

    /// Notes that up to a revision nothing else happened.
    #[cfg(any(feature = "etcd", test))]
    pub(crate) fn reach(&mut self, revision: Revision) {
        self.newest = self.newest.max(revision);
    }

    /// Forgets the oldest commit, if it is not after a revision.
    pub(crate) fn pop_through(&mut self, revision: Revision) -> Option<Arc<Commit>> {
        let due = self.commits.front().is_some_and(|commit| commit.revision <= revision);
        let commit = if due { self.commits.pop_front() } else { None };
        if let Some(commit) = &commit {
            self.weight -= commit.weight();
        }
        let through = commit.as_ref().map_or(revision.min(self.newest), |commit| commit.revision);
        self.compacted = self.compacted.max(through);
        commit
    }

    /// Returns the revision that a compaction asks to compact to; not newer than the newest, not older than what
    /// already is.
    pub(crate) fn target(&self, compaction: Compaction, now: u64) -> Revision {
        let target = match compaction {
            Compaction::Before(revision) => revision.min(self.newest()),
            Compaction::KeepCount(count) => self.all_but(count),
            Compaction::OlderThan(age) => self.older_than(age, now),
        };
        target.max(self.compacted)
    }

    /// Returns the revision that the limits ask to compact to.
    pub(crate) fn limit(&self, limits: &HistoryLimits, now: u64) -> Revision {
        let by_count = self.all_but(limits.count);
        let by_age = self.older_than(limits.age, now);
        by_count.max(by_age).max(self.over_weight(limits.bytes))
    }

    /// Returns the revision after which there are so many commits.
    fn all_but(&self, count: u64) -> Revision {
        let kept = usize::try_from(count).unwrap_or(usize::MAX);
        let Some(first_kept) = self.commits.len().checked_sub(kept) else { return self.compacted };
        let last = first_kept.checked_sub(1).and_then(|last| self.commits.get(last));
        last.map_or(self.compacted, |commit| commit.revision)
    }

    fn older_than(&self, age: Duration, now: u64) -> Revision {
        let age = u64::try_from(age.as_millis()).unwrap_or(u64::MAX);
        let horizon = now.saturating_sub(age);
        // A clock that was set back makes times unordered; then the first young commit ends the walk.
        let old = self.commits.iter().take_while(|commit| commit.written_at < horizon).count();
        match old.checked_sub(1).and_then(|last| self.commits.get(last)) {
            Some(_) if old == self.commits.len() => self.newest,
            Some(commit) => commit.revision,
            None => self.compacted,
        }
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

#[cfg(test)]
mod tests {
    use super::*;

    fn history(compacted: u64, revisions: &[u64]) -> History {
        let mut history = History::starting_after(Revision::from_number(compacted));
        for revision in revisions {
            let revision = Revision::from_number(*revision);
            history.push(Arc::new(Commit { revision, written_at: 0, changes: Box::default() }));
        }
        history
    }

    #[test]
    fn commits_are_found_across_gaps() {
        let cases: [(u64, &[u64]); 4] = [(0, &[1, 2, 3, 4]), (4, &[5, 9, 10, 30]), (7, &[]), (2, &[900])];
        for (compacted, revisions) in cases {
            let history = history(compacted, revisions);
            for asked in 0..=1000 {
                let revision = Revision::from_number(asked);
                let found = history.get(revision).map(|commit| commit.revision.get());
                assert_eq!(
                    found,
                    revisions.iter().copied().find(|one| *one == asked),
                    "{asked} of {revisions:?}"
                );
                let after: Vec<u64> = history.after(revision).map(|commit| commit.revision.get()).collect();
                let expected: Vec<u64> = revisions.iter().copied().filter(|one| *one > asked).collect();
                assert_eq!(after, expected, "after {asked} of {revisions:?}");
            }
        }
    }

    #[test]
    fn forgetting_stops_where_it_was_asked_to_even_in_a_gap() {
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
