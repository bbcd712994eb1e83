//! Topics: the prefixes that are being watched. A commit wakes only the watchers of the topics that it touches, and a topic
//! remembers its latest matches, so that a woken watcher need not search the history. Of many watchers it wakes a few, each of which
//! wakes another: thousands of tasks at once would keep everything else waiting.

use crate::Revision;
use crate::entry::Commit;
use crate::limits::RECENT_MATCHES;
use bytes::Bytes;
use parking_lot::Mutex;
use std::collections::{BTreeMap, HashMap, VecDeque};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use tokio::sync::Notify;

/// How many watchers of a topic a commit wakes at once.
const WOKEN_AT_ONCE: usize = 16;

/// A watched prefix.
#[derive(Debug)]
pub(crate) struct Topic {
    pub(crate) prefix: Bytes,
    pub(crate) changed: Notify,
    watchers: AtomicUsize,
    /// The newest match; watchers that have seen it know without a lock that nothing is pending.
    latest: AtomicU64,
    /// The newest match of which a few watchers were woken, who wake the others.
    relayed: AtomicU64,
    matches: Mutex<Matches>,
}

/// The revisions that touched the prefix, all of those after `complete_after`.
#[derive(Debug)]
struct Matches {
    complete_after: Revision,
    recent: VecDeque<Revision>,
}

/// Where a watcher finds the next change after its position.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum NextMatch {
    /// This is the next revision that touched the prefix.
    At(Revision),
    /// No commit has touched the prefix since.
    None,
    /// Unknown: the history up to this revision has to be searched.
    SearchTo(Revision),
}

impl Topic {
    /// Returns the number of watchers.
    pub(crate) fn watchers(&self) -> usize {
        self.watchers.load(Ordering::Relaxed)
    }

    /// Tells whether there may be a change after a revision.
    pub(crate) fn has_news(&self, after: Revision) -> bool {
        self.latest.load(Ordering::Acquire) > after.get()
    }

    /// Wakes the watchers: all of a few, or some of many.
    fn wake(&self) {
        if self.watchers() <= WOKEN_AT_ONCE {
            self.changed.notify_waiters();
            return;
        }
        self.relayed.store(self.latest.load(Ordering::Acquire), Ordering::Release);
        // Those who wait since before the commit are woken before those who wait since, since a watcher looks for news when it begins.
        for _ in 0..WOKEN_AT_ONCE {
            self.changed.notify_one();
        }
    }

    /// Wakes the next watcher, for one that was woken and has seen what is before a revision. The one that finds nothing new wakes no
    /// other: all behind it wait since after the commit.
    pub(crate) fn pass_on(&self, seen: Revision) {
        if self.relayed.load(Ordering::Acquire) > seen.get() {
            self.changed.notify_one();
        }
    }

    /// Finds the first match after a revision.
    pub(crate) fn next_match(&self, after: Revision) -> NextMatch {
        let matches = self.matches.lock();
        if after < matches.complete_after {
            return NextMatch::SearchTo(matches.complete_after);
        }
        let seen = matches.recent.partition_point(|revision| *revision <= after);
        matches.recent.get(seen).map_or(NextMatch::None, |revision| NextMatch::At(*revision))
    }

    fn matched(&self, revision: Revision) {
        let mut matches = self.matches.lock();
        if matches.recent.back() == Some(&revision) {
            return;
        }
        if matches.recent.len() == RECENT_MATCHES
            && let Some(oldest) = matches.recent.pop_front()
        {
            matches.complete_after = oldest;
        }
        matches.recent.push_back(revision);
        self.latest.store(revision.get(), Ordering::Release);
    }
}

/// The topics.
#[derive(Debug, Default)]
pub(crate) struct Topics {
    by_prefix: HashMap<Bytes, Arc<Topic>>,
    /// How many topics have a prefix of each length: a key is looked up once per length, not once per topic.
    lengths: BTreeMap<usize, usize>,
}

impl Topics {
    /// Adds a watcher of a prefix. A new topic knows all matches after the current revision.
    pub(crate) fn join(&mut self, prefix: &Bytes, current: Revision) -> Arc<Topic> {
        if let Some(topic) = self.by_prefix.get(prefix) {
            topic.watchers.fetch_add(1, Ordering::Relaxed);
            return topic.clone();
        }
        let matches = Matches { complete_after: current, recent: VecDeque::new() };
        let prefix = Bytes::copy_from_slice(prefix);
        let topic = Arc::new(Topic {
            prefix: prefix.clone(),
            changed: Notify::new(),
            watchers: AtomicUsize::new(1),
            latest: AtomicU64::new(current.get()),
            relayed: AtomicU64::new(0),
            matches: matches.into(),
        });
        *self.lengths.entry(prefix.len()).or_default() += 1;
        self.by_prefix.insert(prefix, topic.clone());
        topic
    }

    /// Removes a watcher, and with the last one the topic.
    pub(crate) fn leave(&mut self, left: &Arc<Topic>) {
        let prefix = &left.prefix;
        let Some(topic) = self.by_prefix.get(prefix) else { return };
        // A watcher of a replaced state does not belong to the topic that has its prefix now.
        if !Arc::ptr_eq(topic, left) {
            return;
        }
        // Watchers join and leave under the lock of the topics.
        if topic.watchers.fetch_sub(1, Ordering::Relaxed) > 1 {
            return;
        }
        self.by_prefix.remove(prefix);
        if let Some(count) = self.lengths.get_mut(&prefix.len()) {
            *count -= 1;
            if *count == 0 {
                self.lengths.remove(&prefix.len());
            }
        }
    }

    /// Notes a commit in the topics that it touches and adds these to `touched`, to be woken once the commit is visible.
    pub(crate) fn publish(&self, commit: &Commit, touched: &mut Vec<Arc<Topic>>) {
        for change in &commit.changes {
            for length in self.lengths.range(..=change.key.len()).map(|(length, _)| *length) {
                if let Some(topic) = self.by_prefix.get(&change.key[..length]) {
                    topic.matched(commit.revision);
                    touched.push(topic.clone());
                }
            }
        }
    }

    /// Removes all topics, since the state that they belong to was replaced, and returns them to wake their watchers.
    pub(crate) fn clear(&mut self) -> Vec<Arc<Topic>> {
        self.lengths.clear();
        let topics: Vec<_> = self.by_prefix.drain().map(|(_, topic)| topic).collect();
        for topic in &topics {
            topic.latest.store(u64::MAX, Ordering::Release);
        }
        topics
    }
}

/// Wakes the watchers of the topics, each topic once.
pub(crate) fn wake(mut touched: Vec<Arc<Topic>>) {
    touched.sort_by_key(Arc::as_ptr);
    touched.dedup_by(|a, b| Arc::ptr_eq(a, b));
    for topic in touched {
        topic.wake();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::KeyChange;

    fn commit(revision: u64, keys: &[&'static str]) -> Commit {
        let change = |key: &&'static str| KeyChange {
            key: Bytes::from_static(key.as_bytes()),
            previous: None,
            current: None,
        };
        let changes = keys.iter().map(change).collect();
        Commit { revision: Revision::from_number(revision), changes, ..Commit::default() }
    }

    #[test]
    fn a_commit_touches_only_the_topics_of_its_keys() {
        let mut topics = Topics::default();
        let join = |topics: &mut Topics, prefix: &'static str| topics.join(&prefix.into(), Revision::ZERO);
        let joined = ["", "a/", "a/b", "b/"].map(|prefix| join(&mut topics, prefix));
        let mut touched = Vec::new();
        topics.publish(&commit(1, &["a/b/c", "a/c"]), &mut touched);
        let matched = joined.iter().map(|topic| topic.next_match(Revision::ZERO) != NextMatch::None);
        assert_eq!(matched.collect::<Vec<_>>(), [true, true, true, false]);
        topics.leave(&joined[1]);
        assert!(topics.lengths.get(&2) == Some(&1) && topics.by_prefix.len() == 3);
        for place in [0, 2, 3] {
            topics.leave(&joined[place]);
        }
        assert!(topics.lengths.is_empty() && topics.by_prefix.is_empty(), "nothing is left behind");
    }

    #[test]
    fn a_topic_reports_when_the_history_has_to_be_searched() {
        let mut topics = Topics::default();
        let topic = topics.join(&"a".into(), Revision::ZERO);
        let count = RECENT_MATCHES as u64 + 10;
        for revision in 1..=count {
            topics.publish(&commit(revision, &["a", "a/"]), &mut Vec::new());
        }
        let forgotten = Revision::from_number(10);
        assert_eq!(topic.next_match(Revision::ZERO), NextMatch::SearchTo(forgotten));
        assert_eq!(topic.next_match(forgotten), NextMatch::At(forgotten.next()));
        assert_eq!(topic.next_match(Revision::from_number(count)), NextMatch::None);
    }
}
