//! The store on disk. Reads and watches are served from memory, exactly as in the memory store; a write is answered
//! when it has reached the disk. The format and what it promises are described in `docs/store.md`.

mod batch;
mod checkpoint;
mod commit_queue;
mod committer;
mod directory;
mod disk;
mod engine;
mod group_commit;
mod journal;
mod record;
mod recovery;
mod table;
mod watermark;

use crate::history::History;
use crate::limits::{RESTORE_GAP, WAITING_WRITERS};
use crate::shared_state::SharedState;
use crate::state::State;
use crate::{
    Backup, Committed, Compaction, Entry, Error, HistoryLimits, ListRequest, Listing, Result, Revision,
    Store, Transaction, Watch, WatchRequest, cursor, file_io,
};
use async_trait::async_trait;
use commit_queue::CommitQueue;
use committer::{Committer, Failure, Job, Request};
use directory::{Content, Directory};
use engine::Engine;
use std::io::{self, Write};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use tokio::sync::{Semaphore, oneshot};
use watermark::Watermark;

pub use disk::{Disk, DiskOperation, SystemDisk};

/// How to open an [`EmbeddedStore`].
#[derive(Clone, Debug)]
pub struct EmbeddedOptions {
    /// How much history to keep.
    pub limits: HistoryLimits,
    /// The bytes after which a file of the journal is followed by another, and the table may follow.
    pub journal_file: u64,
    /// The disk under the files; tests put a failing one here.
    pub disk: Arc<dyn Disk>,
}

impl Default for EmbeddedOptions {
    fn default() -> EmbeddedOptions {
        EmbeddedOptions {
            limits: HistoryLimits::default(),
            journal_file: 8 * 1024 * 1024,
            disk: Arc::new(SystemDisk),
        }
    }
}

/// A store in a directory, which it holds alone.
#[derive(Debug)]
pub struct EmbeddedStore {
    state: Arc<SharedState>,
    failure: Failure,
    waiting: Arc<Semaphore>,
    frozen: AtomicBool,
    requests: Arc<CommitQueue<Request>>,
    committer: Option<JoinHandle<()>>,
    // Released last, when the committer has ended.
    _directory: Directory,
}

impl EmbeddedStore {
    /// Opens the store in a directory, or makes one there if the directory is empty or absent.
    ///
    /// All of the data is read and checked, which takes some tens of milliseconds per 100 MB.
    pub fn open(directory: impl AsRef<Path>, options: EmbeddedOptions) -> Result<EmbeddedStore> {
        let (directory, content) = Directory::hold(directory.as_ref())?;
        if content == Content::Nothing {
            directory.mark()?;
        }
        let (engine, state) = Engine::open(&directory, &options)?;
        let failure = Failure::default();
        let waiting = Arc::new(Semaphore::new(WAITING_WRITERS));
        let committer = Committer {
            state: state.clone(),
            engine,
            limits: options.limits,
            failure: failure.clone(),
            compactions: Vec::new(),
            waiting: waiting.clone(),
            patience: group_commit::GroupCommit::default(),
        };
        let requests = Arc::new(CommitQueue::default());
        let inbox = requests.clone();
        let thread = std::thread::Builder::new().name("store-committer".to_owned());
        let thread = thread
            .spawn(move || committer.run(&inbox))
            .map_err(|source| file_io::file_error(directory.path(), "start writing in", source))?;
        Ok(EmbeddedStore {
            state,
            failure,
            waiting,
            frozen: AtomicBool::new(false),
            requests,
            committer: Some(thread),
            _directory: directory,
        })
    }

    /// Writes every entry of the current revision to a file, while the store goes on, and returns that revision.
    /// This blocks for as long as the disk takes; call it from a thread that may wait.
    pub fn backup(&self, path: impl AsRef<Path>) -> Result<Revision> {
        let listing = self.state.list(&ListRequest::default())?;
        Backup::write(path, &listing)?;
        Ok(listing.revision)
    }

    /// Writes a backup to anything that takes bytes, and returns its revision.
    pub fn export(&self, to: impl Write) -> Result<Revision> {
        let listing = self.state.list(&ListRequest::default())?;
        let failed = |source: io::Error| file_io::file_error(Path::new("the export"), "write", source);
        crate::backup::write_to(to, &listing).map_err(failed)?;
        Ok(listing.revision)
    }

    /// Refuses writes from now on; those under way have ended when this returns. Reads and watches go on.
    pub async fn freeze(&self) {
        self.frozen.store(true, Ordering::SeqCst);
        // Whoever was not refused has a permit until its write has ended.
        let all = u32::try_from(WAITING_WRITERS).unwrap_or(u32::MAX);
        let _ = self.waiting.acquire_many(all).await;
    }

    /// Takes writes again.
    pub fn thaw(&self) {
        self.frozen.store(false, Ordering::SeqCst);
    }

    /// Makes a store from a backup in a directory that has none, and returns its revision.
    ///
    /// Entries keep their revisions, and the store's goes on well above that of the backup: clients may have seen
    /// later ones than the backup, which must not come to mean something else.
    pub fn restore(backup: impl AsRef<Path>, directory: impl AsRef<Path>) -> Result<Revision> {
        let Backup { revision, entries } = Backup::open(backup)?;
        let path = directory.as_ref();
        let (directory, content) = Directory::hold(path)?;
        if content == Content::Store {
            let reason = "already holds a store; restore into an empty directory";
            return Err(Error::Invalid(format!("{}: {reason}", path.display())));
        }
        let newest = revision.skip(RESTORE_GAP);
        let mut state = State { history: History::starting_after(newest), ..State::default() };
        for entry in entries {
            state.index.insert(entry);
        }
        let disk = Arc::new(SystemDisk);
        Engine::create(&directory, disk.clone(), &state)?;
        // The mark comes last: what an interrupted restore leaves is not taken for a store.
        directory.mark()?;
        Watermark::open(&directory.watermark(), disk)?.0.note(newest);
        Ok(newest)
    }

    fn request(&self, request: Request) -> Result<()> {
        self.requests.leave(request).map_err(|_| Error::Closed)
    }
}

impl Drop for EmbeddedStore {
    /// Waits for the writes under way, then lets go of the directory.
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
        let permit = self.waiting.clone().acquire_owned().await.map_err(|_| Error::Closed)?;
        let (answer, committed) = oneshot::channel();
        if self.frozen.load(Ordering::SeqCst) {
            return Err(Error::frozen());
        }
        self.request(Request::Commit(Job { transaction, answer, _permit: permit }))?;
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

    async fn health(&self) -> Result<()> {
        if self.frozen.load(Ordering::SeqCst) {
            return Err(Error::frozen());
        }
        self.failure.lock().clone().map_or(Ok(()), Err)
    }
}
