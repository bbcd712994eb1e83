//! The time, as a value that is passed in: tests and simulations pass their own.

use std::{
    sync::Arc,
    time::{Duration, SystemTime, UNIX_EPOCH},
};
use tenure_meta::Timestamp;
use tokio::{
    sync::watch,
    time::{self, Instant},
};

/// Thirty years.
const FAR: Duration = Duration::from_secs(30 * 365 * 24 * 3600);

/// A source of the current time, and of timers that follow it.
#[derive(Clone)]
pub struct Clock {
    now: Arc<dyn Fn() -> Timestamp + Send + Sync>,
    /// `None` for a clock that is never set.
    moves: Option<Arc<Moves>>,
}

/// How a clock that can be set is followed.
struct Moves {
    /// Changes when the clock is set.
    changes: watch::Receiver<()>,
    /// A moment, and the time that the clock showed then.
    origin: (Instant, Timestamp),
}

impl Moves {
    /// Returns the moment at which the clock shows a time.
    fn moment(&self, time: Timestamp) -> Instant {
        let (origin, shown) = self.origin;
        let passed = nanoseconds(time) - nanoseconds(shown);
        let distance = Duration::from_nanos(u64::try_from(passed.unsigned_abs()).unwrap_or(u64::MAX));
        let moment = if passed < 0 { origin.checked_sub(distance) } else { origin.checked_add(distance) };
        moment.unwrap_or(origin)
    }
}

impl Clock {
    /// Creates a clock from a function.
    pub fn new(now: impl Fn() -> Timestamp + Send + Sync + 'static) -> Clock {
        Clock { now: Arc::new(now), moves: None }
    }

    /// Creates a clock that can be set: who waits for a time looks again whenever the channel is sent something.
    pub fn movable(
        now: impl Fn() -> Timestamp + Send + Sync + 'static,
        changes: watch::Receiver<()>,
    ) -> Clock {
        let origin = (Instant::now(), now());
        Clock { now: Arc::new(now), moves: Some(Arc::new(Moves { changes, origin })) }
    }

    /// Returns the current time.
    pub fn now(&self) -> Timestamp {
        (self.now)()
    }

    /// Returns a moment to measure durations from, which only this clock's moments can be compared with. Where the clock cannot be
    /// set it is monotonic, whatever happens to the time of the system.
    pub fn instant(&self) -> Instant {
        self.moves.as_ref().map_or_else(Instant::now, |moves| moves.moment(self.now()))
    }

    /// Waits until this clock shows a time that is later by `duration`.
    pub async fn sleep(&self, duration: Duration) {
        self.sleep_until(later(self.instant(), duration)).await;
    }

    /// Waits until this clock shows a time that is later than `start` by `duration`.
    pub async fn sleep_since(&self, start: Timestamp, duration: Duration) {
        let start = self.moves.as_ref().map_or_else(Instant::now, |moves| moves.moment(start));
        self.sleep_until(later(start, duration)).await;
    }

    /// Waits until [`instant`](Clock::instant) reaches a moment.
    pub async fn sleep_until(&self, end: Instant) {
        match &self.moves {
            None => time::sleep_until(end).await,
            // Boxed, so that waiting for a clock that cannot be set takes no memory for this.
            Some(moves) => Box::pin(self.follow(end, moves.changes.clone())).await,
        }
    }

    async fn follow(&self, end: Instant, mut changes: watch::Receiver<()>) {
        loop {
            changes.borrow_and_update();
            let left = end.saturating_duration_since(self.instant());
            if left.is_zero() {
                return;
            }
            tokio::select! {
                () = time::sleep(left) => {}
                changed = changes.changed() => if changed.is_err() {
                    // The sender is gone, so the clock cannot be set any more.
                    return time::sleep(left).await;
                },
            }
        }
    }
}

/// Returns a later moment; one that is far away if the exact one cannot be represented.
fn later(start: Instant, duration: Duration) -> Instant {
    start.checked_add(duration).unwrap_or_else(|| start + FAR)
}

/// Returns a time in nanoseconds since 1970.
fn nanoseconds(time: Timestamp) -> i128 {
    i128::from(time.seconds) * 1_000_000_000 + i128::from(time.nanos)
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

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicI64, Ordering::SeqCst};

    #[tokio::test]
    async fn who_waits_for_a_time_is_woken_when_the_clock_is_set() {
        let seconds = Arc::new(AtomicI64::new(0));
        let (sender, moves) = watch::channel(());
        let shown = seconds.clone();
        let clock = Clock::movable(move || Timestamp { seconds: shown.load(SeqCst), nanos: 0 }, moves);
        let sleeping = tokio::spawn(async move { clock.sleep(Duration::from_secs(3600)).await });
        tokio::task::yield_now().await;
        seconds.store(3599, SeqCst);
        sender.send_replace(());
        tokio::task::yield_now().await;
        assert!(!sleeping.is_finished());
        seconds.store(3600, SeqCst);
        sender.send_replace(());
        sleeping.await.unwrap();
    }

    #[tokio::test]
    async fn moments_follow_the_clock_in_both_directions() {
        let seconds = Arc::new(AtomicI64::new(100));
        let (_sender, moves) = watch::channel(());
        let shown = seconds.clone();
        let clock = Clock::movable(move || Timestamp { seconds: shown.load(SeqCst), nanos: 0 }, moves);
        let start = clock.instant();
        assert_eq!(clock.instant(), start, "the clock stands still");
        for (at, later, earlier) in [(160, 60, 0), (99, 0, 1)] {
            seconds.store(at, SeqCst);
            let moved = clock.instant();
            assert_eq!(moved.saturating_duration_since(start), Duration::from_secs(later));
            assert_eq!(start.saturating_duration_since(moved), Duration::from_secs(earlier));
        }
        // A moment that has passed is not waited for.
        seconds.store(160, SeqCst);
        clock.sleep_until(start + Duration::from_secs(60)).await;
        clock.sleep_since(Timestamp { seconds: 100, nanos: 0 }, Duration::from_secs(59)).await;
    }
}
