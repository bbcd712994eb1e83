//! The time, as a value that is passed in: tests and simulations bring their own.

use std::{
    sync::Arc,
    time::{SystemTime, UNIX_EPOCH},
};
use tenure_meta::Timestamp;

/// A source of the current time.
#[derive(Clone)]
pub struct Clock(Arc<dyn Fn() -> Timestamp + Send + Sync>);

impl Clock {
    /// Creates a clock that asks a function.
    pub fn new(now: impl Fn() -> Timestamp + Send + Sync + 'static) -> Clock {
        Clock(Arc::new(now))
    }

    /// Returns the current time.
    pub fn now(&self) -> Timestamp {
        (self.0)()
    }
}

impl Default for Clock {
    /// The system's clock.
    fn default() -> Clock {
        Clock::new(|| {
            let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
            Timestamp { seconds: since.as_secs() as i64, nanos: since.subsec_nanos() }
        })
    }
}
