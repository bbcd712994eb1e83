//! The store without a disk, for tests and for servers that need not remember: the same behaviour as the embedded
//! one, plus snapshots, forks and going back.

use crate::history::now;
use crate::shared_state::SharedState;
use crate::stage::Stage;
use crate::state::State;
use crate::{
    Committed, Compaction, Entry, HistoryLimits, ListRequest, Listing, Result, Revision, Store, Transaction,
    Watch, WatchRequest, cursor,
};
use async_trait::async_trait;
use std::fmt;
use std::sync::Arc;

/// A store in memory.
#[derive(Debug, Default)]
pub struct MemoryStore {
    state: Arc<SharedState>,
    limits: HistoryLimits,
}

/// What a [`MemoryStore`] held at one moment, with its history; values are shared with the store, not copied.
#[derive(Clone)]
pub struct Snapshot {
    state: Arc<State>,
}

impl Snapshot {
    /// Returns the revision of the snapshot.
    pub fn revision(&self) -> Revision {
        self.state.history.newest()
    }
}

impl fmt::Debug for Snapshot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Snapshot").field("revision", &self.revision()).finish_non_exhaustive()
    }
}

impl MemoryStore {
    /// Makes an empty store with the default limits of history.
    pub fn new() -> MemoryStore {
        MemoryStore::default()
    }

    /// Makes an empty store that keeps so much history.
    pub fn with_limits(limits: HistoryLimits) -> MemoryStore {
        MemoryStore { state: Arc::default(), limits }
    }

    /// Takes a snapshot.
    pub fn snapshot(&self) -> Snapshot {
        Snapshot { state: Arc::new(self.state.read(State::clone)) }
    }

    /// Makes a second store that starts as this one is now, with the same revisions, and goes its own way.
    pub fn fork(&self) -> MemoryStore {
        let state = self.state.read(State::clone);
        MemoryStore { state: Arc::new(SharedState::new(state)), limits: self.limits.clone() }
    }

    /// Goes back to a snapshot, its revision included. Open watches end with [`Error::Closed`](crate::Error::Closed),
    /// since what they saw may never have happened.
    pub fn restore(&self, snapshot: &Snapshot) {
        self.state.replace(State::clone(&snapshot.state));
    }
}

impl Drop for MemoryStore {
    fn drop(&mut self) {
        self.state.close();
    }
}

#[async_trait]
impl Store for MemoryStore {
    async fn revision(&self) -> Result<Revision> {
        Ok(self.known())
    }

    async fn get(&self, key: &[u8]) -> Result<Option<Entry>> {
        self.peek(key)
    }

    fn peek(&self, key: &[u8]) -> Result<Option<Entry>> {
        self.state.get(key)
    }

    fn known(&self) -> Revision {
        self.state.read(|state| state.history.newest())
    }

    async fn list(&self, request: ListRequest) -> Result<Listing> {
        self.state.list(&request)
    }

    async fn commit(&self, transaction: Transaction) -> Result<Committed> {
        transaction.validate()?;
        let now = now();
        self.state.update(&self.limits, now, |state| {
            let mut stage = Stage::new(state.history.newest(), now);
            let committed = stage.add(&transaction, &state.index)?;
            Ok((committed, stage.into_commits()))
        })
    }

    async fn watch(&self, request: WatchRequest) -> Result<Watch> {
        cursor::watch(&self.state, &request)
    }

    async fn compact(&self, compaction: Compaction) -> Result<Revision> {
        Ok(self.state.compact(compaction, now()))
    }

    async fn health(&self) -> Result<()> {
        Ok(())
    }
}
