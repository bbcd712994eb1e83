//! The time, as a value that is passed in: tests and simulations pass their own.

use std::{
    sync::Arc,
    time::{Duration, SystemTime, UNIX_EPOCH},
};
use tenure_meta::Timestamp;
use tokio::{sync::watch, time};

/// A source of the current time.
#[derive(Clone)]
pub struct Clock {
    now: Arc<dyn Fn() -> Timestamp + Send + Sync>,
    /// Changes when the clock is set; `None` for a clock that is never set.
    moves: Option<watch::Receiver<()>>,
}

impl Clock {
    /// Creates a clock from a function.
    pub fn new(now: impl Fn() -> Timestamp + Send + Sync + 'static) -> Clock {
        Clock { now: Arc::new(now), moves: None }
    }

    /// Creates a clock that can be set: who waits for a time looks again whenever the channel is sent something.
    pub fn movable(now: impl Fn() -> Timestamp + Send + Sync + 'static, moves: watch::Receiver<()>) -> Clock {
        Clock { now: Arc::new(now), moves: Some(moves) }
    }

    /// Returns the current time.
    pub fn now(&self) -> Timestamp {
        (self.now)()
    }

    /// Waits until this clock shows a time that is later by `duration`.
    pub async fn sleep(&self, duration: Duration) {
        self.sleep_since(self.now(), duration).await;
    }

    /// Waits until this clock shows a time that is later than `start` by `duration`.
    pub async fn sleep_since(&self, start: Timestamp, duration: Duration) {
        let Some(mut moves) = self.moves.clone() else { return time::sleep(duration).await };
        let end = nanoseconds(start).saturating_add(duration.as_nanos() as i128);
        loop {
            moves.borrow_and_update();
            let left = u64::try_from(end - nanoseconds(self.now())).unwrap_or(0);
            if left == 0 {
                return;
            }
            let left = Duration::from_nanos(left);
            tokio::select! {
                () = time::sleep(left) => {}
                moved = moves.changed() => if moved.is_err() {
                    // The sender is gone, so the clock cannot be set any more.
                    return time::sleep(left).await;
                },
            }
        }
    }
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
}
