//! The store on disk. Reads and watches are served from memory, as in the memory store; a write is answered when it has
//! reached the disk. The format and its guarantees are described in `docs/internals/store.md`.

mod batch;
mod checkpoint;
mod commit_queue;
mod committer;
mod directory;
mod disk;
mod engine;
mod group_commit;
mod journal;
mod journal_file;
mod record;
mod recovery;
mod repair;
mod table;
mod watermark;

use crate::backup::Backup;
use crate::clock::Clock;
use crate::encryption::Encryption;
use crate::file_io::file_error;
use crate::limits::WAITING_WRITERS;
use crate::shared_state::SharedState;
use crate::state::State;
use crate::{
    Committed, Compaction, Entry, Error, HistoryLimits, LedgerLimits, LedgerPage, LedgerRequest, ListRequest,
    Listing, MemoryStore, Result, Revision, StagedTransactions, Store, Transaction, Watch, WatchRequest,
    cursor,
};
use async_trait::async_trait;
use commit_queue::CommitQueue;
use committer::{Committer, Failure, Job, Request, Work};
use directory::{Content, Directory};
use engine::Engine;
use group_commit::GroupCommit;
use std::io::Write;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use tokio::sync::{Semaphore, oneshot};

pub use disk::{Disk, DiskOperation, SystemDisk};
pub use repair::Repair;

/// Options of an [`EmbeddedStore`].
#[derive(Clone, Debug)]
pub struct EmbeddedOptions {
    /// How much history to keep.
    pub limits: HistoryLimits,
    /// How many ledger records to keep.
    pub ledger: LedgerLimits,
    /// How values are encrypted at rest.
    pub encryption: Encryption,
    /// The clock that commits are stamped with.
    pub clock: Clock,
    /// The length after which the next journal file is begun.
    pub journal_file: u64,
    /// The disk under the files; tests use one that fails.
    pub disk: Arc<dyn Disk>,
}

impl Default for EmbeddedOptions {
    fn default() -> EmbeddedOptions {
        EmbeddedOptions {
            limits: HistoryLimits::default(),
            ledger: LedgerLimits::default(),
            encryption: Encryption::default(),
            clock: Clock::default(),
            journal_file: 8 * 1024 * 1024,
            disk: Arc::new(SystemDisk),
        }
    }
}

/// A store in a directory, which it holds alone.
///
/// ```no_run
/// # use tenure_store::{EmbeddedOptions, EmbeddedStore, Expected, Store, Transaction};
/// # async fn example() -> tenure_store::Result<()> {
/// let store = EmbeddedStore::open("data", EmbeddedOptions::default())?;
/// store.commit(Transaction::new().put("a", Expected::Absent, "durable when this returns")).await?;
/// store.backup("data.backup")?;
/// # Ok(()) }
/// ```
#[derive(Debug)]
pub struct EmbeddedStore {
    state: Arc<SharedState>,
    failure: Failure,
    waiting: Arc<Semaphore>,
    frozen: AtomicBool,
    requests: Arc<CommitQueue<Request>>,
    committer: Option<JoinHandle<()>>,
    options: EmbeddedOptions,
    // Released last, when the committer has ended.
    _directory: Directory,
}

impl EmbeddedStore {
    /// Opens the store in a directory, or creates one if the directory is empty or does not exist.
    ///
    /// All data is read and checked, which takes some tens of milliseconds per 100 MB.
    pub fn open(directory: impl AsRef<Path>, options: EmbeddedOptions) -> Result<EmbeddedStore> {
        let (directory, content) = Directory::lock(directory.as_ref())?;
        let id = match content {
            Content::Store(id) => id,
            Content::Nothing => {
                directory.create(|id| Engine::create(&directory, &options, id, &State::default()))?
            }
        };
        let (engine, state) = Engine::open(&directory, &options, id)?;
        let failure = Failure::default();
        let waiting = Arc::new(Semaphore::new(WAITING_WRITERS));
        let committer = Committer {
            state: state.clone(),
            engine,
            limits: options.limits.clone(),
            failure: failure.clone(),
            clock: options.clock.clone(),
            compactions: Vec::new(),
            reencryptions: Vec::new(),
            waiting: waiting.clone(),
            group_commit: GroupCommit::default(),
        };
        let requests = Arc::new(CommitQueue::default());
        let queue = requests.clone();
        let thread = std::thread::Builder::new().name("store-committer".to_owned());
        let thread = thread
            .spawn(move || committer.run(&queue))
            .map_err(|source| file_error(directory.path(), "start the writing thread for", source))?;
        Ok(EmbeddedStore {
            state,
            failure,
            waiting,
            frozen: AtomicBool::new(false),
            requests,
            committer: Some(thread),
            options,
            _directory: directory,
        })
    }

    /// Writes a backup of the current revision to a file while the store is in use, and returns the revision. This blocks
    /// until the file is durable.
    pub fn backup(&self, path: impl AsRef<Path>) -> Result<Revision> {
        let backup = self.content();
        backup.write(path, &self.options.encryption)?;
        Ok(backup.revision)
    }

    /// Writes a backup of the current revision to any writer, and returns the revision.
    pub fn export(&self, to: impl Write) -> Result<Revision> {
        let backup = self.content();
        let written = backup.write_to(to, &self.options.encryption);
        written.map_err(|source| file_error(Path::new("export"), "write", source))?;
        Ok(backup.revision)
    }

    fn content(&self) -> Backup {
        let state = self.state.read(State::clone);
        let revision = state.history.newest();
        let entries = state.index.range(b"", b"", revision).cloned().collect();
        let ledger = state.ledger.read(&LedgerRequest::prefix("", usize::MAX)).records;
        Backup { revision, entries, ledger }
    }

    /// Creates a memory store with the same content, history and revision. It shares memory with this one until either
    /// writes.
    pub fn fork(&self) -> MemoryStore {
        let options = &self.options;
        MemoryStore::from_state(self.state.read(State::clone), options.limits.clone(), options.clock.clone())
    }

    /// Refuses writes from now on; those in progress have ended when this returns. Reads and watches continue.
    pub async fn freeze(&self) {
        self.frozen.store(true, Ordering::SeqCst);
        // Every write in progress holds a permit.
        let all = u32::try_from(WAITING_WRITERS).unwrap_or(u32::MAX);
        let _ = self.waiting.acquire_many(all).await;
    }

    /// Accepts writes again.
    pub fn thaw(&self) {
        self.frozen.store(false, Ordering::SeqCst);
    }

    /// Creates a store from a backup in a directory without one, and returns its revision. Of the options only the encryption
    /// and the limits of the ledger matter.
    ///
    /// Entries keep their revisions, but the store's revision continues well above that of the backup: clients may have seen
    /// later revisions than the backup's, which must not be given again.
    pub fn restore(
        backup: impl AsRef<Path>,
        directory: impl AsRef<Path>,
        options: &EmbeddedOptions,
    ) -> Result<Revision> {
        let Backup { revision, entries, ledger } = Backup::open(backup, &options.encryption)?;
        let path = directory.as_ref();
        let (directory, content) = Directory::lock(path)?;
        if content != Content::Nothing {
            let reason = "already holds a store; restore into an empty directory";
            return Err(Error::Invalid(format!("{}: {reason}", path.display())));
        }
        let state = State::restored(revision, entries, ledger, options.ledger.clone());
        let newest = state.history.newest();
        directory.create(|id| Engine::create(&directory, options, id, &state))?;
        Ok(newest)
    }

    /// Creates a new store from the readable data of a damaged one. The old files are kept in a directory beside it.
    pub fn repair(directory: impl AsRef<Path>, options: &EmbeddedOptions) -> Result<Repair> {
        repair::repair(directory.as_ref(), options)
    }

    /// Waits for a place in the queue of the committer.
    async fn enqueue(&self, work: Work) -> Result<()> {
        let permit = self.waiting.clone().acquire_owned().await.map_err(|_| Error::Closed)?;
        if self.frozen.load(Ordering::SeqCst) {
            return Err(Error::frozen());
        }
        self.request(Request::Commit(Job { work, _permit: permit }))
    }

    fn request(&self, request: Request) -> Result<()> {
        self.requests.push(request).map_err(|_| Error::Closed)
    }
}

impl Drop for EmbeddedStore {
    /// Waits for the writes in progress, then releases the directory.
    fn drop(&mut self) {
        self.requests.close();
        if let Some(committer) = self.committer.take() {
            let _ = committer.join();
        }
        self.state.close();
    }
}

#[async_trait]
impl Store for EmbeddedStore {
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
        let (answer, committed) = oneshot::channel();
        self.enqueue(Work::One(transaction, answer)).await?;
        committed.await.map_err(|_| Error::Closed)?
    }

    fn copy(&self) -> Result<Arc<dyn Store>> {
        Ok(Arc::new(self.fork()))
    }

    /// They become durable in one batch of the journal, of which a crash leaves all or nothing, and each has a revision of its own.
    async fn commit_all(&self, staged: StagedTransactions) -> Result<Vec<Revision>> {
        let (answer, committed) = oneshot::channel();
        self.enqueue(Work::All(staged, answer)).await?;
        committed.await.map_err(|_| Error::Closed)?
    }

    async fn watch(&self, request: WatchRequest) -> Result<Watch> {
        cursor::watch(&self.state, &request)
    }

    async fn compact(&self, compaction: Compaction) -> Result<Revision> {
        let (answer, compacted) = oneshot::channel();
        self.request(Request::Compact(compaction, answer))?;
        compacted.await.map_err(|_| Error::Closed)?
    }

    fn pack(&self) -> bool {
        self.state.pack()
    }

    async fn ledger(&self, request: LedgerRequest) -> Result<LedgerPage> {
        Ok(self.state.ledger(&request))
    }

    async fn reencrypt(&self) -> Result<()> {
        let (answer, done) = oneshot::channel();
        self.request(Request::Reencrypt(answer))?;
        done.await.map_err(|_| Error::Closed)?
    }

    async fn health(&self) -> Result<()> {
        if self.frozen.load(Ordering::SeqCst) {
            return Err(Error::frozen());
        }
        self.failure.lock().clone().map_or(Ok(()), Err)
    }
}
