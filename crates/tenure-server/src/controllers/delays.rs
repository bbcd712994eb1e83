//! How long controllers wait.

use std::time::Duration;

/// How long controllers wait before they do something.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ControllerDelays {
    /// How long an object must not have been written before its deletion continues: clients see the state they made, and may change
    /// their minds.
    pub quiet: Duration,
    /// How long writes can postpone a deletion.
    pub longest_quiet: Duration,
    /// How long an object may name an owner that does not exist: owners and dependents may be created in any order.
    pub settle: Duration,
    /// How long to wait for further deletions when something is deleted that other work waits for.
    pub gather: Duration,
    /// The first and the longest pause before work is retried; it doubles each time.
    pub retry: (Duration, Duration),
}

impl ControllerDelays {
    /// Returns the delays of a server that works at once, for tests.
    pub const fn none() -> ControllerDelays {
        ControllerDelays {
            quiet: Duration::ZERO,
            longest_quiet: Duration::ZERO,
            settle: Duration::ZERO,
            gather: Duration::ZERO,
            retry: (Duration::from_millis(5), Duration::from_secs(1)),
        }
    }
}

impl Default for ControllerDelays {
    fn default() -> ControllerDelays {
        ControllerDelays {
            quiet: Duration::from_millis(500),
            longest_quiet: Duration::from_secs(2),
            settle: Duration::from_secs(2),
            gather: Duration::from_millis(100),
            retry: (Duration::from_secs(1), Duration::from_secs(30)),
        }
    }
}
