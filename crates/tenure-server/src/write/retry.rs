//! Retries after a conflict: how often, after which pause, and the error after too many.

use std::time::Duration;

/// How often a write is attempted while the object is changed concurrently.
pub(super) const ATTEMPTS: usize = 16;
/// From this attempt on a write waits before the next one, up to the longest pause.
const PAUSE_FROM: usize = 2;
const LONGEST_PAUSE: Duration = Duration::from_millis(64);

/// The message of a conflict with a concurrent write.
pub(super) const MODIFIED: &str =
    "the object has been modified; please apply your changes to the latest version and try again";

/// Waits before the next attempt: longer after each, and a random part of it, so that no writer starves.
pub(super) async fn pause(attempt: usize) {
    let Some(doublings) = attempt.checked_sub(PAUSE_FROM) else { return };
    let most = LONGEST_PAUSE.min(Duration::from_millis(1 << doublings.min(16)));
    let part = uuid::Uuid::new_v4().as_u128() as u32;
    tokio::time::sleep(most.mul_f64(f64::from(part) / f64::from(u32::MAX))).await;
}
