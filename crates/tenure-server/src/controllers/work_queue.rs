//! What is to be done, and when. A piece of work is on the agenda once; while it is under way it can be asked for again,
//! and is then done once more.

use std::{
    collections::{BTreeSet, HashMap},
    hash::Hash,
};
use tokio::time::Instant;

/// Work with the times it is due.
pub(super) struct WorkQueue<W> {
    due: BTreeSet<(Instant, W)>,
    planned: HashMap<W, Instant>,
    /// What is under way, and when it is to be done again.
    running: HashMap<W, Option<Instant>>,
}

impl<W: Clone + Eq + Hash + Ord> Default for WorkQueue<W> {
    fn default() -> WorkQueue<W> {
        WorkQueue { due: BTreeSet::new(), planned: HashMap::new(), running: HashMap::new() }
    }
}

impl<W: Clone + Eq + Hash + Ord> WorkQueue<W> {
    /// Plans work for a time, or sooner if it is planned for sooner.
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

    /// Puts off what is planned; what is not planned or under way stays as it is.
    pub fn put_off(&mut self, work: &W, at: Instant) {
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

    /// Returns how much is under way.
    pub fn running(&self) -> usize {
        self.running.len()
    }

    /// Takes the next work that is due at a time; it is under way then.
    pub fn take(&mut self, now: Instant) -> Option<W> {
        if self.next()? > now {
            return None;
        }
        let (_, work) = self.due.pop_first()?;
        self.planned.remove(&work);
        self.running.insert(work.clone(), None);
        Some(work)
    }

    /// Ends work that was under way; `again` says when it is to be tried once more, if it is.
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
    fn work_is_done_once_and_again_when_asked_meanwhile() {
        let start = Instant::now();
        let at = |seconds| start + Duration::from_secs(seconds);
        let mut agenda = WorkQueue::default();
        agenda.plan("a", at(5));
        agenda.plan("b", at(3));
        agenda.plan("a", at(9));
        agenda.plan("a", at(2));
        assert_eq!(agenda.next(), Some(at(2)));
        assert_eq!(agenda.take(at(1)), None);
        assert_eq!(agenda.take(at(2)), Some("a"));
        assert_eq!(agenda.running(), 1);
        agenda.plan("a", at(4));
        assert_eq!(agenda.take(at(9)), Some("b"), "what is under way is not begun again");
        agenda.end("a", Some(at(6)));
        agenda.end("b", None);
        assert_eq!(agenda.take(at(9)), Some("a"));
        agenda.end("a", None);
        assert_eq!((agenda.next(), agenda.running()), (None, 0));
    }

    #[test]
    fn what_is_put_off_is_done_later() {
        let start = Instant::now();
        let mut agenda = WorkQueue::default();
        agenda.plan("a", start);
        agenda.put_off(&"a", start + Duration::from_secs(1));
        agenda.put_off(&"b", start + Duration::from_secs(1));
        assert_eq!(agenda.take(start), None);
        assert_eq!(agenda.take(start + Duration::from_secs(1)), Some("a"));
        assert_eq!(agenda.next(), None);
    }
}
