//! What is on the disk: the [table](super::table) of one revision and the [journal](super::journal) of all that
//! happened since. A batch is durable when the journal has it; the table follows behind.

use super::EmbeddedOptions;
use super::batch::Batch;
use super::checkpoint::Checkpointer;
use super::directory::Directory;
use super::disk::Disk;
use super::journal::{self, Journal};
use super::record::Totals;
use super::recovery::Recovery;
use super::table::{FIRST_JOURNAL, Table};
use super::watermark::{self, Watermark};
use crate::entry::Commit;
use crate::file_io::{damaged, file_error, not_durable};
use crate::limits::BATCH_COUNT;
use crate::shared_state::SharedState;
use crate::state::State;
use crate::{Result, Revision};
use parking_lot::Mutex;
use std::path::PathBuf;
use std::sync::Arc;

/// The distance to the file that begins the journal anew: nobody takes it for the one that follows.
const GAP: u64 = 2;

/// The files of a store, open for writing.
#[derive(Debug)]
pub(super) struct Engine {
    directory: PathBuf,
    options: EmbeddedOptions,
    table: Arc<Mutex<Table>>,
    journal: Journal,
    watermark: Watermark,
    checkpointer: Checkpointer,
}

impl Engine {
    /// Writes the files of a store that holds the current entries of this state, without its history.
    pub(super) fn create(directory: &Directory, disk: Arc<dyn Disk>, state: &State) -> Result<()> {
        let at = state.history.newest();
        let totals = Totals { revision: at, journal: FIRST_JOURNAL, records: 0 };
        Table::create(&directory.table(), disk, totals, state.index.range(b"", b"", at))
    }

    /// Opens the files and returns the state they hold.
    pub(super) fn open(
        directory: &Directory,
        options: &EmbeddedOptions,
    ) -> Result<(Engine, Arc<SharedState>)> {
        let disk = options.disk.clone();
        let (watermark, acknowledged) = Watermark::open(&directory.watermark(), disk.clone())?;
        let path = directory.table();
        if acknowledged == Revision::ZERO && !path.exists() {
            // New, or interrupted before the first write.
            Engine::create(directory, disk.clone(), &State::default())?;
        }
        let (table, index) = Table::open(&path, disk.clone())?;
        let Totals { revision, journal: first, .. } = table.totals();
        let mut recovery = Recovery::new(revision, index);
        let journal = Journal::open(directory.path(), disk.clone(), options.journal_file, first, |batch| {
            recovery.add(batch)
        })?;
        let newest = journal.newest_path();
        let (state, forgotten) = recovery.finish().map_err(|reason| damaged(&newest, reason))?;
        watermark::check(&newest, &directory.watermark(), state.history.newest(), acknowledged)?;
        journal.remove_others()?;
        let state = Arc::new(SharedState::new(state));
        let table = Arc::new(Mutex::new(table));
        let mut checkpointer = Checkpointer::start(directory.path(), table.clone(), state.clone())
            .map_err(|source| file_error(&path, "start writing", source))?;
        forgotten.iter().for_each(|commit| checkpointer.owe(commit));
        let directory = directory.path().to_owned();
        let options = options.clone();
        Ok((Engine { directory, options, table, journal, watermark, checkpointer }, state))
    }

    /// Makes a batch durable. On an error nothing of it counts as written.
    pub(super) fn write(&mut self, batch: &Batch<'_>, state: impl FnOnce() -> State) -> Result<()> {
        if self.journal.is_lost() {
            self.begin_anew(&state()).map_err(|error| not_durable(&error.to_string()))?;
        }
        self.journal.append(batch)?;
        if !batch.commits.is_empty() {
            self.watermark.note(batch.newest());
        }
        Ok(())
    }

    /// Lets the table follow once history has been forgotten up to a revision, if that frees a part of the journal.
    pub(super) fn follow(&mut self, forgotten: &[Arc<Commit>], compacted: Revision) {
        forgotten.iter().for_each(|commit| self.checkpointer.owe(commit));
        if let Some(first) = self.checkpointer.ended() {
            self.journal.begin_at(first);
        }
        if self.checkpointer.is_free()
            && let Some(first) = self.journal.needed_after(compacted)
        {
            self.checkpointer.begin(compacted, first);
        }
    }

    /// Writes everything anew from memory, since nobody knows what of the journal is on the disk. The new journal counts
    /// from the moment when the new table has its name.
    fn begin_anew(&mut self, state: &State) -> Result<()> {
        let mut table = self.table.lock();
        let compacted = state.history.compacted();
        // Not one of an attempt before, of which nobody knows whether it took.
        let number = journal::newest_number(&self.directory)? + GAP;
        let mut journal =
            Journal::begin(&self.directory, self.options.disk.clone(), self.options.journal_file, number);
        let commits: Vec<_> = state.history.iter().cloned().collect();
        let mut after = compacted;
        for commits in commits.chunks(BATCH_COUNT) {
            let batch = Batch { after, commits, forgotten: compacted };
            journal.append(&batch)?;
            after = batch.newest();
        }
        table.write_anew(compacted, number, state.index.range(b"", b"", compacted))?;
        // What is left of the old one is removed when the store is opened, if not now.
        let _ = journal.remove_others();
        self.journal = journal;
        self.checkpointer.settle();
        Ok(())
    }
}
