//! The clock that commits are stamped with. Only ages depend on it, never the order of commits: a clock that is set back, or
//! before 1970, only delays or hastens the compaction of history.

use std::fmt;
use std::sync::Arc;
use std::time::SystemTime;

/// A source of the current time; the system clock by default.
#[derive(Clone)]
pub struct Clock(Arc<dyn Fn() -> SystemTime + Send + Sync>);

impl Clock {
    /// Makes a clock from a function, for tests that move time.
    pub fn new(now: impl Fn() -> SystemTime + Send + Sync + 'static) -> Clock {
        Clock(Arc::new(now))
    }

    /// Returns the milliseconds since 1970; zero before that.
    pub(crate) fn millis(&self) -> u64 {
        let since = self.0().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
    }
}

impl Default for Clock {
    fn default() -> Clock {
        Clock::new(SystemTime::now)
    }
}

impl fmt::Debug for Clock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Clock")
    }
}
