//! The store on etcd, which any number of servers share. Each server mirrors everything under the prefix and serves reads and
//! watches from the mirror, as the embedded store serves from memory; etcd replaces the disk. A write is answered
//! when etcd has committed it. The layout of the keys and the protocol are described in `docs/internals/store.md`.

mod batch;
mod call_error;
mod channel;
mod cluster;
mod follow;
mod format;
mod import;
mod keys;
mod leader;
mod load;
mod mark;
mod mirror;
mod options;
mod read_index;
mod reencrypt;
mod revisions;
mod wire;
mod writer;

use crate::stage::Stage;
use crate::state::State;
use crate::transaction::{Action, validate_key};
use crate::{
    Committed, Compaction, Entry, Error, Expected, HistoryLimits, LedgerPage, LedgerRequest, ListRequest,
    Listing, MemoryStore, Operation, Result, Revision, StagedTransactions, Store, Transaction, Watch,
    WatchRequest, cursor,
};
use async_trait::async_trait;
use call_error::CallError;
use cluster::Cluster;
use keys::Keys;
use leader::LeaderElection;
use mirror::Mirror;
use read_index::{Health, ReadIndex};
use std::hash::{BuildHasher, RandomState};
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;
use tokio::task::JoinHandle;
use tokio::time::{Instant, MissedTickBehavior, interval, timeout_at};
use writer::{Committer, Writer};

pub use import::{Progress, freeze, import, thaw};
pub use options::EtcdOptions;

/// How often a server without requests checks etcd and its mirror.
const LOOK: Duration = Duration::from_millis(500);
/// How far behind a mirror may be before the server is not ready.
const CHECK_TIMEOUT: Duration = Duration::from_secs(2);

/// A store that is shared through etcd.
#[derive(Debug)]
pub struct EtcdStore {
    mirror: Arc<Mirror>,
    writer: Writer,
    reader: Arc<ReadIndex>,
    lead: Arc<LeaderElection>,
    health: Health,
    timeout: Duration,
    tasks: Vec<JoinHandle<()>>,
}

impl EtcdStore {
    /// Opens the store, or creates an empty one if there is nothing under the prefix, and loads all of it. Needs a tokio
    /// runtime, on which it follows etcd until it is dropped. The future is boxed, so that the code of connections is compiled in this
    /// crate alone.
    pub fn open(options: EtcdOptions) -> Pin<Box<dyn Future<Output = Result<EtcdStore>> + Send>> {
        Box::pin(EtcdStore::start(options))
    }

    async fn start(options: EtcdOptions) -> Result<EtcdStore> {
        let deadline = Instant::now() + options.timeout;
        let cluster = Arc::new(Cluster::new(&options)?);
        let keys = Keys::under(&options.prefix);
        let offset = format::open(&cluster, &keys, deadline).await?;
        let server = new_name();
        let mirror = Mirror::new(cluster, keys, offset, &options, server.clone());
        let mirror = Arc::new(mirror);
        let (writer, mut committer) = Committer::new(mirror.clone(), &server);
        let raised = committer.raise(deadline).await.map_err(unavailable)?;
        load::start(&mirror, options.limits.count).await.map_err(unavailable)?;
        let health = Health::default();
        let (reader, serve) = ReadIndex::new(mirror.clone(), health.clone());
        let reader = Arc::new(reader);
        let lead = Arc::new(LeaderElection::new(mirror.clone(), server, options.compaction));
        let tasks = vec![
            tokio::spawn(follow::run(mirror.clone())),
            tokio::spawn(serve),
            tokio::spawn(committer.run()),
            tokio::spawn(lead.clone().run()),
            tokio::spawn(look(mirror.clone(), reader.clone(), health.clone())),
        ];
        let store = EtcdStore { mirror, writer, reader, lead, health, timeout: options.timeout, tasks };
        let ready = Instant::now() + options.timeout.max(Duration::from_secs(30));
        store.mirror.wait(raised, ready).await.map_err(unavailable)?;
        store.reader.sync(&store.mirror, ready).await?;
        Ok(store)
    }

    fn deadline(&self) -> Instant {
        Instant::now() + self.timeout
    }

    async fn sync(&self) -> Result<()> {
        self.reader.sync(&self.mirror, self.deadline()).await
    }

    /// Makes sure that the mirror has a revision, which may have come from another server.
    async fn sync_to(&self, revision: Option<Revision>) -> Result<()> {
        match revision {
            Some(revision) if revision <= self.newest() => Ok(()),
            _ => self.sync().await,
        }
    }

    fn newest(&self) -> Revision {
        self.mirror.state.read(|state| state.history.newest())
    }
}

impl Drop for EtcdStore {
    fn drop(&mut self) {
        for task in &self.tasks {
            task.abort();
        }
        self.mirror.state.close();
        if let Ok(runtime) = tokio::runtime::Handle::try_current() {
            let lead = self.lead.clone();
            runtime.spawn(async move { lead.resign().await });
        }
    }
}

/// Checks etcd periodically, so that a stalled mirror is noticed without requests.
async fn look(mirror: Arc<Mirror>, reader: Arc<ReadIndex>, health: Health) {
    let mut ticks = interval(LOOK);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        ticks.tick().await;
        let deadline = Instant::now() + CHECK_TIMEOUT;
        let looked = timeout_at(deadline, reader.sync(&mirror, deadline)).await;
        if !matches!(looked, Ok(Ok(()))) {
            let reason = match looked {
                Ok(Err(Error::Unavailable { reason })) => reason.to_string(),
                _ => "no answer in time".to_owned(),
            };
            health.lock().get_or_insert(CallError::Unreachable(reason));
        }
    }
}

/// Creates a unique name for this server.
fn new_name() -> String {
    let random = || RandomState::new().hash_one(std::process::id());
    format!("{:016x}{:016x}", random(), random())
}

fn unavailable(error: CallError) -> Error {
    Error::Unavailable { reason: error.to_string().into() }
}

#[async_trait]
impl Store for EtcdStore {
    async fn revision(&self) -> Result<Revision> {
        self.sync().await?;
        Ok(self.newest())
    }

    async fn get(&self, key: &[u8]) -> Result<Option<Entry>> {
        validate_key(key)?;
        self.sync().await?;
        self.mirror.state.get(key)
    }

    fn peek(&self, key: &[u8]) -> Result<Option<Entry>> {
        self.mirror.state.get(key)
    }

    fn known(&self) -> Revision {
        self.newest()
    }

    fn leads(&self) -> bool {
        self.lead.leads()
    }

    async fn list(&self, request: ListRequest) -> Result<Listing> {
        self.sync_to(request.at).await?;
        self.mirror.state.list(&request)
    }

    async fn commit(&self, transaction: Transaction) -> Result<Committed> {
        transaction.validate()?;
        if transaction.operations().iter().any(|operation| operation.action != Action::Check) {
            let newest = self.newest();
            let ahead = |operation: &Operation| matches!(operation.expected, Expected::At(at) if at > newest);
            if transaction.operations().iter().any(ahead) {
                // The revision is from another server, and its slot is not known here yet.
                self.sync().await?;
            }
            return self.writer.commit(transaction, self.deadline()).await;
        }
        // A transaction that only checks preconditions needs no transaction of etcd.
        self.sync().await?;
        self.mirror.state.read(|state| {
            Stage::new(state.history.newest(), self.mirror.clock.millis()).add(&transaction, &state.index)
        })
    }

    fn copy(&self) -> Result<Arc<dyn Store>> {
        let state = self.mirror.state.read(State::clone);
        Ok(Arc::new(MemoryStore::from_state(state, HistoryLimits::default(), self.mirror.clock.clone())))
    }

    /// They are one transaction of etcd, with one revision for all; it has the limits of one.
    async fn commit_all(&self, staged: StagedTransactions) -> Result<Vec<Revision>> {
        let committed = self.commit(staged.merged()?).await?;
        Ok(vec![committed.revision; staged.len()])
    }

    async fn watch(&self, request: WatchRequest) -> Result<Watch> {
        self.sync_to(request.after).await?;
        cursor::watch(&self.mirror.state, &request)
    }

    async fn compact(&self, compaction: Compaction) -> Result<Revision> {
        self.sync().await?;
        let target =
            self.mirror.state.read(|state| state.history.target(compaction, self.mirror.clock.millis()));
        if let Some(revision) = self.mirror.offset.etcd(target) {
            let compacted = leader::compact(&self.mirror, revision, self.deadline()).await;
            compacted.map_err(|error| Error::NotDurable { reason: error.to_string().into() })?;
        }
        Ok(self.mirror.state.compact(Compaction::Before(target), self.mirror.clock.millis()))
    }

    fn pack(&self) -> bool {
        self.mirror.state.pack()
    }

    async fn ledger(&self, request: LedgerRequest) -> Result<LedgerPage> {
        self.sync().await?;
        Ok(self.mirror.state.ledger(&request))
    }

    async fn reencrypt(&self) -> Result<()> {
        reencrypt::run(self).await
    }

    async fn health(&self) -> Result<()> {
        if self.mirror.is_frozen() {
            return Err(Error::frozen());
        }
        match self.health.lock().clone() {
            Some(error) => Err(unavailable(error)),
            None => Ok(()),
        }
    }
}
