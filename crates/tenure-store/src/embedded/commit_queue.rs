//! The queue between the writers and the one thread that commits. The thread waits for an expected number of requests and is
//! woken when they have arrived: waking it for each would cost more than the requests.

use super::group_commit::Wait;
use parking_lot::{Condvar, Mutex, MutexGuard};
use std::fmt;
use std::time::{Duration, Instant};

/// The queue.
pub(super) struct CommitQueue<T> {
    state: Mutex<State<T>>,
    arrived: Condvar,
}

struct State<T> {
    waiting: Vec<T>,
    /// How many the reader waits for; `None` while it does not wait.
    expected: Option<usize>,
    closed: bool,
}

/// The result of waiting.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Delivery<T> {
    /// Requests, oldest first; empty if none arrived in time.
    Requests(Vec<T>),
    /// The queue is closed and empty.
    Closed,
}

impl<T> fmt::Debug for CommitQueue<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CommitQueue").finish_non_exhaustive()
    }
}

impl<T> Default for CommitQueue<T> {
    fn default() -> CommitQueue<T> {
        let state = State { waiting: Vec::new(), expected: None, closed: false };
        CommitQueue { state: Mutex::new(state), arrived: Condvar::new() }
    }
}

impl<T> CommitQueue<T> {
    /// Adds a request; returns it if the queue is closed.
    pub(super) fn push(&self, request: T) -> Result<(), T> {
        let mut state = self.state.lock();
        if state.closed {
            return Err(request);
        }
        state.waiting.push(request);
        if state.expected.is_some_and(|expected| state.waiting.len() >= expected) {
            state.expected = None;
            drop(state);
            self.arrived.notify_one();
        }
        Ok(())
    }

    /// Accepts no more requests; those in the queue are still delivered.
    pub(super) fn close(&self) {
        self.state.lock().closed = true;
        self.arrived.notify_one();
    }

    /// Waits for the expected requests, then possibly for more. If none arrive, waits for one request for at most `pause`, and
    /// then again for the others. Takes all requests.
    pub(super) fn take(&self, pause: Duration, [expected, more]: [Wait; 2]) -> Delivery<T> {
        let mut state = self.state.lock();
        // The writers of the last batch are about to return: waking up for the first one would be too early.
        self.wait(&mut state, expected);
        if state.waiting.is_empty() {
            self.wait(&mut state, (1, pause));
            if state.waiting.is_empty() {
                return if state.closed { Delivery::Closed } else { Delivery::Requests(Vec::new()) };
            }
            self.wait(&mut state, expected);
        }
        self.wait(&mut state, more);
        Delivery::Requests(std::mem::take(&mut state.waiting))
    }

    /// Waits for a number of requests, for at most some time.
    fn wait(&self, state: &mut MutexGuard<'_, State<T>>, (count, time): Wait) {
        let deadline = Instant::now() + time;
        while state.waiting.len() < count && !state.closed && !time.is_zero() {
            state.expected = Some(count);
            if self.arrived.wait_until(state, deadline).timed_out() {
                break;
            }
        }
        state.expected = None;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;

    const LONG: Duration = Duration::from_secs(60);
    const SHORT: Duration = Duration::from_millis(1);
    const NONE: Duration = Duration::ZERO;
    const NO_MORE: Wait = (1, NONE);

    #[test]
    fn queued_requests_are_taken_together_and_the_wait_is_limited() {
        let queue = CommitQueue::default();
        assert_eq!(queue.take(NONE, [(9, SHORT), NO_MORE]), Delivery::Requests(Vec::<u32>::new()));
        queue.push(1).unwrap();
        queue.push(2).unwrap();
        assert_eq!(queue.take(LONG, [(2, LONG), NO_MORE]), Delivery::Requests(vec![1, 2]));
        queue.push(3).unwrap();
        assert_eq!(queue.take(LONG, [(2, SHORT), NO_MORE]), Delivery::Requests(vec![3]));
    }

    #[test]
    fn a_closed_queue_delivers_remaining_requests() {
        let queue = CommitQueue::default();
        queue.push(1).unwrap();
        queue.close();
        assert_eq!(queue.push(2), Err(2));
        assert_eq!(queue.take(LONG, [(5, LONG), NO_MORE]), Delivery::Requests(vec![1]));
        assert_eq!(queue.take(LONG, [(5, LONG), NO_MORE]), Delivery::Closed);
    }

    #[test]
    fn the_reader_is_woken_when_the_expected_number_has_arrived() {
        let queue = Arc::new(CommitQueue::default());
        let reader = std::thread::spawn({
            let queue = queue.clone();
            move || {
                let mut taken = 0;
                while let Delivery::Requests(requests) = queue.take(LONG, [(4, LONG), NO_MORE]) {
                    assert!(requests.len() >= 4 || taken >= 396, "{} after {taken}", requests.len());
                    taken += requests.len();
                }
                taken
            }
        });
        let writers: Vec<_> = (0..4)
            .map(|_| {
                let queue = queue.clone();
                std::thread::spawn(move || (0..100).for_each(|number| queue.push(number).unwrap()))
            })
            .collect();
        writers.into_iter().for_each(|writer| writer.join().unwrap());
        queue.close();
        assert_eq!(reader.join().unwrap(), 400);
    }
}
