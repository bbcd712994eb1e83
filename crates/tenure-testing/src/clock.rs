//! The clock of a test server. It follows the system's clock or is stopped, and the test can move it.

use parking_lot::Mutex;
use std::{
    fmt,
    sync::Arc,
    time::{Duration, SystemTime, UNIX_EPOCH},
};
use tenure_catalog::Clock;
use tenure_meta::{Timestamp, time::Precision};
use tokio::sync::watch;

/// The time of a test server: creation times, expiring tokens and events, the age of history, bookmarks and timeouts of watches, and
/// timeouts of webhooks follow it.
#[derive(Clone)]
pub struct TestClock(Arc<Inner>);

struct Inner {
    state: Mutex<State>,
    moves: watch::Sender<()>,
}

#[derive(Clone, Copy)]
struct State {
    /// How far the clock is ahead of the system's, if it runs.
    ahead: Duration,
    /// The time at which it is stopped.
    stands_at: Option<SystemTime>,
}

impl State {
    fn now(&self) -> SystemTime {
        self.stands_at.unwrap_or_else(|| SystemTime::now() + self.ahead)
    }
}

impl TestClock {
    /// Returns a clock that runs with the system's.
    pub(crate) fn running() -> TestClock {
        TestClock::with(State { ahead: Duration::ZERO, stands_at: None })
    }

    /// Returns a stopped clock.
    pub(crate) fn standing(at: SystemTime) -> TestClock {
        TestClock::with(State { ahead: Duration::ZERO, stands_at: Some(at) })
    }

    fn with(state: State) -> TestClock {
        TestClock(Arc::new(Inner { state: Mutex::new(state), moves: watch::Sender::new(()) }))
    }

    /// Returns a clock that shows the same time and moves by itself.
    pub(crate) fn fork(&self) -> TestClock {
        TestClock::with(*self.0.state.lock())
    }

    /// Takes the time of another clock.
    pub(crate) fn follow(&self, other: &TestClock) {
        let state = *other.0.state.lock();
        *self.0.state.lock() = state;
        self.0.moves.send_replace(());
    }

    /// Returns the current time.
    pub fn now(&self) -> SystemTime {
        self.0.state.lock().now()
    }

    /// Returns the current time as objects show it, such as `2026-01-01T00:00:00Z`.
    pub fn text(&self) -> String {
        timestamp(self.now()).format(Precision::Seconds)
    }

    /// Moves the clock forward. Timers of the server that are due by then fire.
    pub fn advance(&self, by: Duration) {
        let mut state = self.0.state.lock();
        match &mut state.stands_at {
            Some(at) => *at += by,
            None => state.ahead += by,
        }
        drop(state);
        self.0.moves.send_replace(());
    }

    /// Stops the clock: from now on only [`advance`](TestClock::advance) moves it.
    pub fn stop(&self) {
        let mut state = self.0.state.lock();
        state.stands_at = Some(state.now());
    }

    /// Returns the clock for a server.
    pub(crate) fn for_server(&self) -> Clock {
        let clock = self.clone();
        Clock::movable(move || timestamp(clock.now()), self.0.moves.subscribe())
    }

    /// Returns the clock for a store.
    pub(crate) fn for_store(&self) -> tenure_store::Clock {
        let clock = self.clone();
        tenure_store::Clock::new(move || clock.now())
    }
}

impl fmt::Debug for TestClock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "TestClock({})", self.text())
    }
}

fn timestamp(time: SystemTime) -> Timestamp {
    let since = time.duration_since(UNIX_EPOCH).unwrap_or_default();
    Timestamp { seconds: since.as_secs() as i64, nanos: since.subsec_nanos() }
}
