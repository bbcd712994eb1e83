//! The state of a store and its watchers, behind one lock that is never held for long. The stores differ in how they make a
//! commit durable; reading and watching is the same for all.

#[cfg(feature = "etcd")]
use crate::KeyChange;
use crate::entry::Commit;
use crate::history::History;
#[cfg(feature = "etcd")]
use crate::index::Index;
use crate::limits::{HistoryLimits, LIST_STRIDE, PACK_STRIDE, SCAN_STRIDE};
use crate::state::State;
use crate::topic::{NextMatch, Topic, Topics, wake};
use crate::transaction::validate_key;
use crate::{
    Changes, Compaction, Entry, Error, LedgerPage, LedgerPosition, LedgerRequest, ListRequest, Listing,
    Result, Revision,
};
use bytes::Bytes;
use parking_lot::{Mutex, RwLock, RwLockReadGuard};
use std::sync::Arc;

/// The state and its watchers.
#[derive(Debug, Default)]
pub(crate) struct SharedState {
    guarded: RwLock<Guarded>,
    /// Locked after `guarded`, never before.
    topics: Mutex<Topics>,
}

#[derive(Debug, Default)]
struct Guarded {
    state: State,
    /// Incremented when the state is replaced or closed, which ends all watches.
    epoch: u64,
    end: End,
}

/// Why watches have ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum End {
    /// The state was replaced by another, in which the changes they saw may not exist.
    #[default]
    Replaced,
    /// The changes since are unknown.
    #[cfg(feature = "etcd")]
    Lost,
    Closed,
}

/// A transaction that another process may have committed: the entries that it put and the keys that it deleted.
#[cfg(feature = "etcd")]
#[derive(Debug)]
pub(crate) struct Arrival {
    pub(crate) revision: Revision,
    pub(crate) written_at: u64,
    pub(crate) after: Vec<(Bytes, Option<Entry>)>,
    pub(crate) records: Vec<(Bytes, Bytes)>,
}

#[cfg(feature = "etcd")]
impl Arrival {
    fn into_commit(mut self, index: &Index) -> Option<Arc<Commit>> {
        let change = |(key, current): (Bytes, Option<Entry>)| {
            let previous = index.get(&key).cloned();
            let key = previous.as_ref().map_or(key, |entry| entry.key.clone());
            (previous.is_some() || current.is_some()).then_some(KeyChange { key, previous, current })
        };
        let mut changes: Vec<KeyChange> =
            std::mem::take(&mut self.after).into_iter().filter_map(change).collect();
        changes.sort_by(|a, b| a.key.cmp(&b.key));
        let Arrival { revision, written_at, records, .. } = self;
        let commit = Commit { revision, written_at, changes: changes.into(), records: records.into() };
        (!commit.changes.is_empty()).then(|| Arc::new(commit))
    }
}

/// The position of a watcher in the history.
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

    /// Reads the state while writers wait.
    pub(crate) fn read<T>(&self, look: impl FnOnce(&State) -> T) -> T {
        look(&self.guarded.read().state)
    }

    /// Makes commits visible, forgets history up to a revision, trims up to `trim` records of the ledger and wakes the
    /// watchers. Returns the positions of the removed records.
    pub(crate) fn advance(
        &self,
        commits: &[Arc<Commit>],
        forget: Revision,
        now: u64,
        trim: usize,
    ) -> Vec<LedgerPosition> {
        let mut touched = Vec::new();
        let trimmed = {
            let mut guarded = self.guarded.write();
            let topics = self.topics.lock();
            for commit in commits {
                guarded.state.apply(commit.clone());
                topics.publish(commit, &mut touched);
            }
            guarded.state.forget(forget);
            guarded.state.ledger.trim(now, trim)
        };
        wake(touched);
        trimmed
    }

    /// Applies transactions of other processes, oldest first, and forgets history by the limits.
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
            guarded.state.ledger.trim(now, usize::MAX);
        }
        wake(touched);
    }

    /// Evaluates and applies under one lock, for stores without a disk.
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
        guarded.state.ledger.trim(now, usize::MAX);
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

    /// Packs the values of a few kept commits, and tells whether there may be more.
    pub(crate) fn pack(&self) -> bool {
        self.guarded.write().state.pack(PACK_STRIDE)
    }

    /// Replaces the state and ends all watches.
    pub(crate) fn replace(&self, state: State) {
        self.end_watches(End::Replaced, |guarded| guarded.state = state);
    }

    /// Replaces the state by a later one. The changes in between are unknown: watches end with "too old".
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
        let topics = self.topics.lock().clear();
        drop(guarded);
        wake(topics);
    }

    /// Returns the entry under a key.
    pub(crate) fn get(&self, key: &[u8]) -> Result<Option<Entry>> {
        validate_key(key)?;
        Ok(self.read(|state| state.index.get(key).cloned()))
    }

    /// Reads a page of the ledger.
    pub(crate) fn ledger(&self, request: &LedgerRequest) -> LedgerPage {
        self.read(|state| state.ledger.read(request))
    }

    /// Lists in strides and yields to writers between them; the kept versions make all strides show one revision. If
    /// compaction overtakes the listing, it is read again in one stride.
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
        page.count_rest(&guarded.state);
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

    /// Moves a position to the newest revision if no change is pending for it.
    pub(crate) fn catch_up(&self, place: &mut Place) {
        let guarded = self.guarded.read();
        if guarded.epoch == place.epoch && place.topic.next_match(place.seen) == NextMatch::None {
            place.seen = guarded.state.history.newest();
        }
    }

    /// Returns the next changes after a position and moves it there; `None` if there are none yet.
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

/// Searches a stride of the history for changes under the watched prefix.
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
        // All commits that the topic does not remember have been searched.
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

/// A listing in progress.
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
            self.listing.next = Some(entry.key.clone());
            break;
        }
        Progress::Done
    }

    fn count_rest(&mut self, state: &State) {
        if let Some(next) = &self.listing.next {
            self.listing.remaining = state.count(&self.request.prefix, next, self.listing.revision);
        }
    }
}
