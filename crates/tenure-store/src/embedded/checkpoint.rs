//! The thread that brings the table up to where the kept history begins, so that the journal before it can go. No
//! writer waits for it: what it takes over was forgotten, and the journal still has it until the table does.

use super::journal;
use super::table::{Changed, Table};
use crate::Revision;
use crate::entry::Commit;
use crate::shared_state::SharedState;
use parking_lot::Mutex;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc::{self, Receiver, Sender, TryRecvError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// How long to wait after a failure before the table is written anew.
const PAUSE: Duration = Duration::from_secs(1);

/// What the table is to become.
#[derive(Debug)]
struct Checkpoint {
    revision: Revision,
    /// The first file of the journal that is needed then.
    journal: u64,
    changed: Changed,
}

/// The thread, and what it has not been given yet.
#[derive(Debug)]
pub(super) struct Checkpointer {
    changed: Changed,
    begun: Begun,
    work: Option<Sender<Checkpoint>>,
    done: Receiver<Outcome>,
    thread: Option<JoinHandle<()>>,
}

/// The number of the first file of the journal that is left, or nothing if the table failed.
type Outcome = Option<u64>;

/// Whether a checkpoint is under way.
#[derive(Debug)]
enum Begun {
    Nothing,
    UnderWay,
    Failed(Instant),
}

impl Checkpointer {
    /// Starts the thread.
    pub(super) fn start(
        directory: &Path,
        table: Arc<Mutex<Table>>,
        state: Arc<SharedState>,
    ) -> io::Result<Checkpointer> {
        let (work, queue) = mpsc::channel();
        let (report, done) = mpsc::channel();
        let worker = Worker { directory: directory.to_owned(), table, state };
        let thread = std::thread::Builder::new().name("store-checkpoint".to_owned()).spawn(move || {
            while let Ok(checkpoint) = queue.recv() {
                let outcome = worker.carry_out(&checkpoint);
                if report.send(outcome).is_err() {
                    return;
                }
            }
        })?;
        Ok(Checkpointer {
            changed: Changed::new(),
            begun: Begun::Nothing,
            work: Some(work),
            done,
            thread: Some(thread),
        })
    }

    /// Notes a commit that history has forgotten.
    pub(super) fn owe(&mut self, commit: &Commit) {
        for change in &commit.changes {
            self.changed.insert(change.key.clone(), change.current.clone());
        }
    }

    /// Forgets what is owed: the table was written anew.
    pub(super) fn settle(&mut self) {
        self.changed.clear();
    }

    /// Returns the first file of the journal that is left, if a checkpoint has just ended.
    pub(super) fn ended(&mut self) -> Option<u64> {
        match self.done.try_recv() {
            Ok(Some(first)) => {
                self.begun = Begun::Nothing;
                Some(first)
            }
            Ok(None) => {
                self.begun = Begun::Failed(Instant::now());
                None
            }
            Err(TryRecvError::Empty | TryRecvError::Disconnected) => None,
        }
    }

    /// Tells whether the thread waits for work.
    pub(super) fn is_free(&self) -> bool {
        match self.begun {
            Begun::Nothing => true,
            Begun::UnderWay => false,
            Begun::Failed(at) => at.elapsed() > PAUSE,
        }
    }

    /// Hands over all that is owed. The state must already have forgotten it.
    pub(super) fn begin(&mut self, revision: Revision, journal: u64) {
        let checkpoint = Checkpoint { revision, journal, changed: std::mem::take(&mut self.changed) };
        if let Some(work) = &self.work
            && work.send(checkpoint).is_ok()
        {
            self.begun = Begun::UnderWay;
        }
    }
}

impl Drop for Checkpointer {
    fn drop(&mut self) {
        self.work = None;
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

struct Worker {
    directory: PathBuf,
    table: Arc<Mutex<Table>>,
    state: Arc<SharedState>,
}

impl Worker {
    fn carry_out(&self, checkpoint: &Checkpoint) -> Outcome {
        let Checkpoint { revision, journal, changed } = checkpoint;
        let mut table = self.table.lock();
        if table.totals().revision >= *revision {
            // Written anew meanwhile.
            return Some(table.totals().journal);
        }
        if table.has_failed() {
            let state = self.state.read(Clone::clone);
            let at = state.history.compacted();
            table.write_anew(at, *journal, state.index.range(b"", b"", at)).ok()?;
        } else {
            table.advance(*revision, *journal, changed).ok()?;
        }
        drop(table);
        // Files that cannot be removed now are removed when the store is opened.
        let _ = journal::remove_before(&self.directory, *journal);
        Some(*journal)
    }
}
