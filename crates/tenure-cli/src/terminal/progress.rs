//! A progress bar on standard error, for people at a terminal only. It is removed when the work is done.

use super::Terminal;
use std::{
    cell::Cell,
    io::{IsTerminal, Write},
    time::{Duration, Instant},
};

/// The time before the bar is first shown, and between two updates.
const PAUSE: Duration = Duration::from_millis(150);

/// The maximum width of the bar.
const BAR: usize = 30;

/// The progress of work.
pub struct Progress {
    what: &'static str,
    total: usize,
    width: usize,
    done: Cell<usize>,
    shown: Cell<Instant>,
    visible: bool,
}

impl Progress {
    /// Starts work of `total` steps.
    pub fn new(terminal: &Terminal, what: &'static str, total: usize) -> Progress {
        Progress {
            what,
            total,
            width: terminal.width,
            done: Cell::new(0),
            shown: Cell::new(Instant::now()),
            visible: std::io::stderr().is_terminal(),
        }
    }

    /// Counts one step.
    pub fn step(&self) {
        self.done.set(self.done.get() + 1);
        if self.visible && self.shown.get().elapsed() >= PAUSE {
            self.shown.set(Instant::now());
            let _ = write!(std::io::stderr(), "\r{}", self.line());
        }
    }

    /// Removes the bar.
    pub fn finish(&self) {
        if self.visible {
            let _ = write!(std::io::stderr(), "\r\x1b[K");
        }
    }

    fn line(&self) -> String {
        let (done, total) = (self.done.get(), self.total.max(1));
        let bar = BAR.min(self.width / 3);
        let full = bar * done.min(total) / total;
        format!("{} [{}{}] {done}/{}", self.what, "#".repeat(full), "-".repeat(bar - full), self.total)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_bar_grows_with_the_work() {
        let progress = Progress {
            what: "planning",
            total: 4,
            width: 24,
            done: Cell::new(1),
            shown: Cell::new(Instant::now()),
            visible: false,
        };
        assert_eq!(progress.line(), "planning [##------] 1/4");
        progress.done.set(4);
        assert_eq!(progress.line(), "planning [########] 4/4");
    }
}
