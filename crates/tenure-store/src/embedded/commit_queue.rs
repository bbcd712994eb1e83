//! Where writers leave their requests for the one thread that carries them out. It says how many it hopes for, and is
//! woken when they are there: waking it for each would cost more than the requests do.

use super::group_commit::Wait;
use parking_lot::{Condvar, Mutex, MutexGuard};
use std::fmt;
use std::time::{Duration, Instant};

/// The requests that wait.
pub(super) struct CommitQueue<T> {
    state: Mutex<State<T>>,
    enough: Condvar,
}

struct State<T> {
    waiting: Vec<T>,
    /// How many the reader waits for; none while it does not wait.
    hoped_for: Option<usize>,
    closed: bool,
}

/// What there is to do.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Delivery<T> {
    /// Requests, oldest first; none if nobody came in time.
    Requests(Vec<T>),
    /// No more will come.
    Closed,
}

impl<T> fmt::Debug for CommitQueue<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CommitQueue").finish_non_exhaustive()
    }
}

impl<T> Default for CommitQueue<T> {
    fn default() -> CommitQueue<T> {
        let state = State { waiting: Vec::new(), hoped_for: None, closed: false };
        CommitQueue { state: Mutex::new(state), enough: Condvar::new() }
    }
}

impl<T> CommitQueue<T> {
    /// Leaves a request; gives it back if the inbox is closed.
    pub(super) fn leave(&self, request: T) -> Result<(), T> {
        let mut state = self.state.lock();
        if state.closed {
            return Err(request);
        }
        state.waiting.push(request);
        if state.hoped_for.is_some_and(|hoped_for| state.waiting.len() >= hoped_for) {
            state.hoped_for = None;
            drop(state);
            self.enough.notify_one();
        }
        Ok(())
    }

    /// Takes no more requests; those that wait are still delivered.
    pub(super) fn close(&self) {
        self.state.lock().closed = true;
        self.enough.notify_one();
    }

    /// Waits for those who are hoped for, then perhaps for more. If nobody comes, waits for one request, at most as long as
    /// the pause, and then once more for the others. Takes all that are there.
    pub(super) fn take(&self, pause: Duration, [hoped_for, more]: [Wait; 2]) -> Delivery<T> {
        let mut state = self.state.lock();
        // Those who come again are on their way: waking for the first of them, only to wait for the others, is left out.
        self.wait(&mut state, hoped_for);
        if state.waiting.is_empty() {
            self.wait(&mut state, (1, pause));
            if state.waiting.is_empty() {
                return if state.closed { Delivery::Closed } else { Delivery::Requests(Vec::new()) };
            }
            self.wait(&mut state, hoped_for);
        }
        self.wait(&mut state, more);
        Delivery::Requests(std::mem::take(&mut state.waiting))
    }

    /// Waits for so many requests, at most so long.
    fn wait(&self, state: &mut MutexGuard<'_, State<T>>, (count, time): Wait) {
        let deadline = Instant::now() + time;
        while state.waiting.len() < count && !state.closed && !time.is_zero() {
            state.hoped_for = Some(count);
            if self.enough.wait_until(state, deadline).timed_out() {
                break;
            }
        }
        state.hoped_for = None;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;

    const LONG: Duration = Duration::from_secs(60);
    const SHORT: Duration = Duration::from_millis(1);
    const NONE: Duration = Duration::ZERO;
    const NOBODY: Wait = (1, NONE);

    #[test]
    fn what_waits_is_taken_together_and_nobody_waits_for_more_than_patience() {
        let inbox = CommitQueue::default();
        assert_eq!(inbox.take(NONE, [(9, SHORT), NOBODY]), Delivery::Requests(Vec::<u32>::new()));
        inbox.leave(1).unwrap();
        inbox.leave(2).unwrap();
        assert_eq!(inbox.take(LONG, [(2, LONG), NOBODY]), Delivery::Requests(vec![1, 2]));
        inbox.leave(3).unwrap();
        assert_eq!(inbox.take(LONG, [(2, SHORT), NOBODY]), Delivery::Requests(vec![3]));
    }

    #[test]
    fn a_closed_inbox_delivers_what_is_left() {
        let inbox = CommitQueue::default();
        inbox.leave(1).unwrap();
        inbox.close();
        assert_eq!(inbox.leave(2), Err(2));
        assert_eq!(inbox.take(LONG, [(5, LONG), NOBODY]), Delivery::Requests(vec![1]));
        assert_eq!(inbox.take(LONG, [(5, LONG), NOBODY]), Delivery::Closed);
    }

    #[test]
    fn the_reader_is_woken_when_as_many_are_there_as_it_hopes_for() {
        let inbox = Arc::new(CommitQueue::default());
        let reader = std::thread::spawn({
            let inbox = inbox.clone();
            move || {
                let mut taken = 0;
                while let Delivery::Requests(requests) = inbox.take(LONG, [(4, LONG), NOBODY]) {
                    assert!(requests.len() >= 4 || taken >= 396, "{} after {taken}", requests.len());
                    taken += requests.len();
                }
                taken
            }
        });
        let writers: Vec<_> = (0..4)
            .map(|_| {
                let inbox = inbox.clone();
                std::thread::spawn(move || (0..100).for_each(|number| inbox.leave(number).unwrap()))
            })
            .collect();
        writers.into_iter().for_each(|writer| writer.join().unwrap());
        inbox.close();
        assert_eq!(reader.join().unwrap(), 400);
    }
}
