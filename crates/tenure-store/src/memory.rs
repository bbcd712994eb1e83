//! The store without a disk, for tests and for servers whose data need not survive. It behaves like the embedded store and
//! adds forks, snapshots and read-only views of the past, all of which share memory with their origin.

use crate::backup::Backup;
use crate::clock::Clock;
use crate::index::Index;
use crate::ledger::Ledger;
use crate::shared_state::SharedState;
use crate::stage::Stage;
use crate::state::State;
use crate::{
    Committed, Compaction, Entry, Error, HistoryLimits, LedgerLimits, LedgerPage, LedgerRequest, ListRequest,
    Listing, Result, Revision, StagedTransactions, Store, Transaction, Watch, WatchRequest, cursor,
};
use async_trait::async_trait;
use std::fmt;
use std::sync::Arc;

/// A store in memory.
///
/// ```
/// # use tenure_store::{Expected, MemoryStore, Store, Transaction};
/// # tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(async {
/// let store = MemoryStore::new();
/// let first = store.commit(Transaction::new().put("a", Expected::Absent, "1")).await?.revision;
///
/// let fork = store.fork();
/// fork.commit(Transaction::new().put("a", Expected::Present, "2")).await?;
/// assert_eq!(store.get(b"a").await?.unwrap().value, "1", "a fork does not change its origin");
/// assert_eq!(fork.at(first)?.get(b"a").await?.unwrap().value, "1", "the past can be read");
/// # Ok::<(), tenure_store::Error>(()) }).unwrap();
/// ```
#[derive(Debug, Default)]
pub struct MemoryStore {
    state: Arc<SharedState>,
    limits: HistoryLimits,
    clock: Clock,
    access: Access,
}

/// Whether a store accepts writes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Access {
    #[default]
    ReadWrite,
    ReadOnly,
}

/// The content of a [`MemoryStore`] at one moment, with its history. It shares memory with the store.
#[derive(Clone)]
pub struct Snapshot {
    state: State,
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
    /// Creates an empty store with the default limits.
    pub fn new() -> MemoryStore {
        MemoryStore::default()
    }

    /// Creates an empty store with limits of its history.
    pub fn with_limits(limits: HistoryLimits) -> MemoryStore {
        MemoryStore::from_state(State::default(), limits, Clock::default())
    }

    /// Sets the clock that commits are stamped with.
    pub fn with_clock(mut self, clock: Clock) -> MemoryStore {
        self.clock = clock;
        self
    }

    /// Sets the limits of the ledger of a store that is still empty.
    pub fn with_ledger_limits(self, limits: LedgerLimits) -> MemoryStore {
        let state = State { ledger: Ledger::new(limits), ..self.state.read(State::clone) };
        self.with_state(state, self.access)
    }

    /// Creates a store with the content of a backup. Entries keep their revisions; the store's own continues well above them.
    pub fn from_backup(backup: Backup, ledger: LedgerLimits) -> MemoryStore {
        let Backup { revision, entries, ledger: records } = backup;
        let state = State::restored(revision, entries, records, ledger);
        MemoryStore::from_state(state, HistoryLimits::default(), Clock::default())
    }

    /// Takes a snapshot.
    pub fn snapshot(&self) -> Snapshot {
        Snapshot { state: self.state.read(State::clone) }
    }

    /// Creates an independent store with the same content, history and revision. Both share memory until one of them writes.
    pub fn fork(&self) -> MemoryStore {
        self.with_state(self.state.read(State::clone), self.access)
    }

    /// Goes back to a snapshot and its revision. Open watches end with [`Error::Closed`], since the changes they saw may not
    /// exist any more.
    pub fn restore(&self, snapshot: &Snapshot) {
        let mut state = snapshot.state.clone();
        state.keep_shared();
        self.state.replace(state);
    }

    /// Returns a read-only store with the content of a revision of the kept history. It does not change afterwards.
    pub fn at(&self, revision: Revision) -> Result<MemoryStore> {
        let mut state = self.state.read(State::clone);
        state.rewind(revision)?;
        Ok(self.with_state(state, Access::ReadOnly))
    }

    /// Creates a store from a state that may share memory with others.
    pub(crate) fn from_state(mut state: State, limits: HistoryLimits, clock: Clock) -> MemoryStore {
        state.keep_shared();
        MemoryStore { state: Arc::new(SharedState::new(state)), limits, clock, access: Access::ReadWrite }
    }

    fn with_state(&self, state: State, access: Access) -> MemoryStore {
        let store = MemoryStore::from_state(state, self.limits.clone(), self.clock.clone());
        store.with_access(access)
    }

    fn update<T>(&self, evaluate: impl FnOnce(&mut Stage, &Index) -> Result<T>) -> Result<T> {
        if self.access == Access::ReadOnly {
            return Err(Error::ReadOnly { revision: self.known() });
        }
        let now = self.clock.millis();
        self.state.update(&self.limits, now, |state| {
            let mut stage = Stage::new(state.history.newest(), now);
            let answer = evaluate(&mut stage, &state.index)?;
            Ok((answer, stage.into_commits()))
        })
    }

    fn with_access(mut self, access: Access) -> MemoryStore {
        self.access = access;
        self
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
        self.update(|stage, index| stage.add(&transaction, index))
    }

    fn copy(&self) -> Result<Arc<dyn Store>> {
        Ok(Arc::new(self.fork()))
    }

    async fn commit_all(&self, staged: StagedTransactions) -> Result<Vec<Revision>> {
        self.update(|stage, index| stage.add_all(&staged, index))
    }

    async fn watch(&self, request: WatchRequest) -> Result<Watch> {
        cursor::watch(&self.state, &request)
    }

    async fn compact(&self, compaction: Compaction) -> Result<Revision> {
        Ok(self.state.compact(compaction, self.clock.millis()))
    }

    fn pack(&self) -> bool {
        self.state.pack()
    }

    async fn ledger(&self, request: LedgerRequest) -> Result<LedgerPage> {
        Ok(self.state.ledger(&request))
    }

    async fn health(&self) -> Result<()> {
        Ok(())
    }
}
