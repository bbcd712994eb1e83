//! How long a commit waits for writers to share it. A commit costs more than what they wait, so it hopes for as many as
//! are likely to come: those who came to the last ones, and now and then a few more, to find out whether there are.

use std::time::Duration;

/// The longest that a write waits for others.
const MOST: Duration = Duration::from_millis(4);

/// How many times as long as a commit takes it is worth waiting.
const WORTH: u32 = 8;

/// How many commits are content with those they hope for before one hopes for more.
const CONTENT: usize = 32;

/// What the last commits tell of the next one.
#[derive(Debug, Default)]
pub(super) struct Patience {
    hoped_for: usize,
    took: Duration,
    /// How many more commits are content.
    content: usize,
}

impl Patience {
    /// Returns how many writers the next commit waits for.
    pub(super) fn hoped_for(&self) -> usize {
        self.hoped_for
    }

    /// Returns how long it waits for them; a writer that is alone waits for nobody.
    pub(super) fn time(&self) -> Duration {
        if self.hoped_for > 1 { (self.took * WORTH).min(MOST) } else { Duration::ZERO }
    }

    /// Learns from a commit: how many came to it, how many have not been answered at its end, and how long it took.
    pub(super) fn learn(&mut self, came: usize, waiting: usize, took: Duration) {
        self.took = took;
        if came < self.hoped_for {
            *self = Patience { hoped_for: waiting, took, content: CONTENT };
            return;
        }
        self.hoped_for = self.hoped_for.max(waiting);
        self.content = self.content.saturating_sub(1);
        if self.content == 0 && waiting > 1 {
            self.hoped_for += 1 + waiting / 4;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TOOK: Duration = Duration::from_micros(300);

    /// Runs commits to which at most so many writers come.
    fn after(commits: usize, writers: usize, patience: &mut Patience) -> usize {
        let mut missed = 0;
        for _ in 0..commits {
            let came = patience.hoped_for().clamp(1, writers);
            missed += usize::from(came < patience.hoped_for());
            patience.learn(came, came, TOOK);
        }
        missed
    }

    #[test]
    fn a_writer_alone_never_waits() {
        let mut patience = Patience::default();
        for _ in 0..100 {
            assert_eq!(patience.time(), Duration::ZERO);
            patience.learn(1, 1, TOOK);
        }
    }

    #[test]
    fn all_writers_are_found_and_seldom_is_one_awaited_that_is_not_there() {
        let mut patience = Patience::default();
        patience.learn(1, 2, TOOK);
        after(40, 16, &mut patience);
        assert_eq!(patience.hoped_for(), 16);
        let missed = after(330, 16, &mut patience);
        assert!((9..=11).contains(&missed), "{missed} of 330 commits waited in vain");
    }

    #[test]
    fn those_who_are_gone_are_awaited_once() {
        let mut patience = Patience::default();
        patience.learn(1, 2, TOOK);
        after(40, 16, &mut patience);
        patience.learn(3, 3, TOOK);
        assert_eq!(patience.hoped_for(), 3);
        patience.learn(1, 1, TOOK);
        assert_eq!((patience.hoped_for(), patience.time()), (1, Duration::ZERO));
    }

    #[test]
    fn the_wait_follows_what_a_commit_takes_up_to_a_limit() {
        let mut patience = Patience::default();
        patience.learn(2, 2, Duration::from_micros(100));
        assert_eq!(patience.time(), Duration::from_micros(800));
        patience.learn(9, 9, Duration::from_secs(1));
        assert_eq!(patience.time(), MOST);
    }
}
