//! How long a commit waits for writers to share it. A commit costs more than what they wait, so it hopes for as many as
//! are likely to come: those who came to the last ones. Now and then one waits a little longer, to find out whether there
//! are more.

use std::time::Duration;

/// The longest that a write waits for others.
const MOST: Duration = Duration::from_millis(4);

/// How many times as long as a commit takes it is worth waiting.
const WORTH: u32 = 8;

/// How many commits are content with those they hope for before one looks for more.
const CONTENT: usize = 64;

/// What the last commits tell of the next one.
#[derive(Debug, Default)]
pub(super) struct GroupCommit {
    hoped_for: usize,
    took: Duration,
    /// How many more commits are content.
    content: usize,
}

/// How many to wait for, and how long at most.
pub(super) type Wait = (usize, Duration);

impl GroupCommit {
    /// Returns for whom the next commit waits: for those it hopes for, then perhaps a little to see whether there are
    /// more. A writer that is alone waits for nobody.
    pub(super) fn waits(&self) -> [Wait; 2] {
        if self.hoped_for < 2 {
            return [(1, Duration::ZERO); 2];
        }
        let look = if self.content == 0 { self.took.min(MOST) } else { Duration::ZERO };
        [(self.hoped_for, (self.took * WORTH).min(MOST)), (self.hoped_for + 1 + self.hoped_for / 4, look)]
    }

    /// Learns from a commit: how many came to it, how many have not been answered at its end, and how long it took.
    pub(super) fn learn(&mut self, came: usize, waiting: usize, took: Duration) {
        self.took = took;
        self.content = match self.content {
            _ if came < self.hoped_for => CONTENT,
            0 if came == self.hoped_for => CONTENT,
            left => left.saturating_sub(1),
        };
        let stayed = if came < self.hoped_for { 0 } else { self.hoped_for };
        self.hoped_for = stayed.max(waiting);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TOOK: Duration = Duration::from_micros(300);

    /// Runs commits to which at most so many writers come, and returns how often one was awaited in vain.
    fn run(commits: usize, writers: usize, patience: &mut GroupCommit) -> usize {
        let mut vain = 0;
        for _ in 0..commits {
            let [(hoped_for, _), (more, look)] = patience.waits();
            let awaited = if look.is_zero() { hoped_for } else { more };
            let came = awaited.clamp(1, writers);
            vain += usize::from(came < awaited);
            patience.learn(came, came, TOOK);
        }
        vain
    }

    #[test]
    fn a_writer_alone_never_waits() {
        let mut patience = GroupCommit::default();
        for _ in 0..200 {
            assert!(patience.waits().iter().all(|wait| *wait == (1, Duration::ZERO)));
            patience.learn(1, 1, TOOK);
        }
    }

    #[test]
    fn all_writers_are_found_and_seldom_is_one_looked_for_that_is_not_there() {
        let mut patience = GroupCommit::default();
        patience.learn(1, 2, TOOK);
        run(10, 16, &mut patience);
        assert_eq!(patience.waits()[0].0, 16);
        let vain = run(650, 16, &mut patience);
        assert!((9..=11).contains(&vain), "{vain} of 650 commits waited in vain");
    }

    #[test]
    fn those_who_are_gone_are_awaited_once() {
        let mut patience = GroupCommit::default();
        patience.learn(1, 2, TOOK);
        run(10, 16, &mut patience);
        patience.learn(3, 3, TOOK);
        assert_eq!(patience.waits()[0].0, 3);
        patience.learn(1, 1, TOOK);
        assert_eq!(patience.waits()[0], (1, Duration::ZERO));
    }

    #[test]
    fn the_wait_follows_what_a_commit_takes_up_to_a_limit() {
        let mut patience = GroupCommit::default();
        patience.learn(2, 2, Duration::from_micros(100));
        assert_eq!(patience.waits()[0], (2, Duration::from_micros(800)));
        patience.learn(9, 9, Duration::from_secs(1));
        assert_eq!(patience.waits()[0], (9, MOST));
    }
}
