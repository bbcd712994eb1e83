//! Work and when it is due. A piece of work is in the queue once; if it is planned again while it is under way, it is done once
//! more.

use std::{
    collections::{BTreeSet, HashMap},
    hash::Hash,
};
use tokio::time::Instant;

/// Pieces of work and the times they are due.
pub struct WorkQueue<W> {
    due: BTreeSet<(Instant, W)>,
    planned: HashMap<W, Instant>,
    /// What is under way, and when it is due again.
    running: HashMap<W, Option<Instant>>,
}

impl<W: Clone + Eq + Hash + Ord> Default for WorkQueue<W> {
    fn default() -> WorkQueue<W> {
        WorkQueue { due: BTreeSet::new(), planned: HashMap::new(), running: HashMap::new() }
    }
}

impl<W: Clone + Eq + Hash + Ord> WorkQueue<W> {
    /// Plans work for a time, unless it is planned for an earlier one.
    pub fn plan(&mut self, work: W, at: Instant) {
        if let Some(again) = self.running.get_mut(&work) {
            *again = Some(again.map_or(at, |before| before.min(at)));
            return;
        }
        if let Some(before) = self.planned.get(&work) {
            if *before <= at {
                return;
            }
            self.due.remove(&(*before, work.clone()));
        }
        self.planned.insert(work.clone(), at);
        self.due.insert((at, work));
    }

    /// Postpones work that is planned; other work stays as it is.
    pub fn postpone(&mut self, work: &W, at: Instant) {
        if let Some(before) = self.planned.get_mut(work).filter(|before| **before < at) {
            self.due.remove(&(*before, work.clone()));
            *before = at;
            self.due.insert((at, work.clone()));
        }
    }

    /// Returns when the next work is due.
    pub fn next(&self) -> Option<Instant> {
        self.due.first().map(|(at, _)| *at)
    }

    /// Returns the work that is planned and when it is due, earliest first.
    pub fn planned(&self) -> impl Iterator<Item = (&W, Instant)> {
        self.due.iter().map(|(at, work)| (work, *at))
    }

    /// Returns the number of pieces under way.
    pub fn running(&self) -> usize {
        self.running.len()
    }

    /// Starts the next piece that is due.
    pub fn take(&mut self, now: Instant) -> Option<W> {
        if self.next()? > now {
            return None;
        }
        let (_, work) = self.due.pop_first()?;
        self.planned.remove(&work);
        self.running.insert(work.clone(), None);
        Some(work)
    }

    /// Ends a piece that was under way; `again` is when it is retried, if it is.
    pub fn end(&mut self, work: W, again: Option<Instant>) {
        let asked = self.running.remove(&work).flatten();
        if let Some(at) = [asked, again].into_iter().flatten().min() {
            self.plan(work, at);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn work_added_while_running_runs_again() {
        let start = Instant::now();
        let at = |seconds| start + Duration::from_secs(seconds);
        let mut queue = WorkQueue::default();
        queue.plan("a", at(5));
        queue.plan("b", at(3));
        queue.plan("a", at(9));
        queue.plan("a", at(2));
        assert_eq!(queue.next(), Some(at(2)));
        assert_eq!(queue.planned().collect::<Vec<_>>(), [(&"a", at(2)), (&"b", at(3))]);
        assert_eq!(queue.take(at(1)), None);
        assert_eq!(queue.take(at(2)), Some("a"));
        assert_eq!(queue.running(), 1);
        queue.plan("a", at(4));
        assert_eq!(queue.take(at(9)), Some("b"), "work under way is not started again");
        queue.end("a", Some(at(6)));
        queue.end("b", None);
        assert_eq!(queue.take(at(9)), Some("a"));
        queue.end("a", None);
        assert_eq!((queue.next(), queue.running()), (None, 0));
    }

    #[test]
    fn postponed_work_is_done_later() {
        let start = Instant::now();
        let mut queue = WorkQueue::default();
        queue.plan("a", start);
        queue.postpone(&"a", start + Duration::from_secs(1));
        queue.postpone(&"b", start + Duration::from_secs(1));
        assert_eq!(queue.take(start), None);
        assert_eq!(queue.take(start + Duration::from_secs(1)), Some("a"));
        assert_eq!(queue.next(), None);
    }
}
