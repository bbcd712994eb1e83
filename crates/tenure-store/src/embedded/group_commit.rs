//! How long a batch waits for more writers (group commit). A sync costs more than a short wait, so that a batch waits for as
//! many writers as shared the last ones. From time to time it waits a little longer, to find out whether there are more.

use std::time::Duration;

/// The longest wait.
const MAX_WAIT: Duration = Duration::from_millis(4);

/// The wait in relation to the duration of a commit.
const WAIT_FACTOR: u32 = 8;

/// After how many batches one waits for more writers than expected.
const PROBE_INTERVAL: usize = 64;

/// The expectation that follows from the last batches.
#[derive(Debug, Default)]
pub(super) struct GroupCommit {
    expected: usize,
    took: Duration,
    /// How many more batches until one probes for more writers.
    until_probe: usize,
}

/// How many writers to wait for, and for how long at most.
pub(super) type Wait = (usize, Duration);

impl GroupCommit {
    /// Returns the waits of the next batch: for the expected writers, then possibly for more. A single writer never waits.
    pub(super) fn waits(&self) -> [Wait; 2] {
        if self.expected < 2 {
            return [(1, Duration::ZERO); 2];
        }
        let probe = if self.until_probe == 0 { self.took.min(MAX_WAIT) } else { Duration::ZERO };
        [
            (self.expected, (self.took * WAIT_FACTOR).min(MAX_WAIT)),
            (self.expected + 1 + self.expected / 4, probe),
        ]
    }

    /// Learns from a batch: how many writers it had, how many are waiting at its end, and how long it took.
    pub(super) fn learn(&mut self, arrived: usize, waiting: usize, took: Duration) {
        self.took = took;
        self.until_probe = match self.until_probe {
            _ if arrived < self.expected => PROBE_INTERVAL,
            0 if arrived == self.expected => PROBE_INTERVAL,
            left => left.saturating_sub(1),
        };
        let kept = if arrived < self.expected { 0 } else { self.expected };
        self.expected = kept.max(waiting);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TOOK: Duration = Duration::from_micros(300);

    /// Runs batches with at most this many writers, and returns how often a commit waited without a further writer.
    fn run(commits: usize, writers: usize, group_commit: &mut GroupCommit) -> usize {
        let mut vain = 0;
        for _ in 0..commits {
            let [(expected, _), (more, probe)] = group_commit.waits();
            let waited_for = if probe.is_zero() { expected } else { more };
            let arrived = waited_for.clamp(1, writers);
            vain += usize::from(arrived < waited_for);
            group_commit.learn(arrived, arrived, TOOK);
        }
        vain
    }

    #[test]
    fn a_single_writer_never_waits() {
        let mut group_commit = GroupCommit::default();
        for _ in 0..200 {
            assert!(group_commit.waits().iter().all(|wait| *wait == (1, Duration::ZERO)));
            group_commit.learn(1, 1, TOOK);
        }
    }

    #[test]
    fn all_writers_are_found_and_few_waits_time_out() {
        let mut group_commit = GroupCommit::default();
        group_commit.learn(1, 2, TOOK);
        run(10, 16, &mut group_commit);
        assert_eq!(group_commit.waits()[0].0, 16);
        let vain = run(650, 16, &mut group_commit);
        assert!((9..=11).contains(&vain), "{vain} of 650 commits waited without a further writer");
    }

    #[test]
    fn writers_that_left_are_waited_for_once() {
        let mut group_commit = GroupCommit::default();
        group_commit.learn(1, 2, TOOK);
        run(10, 16, &mut group_commit);
        group_commit.learn(3, 3, TOOK);
        assert_eq!(group_commit.waits()[0].0, 3);
        group_commit.learn(1, 1, TOOK);
        assert_eq!(group_commit.waits()[0], (1, Duration::ZERO));
    }

    #[test]
    fn the_wait_follows_the_duration_of_a_commit_up_to_a_limit() {
        let mut group_commit = GroupCommit::default();
        group_commit.learn(2, 2, Duration::from_micros(100));
        assert_eq!(group_commit.waits()[0], (2, Duration::from_micros(800)));
        group_commit.learn(9, 9, Duration::from_secs(1));
        assert_eq!(group_commit.waits()[0], (9, MAX_WAIT));
    }
}
