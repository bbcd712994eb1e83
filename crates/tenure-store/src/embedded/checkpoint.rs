//! The thread that brings the table to where the kept history begins, so that the journal before can be removed. No writer
//! waits for it: until the table has a commit, the journal does.

use super::journal_file;
use super::table::{Changed, Table};
use crate::entry::Commit;
use crate::ledger::Record;
use crate::shared_state::SharedState;
use crate::state::State;
use crate::{LedgerPosition, Revision};
use parking_lot::Mutex;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc::{self, Receiver, Sender, TryRecvError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// How long to wait after a failure before the table is rewritten.
const PAUSE: Duration = Duration::from_secs(1);

/// How a checkpoint changes the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Mode {
    /// Apply the changes.
    Advance,
    /// Write all of it again, under the current encryption key.
    Rewrite,
}

/// A later revision for the table.
#[derive(Debug)]
struct Checkpoint {
    revision: Revision,
    /// The first journal file that is needed then.
    journal: u64,
    mode: Mode,
    changed: Changed,
}

/// The thread, and the changes for its next checkpoint.
#[derive(Debug)]
pub(super) struct Checkpointer {
    changed: Changed,
    begun: Begun,
    work: Option<Sender<Checkpoint>>,
    done: Receiver<Outcome>,
    thread: Option<JoinHandle<()>>,
}

/// The number of the first journal file that is left; `None` if the table failed.
type Outcome = Option<u64>;

/// Whether a checkpoint is under way.
#[derive(Debug)]
enum Begun {
    No,
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
                let outcome = worker.perform(&checkpoint);
                if report.send(outcome).is_err() {
                    return;
                }
            }
        })?;
        Ok(Checkpointer {
            changed: Changed::default(),
            begun: Begun::No,
            work: Some(work),
            done,
            thread: Some(thread),
        })
    }

    /// Adds commits that history has forgotten and positions that the ledger has dropped. The state after that tells which
    /// records of the commits are still kept, and has the current entries packed.
    pub(super) fn add(&mut self, forgotten: &[Arc<Commit>], trimmed: &[LedgerPosition], state: &State) {
        for commit in forgotten {
            for change in &commit.changes {
                let packed = state.index.get(&change.key).filter(|entry| entry.modified == commit.revision);
                let current = packed.or(change.current.as_ref()).cloned();
                self.changed.entries.insert(change.key.clone(), current);
            }
            let Commit { revision, written_at, .. } = **commit;
            for (key, bytes) in &commit.records {
                if state.ledger.keeps(key, revision) {
                    let position = LedgerPosition { revision, key: key.clone() };
                    let record = Record { revision, written_at, bytes: bytes.clone() };
                    self.changed.records.insert(position, Some(record));
                }
            }
        }
        self.changed.records.extend(trimmed.iter().map(|position| (position.clone(), None)));
    }

    /// Drops the changes: the table was rewritten.
    pub(super) fn clear(&mut self) {
        self.changed = Changed::default();
    }

    /// Returns the first journal file that is left, if a checkpoint has just ended.
    pub(super) fn ended(&mut self) -> Option<u64> {
        match self.done.try_recv() {
            Ok(Some(first)) => {
                self.begun = Begun::No;
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
            Begun::No => true,
            Begun::UnderWay => false,
            Begun::Failed(at) => at.elapsed() > PAUSE,
        }
    }

    /// Begins a checkpoint with all changes so far. Memory must already have forgotten the history before the revision.
    pub(super) fn begin(&mut self, revision: Revision, journal: u64, mode: Mode) {
        let changed = std::mem::take(&mut self.changed);
        let checkpoint = Checkpoint { revision, journal, mode, changed };
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
    fn perform(&self, checkpoint: &Checkpoint) -> Outcome {
        let Checkpoint { revision, journal, mode, changed } = checkpoint;
        let mut table = self.table.lock();
        if *mode == Mode::Advance && table.totals().revision >= *revision {
            // Rewritten meanwhile.
            return Some(table.totals().journal);
        }
        if table.has_failed() || *mode == Mode::Rewrite {
            let state = self.state.read(Clone::clone);
            let at = state.history.compacted();
            let journal = (*journal).max(table.totals().journal);
            table.rewrite(&state, at, journal).ok()?;
        } else {
            table.advance(*revision, *journal, changed).ok()?;
        }
        drop(table);
        // Files that cannot be removed now are removed when the store is opened.
        let _ = journal_file::remove(&self.directory, |number| number < *journal);
        Some(*journal)
    }
}
