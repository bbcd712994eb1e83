//! The state that a local store serves from: index, history and watchers behind one lock that is never held for
//! long. Writers differ in how they make a commit durable first; reading and watching is the same for all.

#[cfg(feature = "etcd")]
use crate::Change;
use crate::entry::Commit;
use crate::history::History;
use crate::index::Index;
use crate::limits::{HistoryLimits, LIST_STRIDE, SCAN_STRIDE};
use crate::state::State;
use crate::topic::{NextMatch, Topic, Topics, wake};
use crate::transaction::validate_key;
use crate::{Changes, Compaction, Entry, Error, ListRequest, Listing, Result, Revision};
use bytes::Bytes;
use parking_lot::{Mutex, RwLock, RwLockReadGuard};
use std::sync::Arc;

/// The state and those who watch it.
#[derive(Debug, Default)]
pub(crate) struct SharedState {
    guarded: RwLock<Guarded>,
    /// Locked after `guarded`, never before.
    topics: Mutex<Topics>,
}

#[derive(Debug, Default)]
struct Guarded {
    state: State,
    /// Raised when the state is replaced or closed: watchers of the one before are over.
    epoch: u64,
    end: End,
}

/// Why the watches of the state before are over.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum End {
    /// The state was replaced by another, in which what they saw may never have happened.
    #[default]
    Replaced,
    /// What happened since is not known.
    #[cfg(feature = "etcd")]
    Lost,
    Closed,
}

/// A transaction that happened elsewhere: the entries it left, or the keys it deleted.
#[cfg(feature = "etcd")]
#[derive(Debug)]
pub(crate) struct Arrival {
    pub(crate) revision: Revision,
    pub(crate) written_at: u64,
    pub(crate) after: Vec<(Bytes, Option<Entry>)>,
}

#[cfg(feature = "etcd")]
impl Arrival {
    fn into_commit(self, index: &Index) -> Option<Arc<Commit>> {
        let change = |(key, current): (Bytes, Option<Entry>)| {
            let previous = index.get(&key).cloned();
            let key = previous.as_ref().map_or(key, |entry| entry.key.clone());
            (previous.is_some() || current.is_some()).then_some(Change { key, previous, current })
        };
        let mut changes: Vec<Change> = self.after.into_iter().filter_map(change).collect();
        changes.sort_by(|a, b| a.key.cmp(&b.key));
        let commit = Commit { revision: self.revision, written_at: self.written_at, changes: changes.into() };
        (!commit.changes.is_empty()).then(|| Arc::new(commit))
    }
}

/// A watcher's place in the history.
#[derive(Debug)]
pub(crate) struct Place {
    pub(crate) topic: Arc<Topic>,
    pub(crate) seen: Revision,
    epoch: u64,
}

impl SharedState {
    /// Starts with a recovered or copied state.
    pub(crate) fn new(state: State) -> SharedState {
        SharedState {
            guarded: RwLock::new(Guarded { state, ..Guarded::default() }),
            topics: Mutex::default(),
        }
    }

    /// Looks at the state. Writers wait meanwhile.
    pub(crate) fn read<T>(&self, look: impl FnOnce(&State) -> T) -> T {
        look(&self.guarded.read().state)
    }

    /// Makes commits visible, forgets history up to a revision and wakes the watchers.
    pub(crate) fn advance(&self, commits: &[Arc<Commit>], forget: Revision) {
        let mut touched = Vec::new();
        {
            let mut guarded = self.guarded.write();
            let topics = self.topics.lock();
            for commit in commits {
                guarded.state.apply(commit.clone());
                topics.publish(commit, &mut touched);
            }
            guarded.state.forget(forget);
        }
        wake(touched);
    }

    /// Takes over what happened elsewhere, oldest first, and forgets what the limits let go.
    #[cfg(feature = "etcd")]
    pub(crate) fn take_over(&self, arrivals: Vec<Arrival>, limits: &HistoryLimits, now: u64) {
        let mut touched = Vec::new();
        {
            let mut guarded = self.guarded.write();
            let topics = self.topics.lock();
            for arrival in arrivals {
                let revision = arrival.revision;
                if let Some(commit) = arrival.into_commit(&guarded.state.index) {
                    topics.publish(&commit, &mut touched);
                    guarded.state.apply(commit);
                }
                guarded.state.history.reach(revision);
            }
            let forget = guarded.state.history.limit(limits, now);
            guarded.state.forget(forget);
        }
        wake(touched);
    }

    /// Decides and applies in one step under the lock, for stores that need no disk.
    pub(crate) fn update<T>(
        &self,
        limits: &HistoryLimits,
        now: u64,
        decide: impl FnOnce(&State) -> Result<(T, Vec<Arc<Commit>>)>,
    ) -> Result<T> {
        let mut touched = Vec::new();
        let mut guarded = self.guarded.write();
        let (answer, commits) = decide(&guarded.state)?;
        {
            let topics = self.topics.lock();
            for commit in commits {
                topics.publish(&commit, &mut touched);
                guarded.state.apply(commit);
            }
        }
        let forget = guarded.state.history.limit(limits, now);
        guarded.state.forget(forget);
        drop(guarded);
        wake(touched);
        Ok(answer)
    }

    /// Forgets history and returns the oldest revision that can still be read.
    pub(crate) fn compact(&self, compaction: Compaction, now: u64) -> Revision {
        let mut guarded = self.guarded.write();
        let target = guarded.state.history.target(compaction, now);
        guarded.state.forget(target);
        guarded.state.history.compacted()
    }

    /// Puts another state in place; watches of the one before end.
    pub(crate) fn replace(&self, state: State) {
        self.end_watches(End::Replaced, |guarded| guarded.state = state);
    }

    /// Puts a later state in place; what happened in between is not known, and watches end with "too old".
    #[cfg(feature = "etcd")]
    pub(crate) fn resume_at(&self, state: State) {
        self.end_watches(End::Lost, |guarded| guarded.state = state);
    }

    /// Ends all watches; nothing is written after this.
    pub(crate) fn close(&self) {
        self.end_watches(End::Closed, |_| {});
    }

    fn end_watches(&self, end: End, change: impl FnOnce(&mut Guarded)) {
        let mut guarded = self.guarded.write();
        change(&mut guarded);
        guarded.end = end;
        guarded.epoch += 1;
        let topics = self.topics.lock().dissolve();
        drop(guarded);
        wake(topics);
    }

    /// Returns the entry under a key.
    pub(crate) fn get(&self, key: &[u8]) -> Result<Option<Entry>> {
        validate_key(key)?;
        Ok(self.read(|state| state.index.get(key).cloned()))
    }

    /// Lists in strides, letting writers pass between them: the kept versions make all strides show one revision.
    /// Only if compaction overtakes the listing is the rest read in one go, from the start.
    pub(crate) fn list(&self, request: &ListRequest) -> Result<Listing> {
        let mut guarded = self.guarded.read();
        let current = guarded.state.history.newest();
        let at = request.at.unwrap_or(current);
        guarded.state.check_readable(at)?;
        let mut page = Page::new(request, at);
        while page.read(&guarded.state, LIST_STRIDE) == Progress::More {
            RwLockReadGuard::bump(&mut guarded);
            if at < guarded.state.history.compacted() {
                if request.at.is_some() {
                    guarded.state.check_readable(at)?;
                }
                page = Page::new(request, guarded.state.history.newest());
                page.read(&guarded.state, usize::MAX);
                break;
            }
        }
        Ok(page.listing)
    }

    /// Starts watching a prefix after a revision.
    pub(crate) fn join(&self, prefix: &Bytes, after: Option<Revision>) -> Result<Place> {
        let guarded = self.guarded.read();
        if guarded.end == End::Closed {
            return Err(Error::Closed);
        }
        let current = guarded.state.history.newest();
        let seen = after.unwrap_or(current);
        guarded.state.check_readable(seen)?;
        let topic = self.topics.lock().join(prefix, current);
        Ok(Place { topic, seen, epoch: guarded.epoch })
    }

    /// Stops watching.
    pub(crate) fn leave(&self, place: &Place) {
        self.topics.lock().leave(&place.topic);
    }

    /// Moves a place to the newest revision if nothing waits for it.
    pub(crate) fn catch_up(&self, place: &mut Place) {
        let guarded = self.guarded.read();
        if guarded.epoch == place.epoch && place.topic.next_match(place.seen) == NextMatch::None {
            place.seen = guarded.state.history.newest();
        }
    }

    /// Returns the next changes after a place and moves it there; none if there are none yet.
    pub(crate) fn next(&self, place: &mut Place) -> Result<Option<Changes>> {
        loop {
            let guarded = self.guarded.read();
            let history = &guarded.state.history;
            if guarded.epoch != place.epoch {
                return Err(match guarded.end {
                    #[cfg(feature = "etcd")]
                    End::Lost => Error::TooOld { requested: place.seen, oldest: history.compacted() },
                    End::Replaced | End::Closed => Error::Closed,
                });
            }
            match place.topic.next_match(place.seen) {
                NextMatch::None => {
                    place.seen = history.newest();
                    return Ok(None);
                }
                NextMatch::At(revision) => {
                    let commit = history
                        .get(revision)
                        .ok_or(Error::TooOld { requested: place.seen, oldest: history.compacted() })?;
                    place.seen = revision;
                    return Ok(Changes::of(commit, &place.topic.prefix));
                }
                NextMatch::SearchTo(end) => {
                    if let Some(changes) = search(history, place, end)? {
                        return Ok(Some(changes));
                    }
                }
            }
        }
    }
}

/// Searches a stride of the history for changes under the place's prefix.
fn search(history: &History, place: &mut Place, end: Revision) -> Result<Option<Changes>> {
    if place.seen < history.compacted() {
        return Err(Error::TooOld { requested: place.seen, oldest: history.compacted() });
    }
    let stride = usize::try_from(SCAN_STRIDE).unwrap_or(usize::MAX);
    let mut searched = 0;
    for commit in history.after(place.seen).take_while(|commit| commit.revision <= end).take(stride) {
        searched += 1;
        place.seen = commit.revision;
        if let Some(changes) = Changes::of(commit, &place.topic.prefix) {
            return Ok(Some(changes));
        }
    }
    if searched < stride {
        // All that the topic does not remember has been looked at.
        place.seen = place.seen.max(end);
    }
    Ok(None)
}

/// Whether a stride finished a listing.
#[derive(PartialEq, Eq)]
enum Progress {
    More,
    Done,
}

/// A listing on its way.
struct Page<'a> {
    request: &'a ListRequest,
    from: Bytes,
    listing: Listing,
}

impl<'a> Page<'a> {
    fn new(request: &'a ListRequest, revision: Revision) -> Page<'a> {
        let listing = Listing { entries: Vec::new(), revision, remaining: 0, next: None };
        Page { request, from: request.from.clone(), listing }
    }

    fn read(&mut self, state: &State, stride: usize) -> Progress {
        let limit = self.request.limit.unwrap_or(usize::MAX);
        let from = std::mem::take(&mut self.from);
        let range = state.index.range(&self.request.prefix, &from, self.listing.revision);
        for (count, entry) in range.enumerate() {
            if count == stride {
                self.from = entry.key.clone();
                return Progress::More;
            }
            if self.listing.entries.len() < limit {
                self.listing.entries.push(entry.clone());
                continue;
            }
            if self.listing.next.is_none() {
                self.listing.next = Some(entry.key.clone());
            }
            self.listing.remaining += 1;
        }
        Progress::Done
    }
}
