//! The files of a store: the [table](super::table) of one revision and the [journal](super::journal) of all commits since. A
//! batch is durable when the journal has it; the table follows behind.

use super::EmbeddedOptions;
use super::batch::Batch;
use super::checkpoint::{Checkpointer, Mode};
use super::directory::{Directory, StoreId};
use super::journal::{Journal, JournalOptions};
use super::journal_file;
use super::recovery::Recovery;
use super::table::{FIRST_JOURNAL, Table, TableOptions};
use super::watermark::{self, Watermark};
use crate::entry::Commit;
use crate::file_io::{damaged, file_error};
use crate::limits::BATCH_COUNT;
use crate::shared_state::SharedState;
use crate::state::State;
use crate::{Error, LedgerPosition, Result, Revision};
use parking_lot::Mutex;
use std::sync::Arc;

/// The files of a store, open for writing.
#[derive(Debug)]
pub(super) struct Engine {
    options: JournalOptions,
    table: Arc<Mutex<Table>>,
    journal: Journal,
    watermark: Watermark,
    checkpointer: Checkpointer,
    reencryption: Reencryption,
    /// The generation of keys under which everything is, or will be when the re-encryption ends; `None` if under older ones.
    generation: Option<u64>,
}

/// The progress of replacing old encryption keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Reencryption {
    None,
    /// The table is rewritten once no journal file up to this one is needed.
    Wanted(u64),
    UnderWay,
}

impl Engine {
    /// Writes the files of a store with the current entries and the ledger of a state, without its history.
    pub(super) fn create(
        directory: &Directory,
        options: &EmbeddedOptions,
        id: StoreId,
        state: &State,
    ) -> Result<()> {
        let at = state.history.newest();
        Watermark::create(&directory.watermark(), id, at)?;
        Table::create(table_options(directory, options, id), state, at, FIRST_JOURNAL)
    }

    /// Opens the files and returns the state that they hold.
    pub(super) fn open(
        directory: &Directory,
        options: &EmbeddedOptions,
        id: StoreId,
    ) -> Result<(Engine, Arc<SharedState>)> {
        let (watermark, acknowledged) = Watermark::open(&directory.watermark(), options.disk.clone(), id)?;
        let table_options = table_options(directory, options, id);
        let table_path = table_options.path.clone();
        let (table, index, ledger) = Table::open(table_options, options.ledger.clone())?;
        let totals = table.totals();
        let mut recovery = Recovery::new(totals.revision, index, ledger, options.encryption.session());
        let journal_options = journal_options(directory, options, id);
        let generation = options.encryption.session().generation();
        let journal = Journal::open(journal_options.clone(), totals.journal, |batch| recovery.add(batch))?;
        let outdated = table.is_outdated() || recovery.is_outdated();
        let generation = (!outdated).then_some(generation);
        let newest = journal.newest_path();
        let (state, forgotten) = recovery.finish().map_err(|reason| damaged(&newest, reason))?;
        watermark::check(&newest, state.history.newest(), acknowledged)?;
        journal.remove_others()?;
        let state = Arc::new(SharedState::new(state));
        let table = Arc::new(Mutex::new(table));
        let mut checkpointer = Checkpointer::start(directory.path(), table.clone(), state.clone())
            .map_err(|source| file_error(&table_path, "start writing", source))?;
        state.read(|state| checkpointer.add(&forgotten, &[], state));
        let reencryption = Reencryption::None;
        Ok((
            Engine {
                options: journal_options,
                table,
                journal,
                watermark,
                checkpointer,
                reencryption,
                generation,
            },
            state,
        ))
    }

    /// Makes a batch durable. On an error nothing of it counts as written.
    pub(super) fn write(&mut self, batch: &Batch<'_>, state: impl FnOnce() -> State) -> Result<()> {
        if self.journal.is_lost() {
            let rewritten = self.rewrite(&state());
            rewritten.map_err(|error| Error::NotDurable { reason: error.to_string().into() })?;
        }
        self.journal.append(batch)?;
        if !batch.commits.is_empty() {
            self.watermark.advance(batch.newest());
        }
        Ok(())
    }

    /// Notes what history has forgotten and the ledger has dropped, and begins a checkpoint if that frees a part of the
    /// journal. Returns true if a re-encryption has just ended.
    pub(super) fn follow(
        &mut self,
        forgotten: &[Arc<Commit>],
        trimmed: &[LedgerPosition],
        state: &SharedState,
    ) -> bool {
        let compacted = state.read(|state| {
            self.checkpointer.add(forgotten, trimmed, state);
            state.history.compacted()
        });
        let ended = self.checkpointer.ended();
        if let Some(first) = ended {
            self.journal.begin_at(first);
        }
        let reencrypted = ended.is_some() && self.reencryption == Reencryption::UnderWay;
        if reencrypted {
            self.reencryption = Reencryption::None;
        }
        if self.checkpointer.is_free() {
            match self.reencryption {
                Reencryption::Wanted(last) => {
                    if let Some(first) = self.journal.needed_after_beyond(compacted, last) {
                        self.checkpointer.begin(compacted, first, Mode::Rewrite);
                        self.reencryption = Reencryption::UnderWay;
                    }
                }
                // A checkpoint that failed is repeated.
                Reencryption::UnderWay => {
                    let first = self.journal.needed_after(compacted);
                    let first = first.unwrap_or_else(|| self.table.lock().totals().journal);
                    self.checkpointer.begin(compacted, first, Mode::Rewrite);
                }
                Reencryption::None => {
                    if let Some(first) = self.journal.needed_after(compacted) {
                        self.checkpointer.begin(compacted, first, Mode::Advance);
                    }
                }
            }
        }
        reencrypted
    }

    /// Tells whether values are at rest under an old key.
    pub(super) fn is_reencrypting(&self) -> bool {
        self.reencryption != Reencryption::None
    }

    /// Begins to replace old encryption keys: from now on batches are in a new file, and when history no longer needs the
    /// files before, the table is rewritten and they are removed. Returns false if everything is under the current key.
    pub(super) fn reencrypt(&mut self, newest: Revision) -> Result<bool> {
        let current = self.options.encryption.session().generation();
        if self.generation != Some(current) {
            self.reencryption = Reencryption::Wanted(self.journal.roll(newest)?);
            self.generation = Some(current);
        }
        Ok(self.is_reencrypting())
    }

    /// Rewrites everything from memory, since the content of the journal on the disk is unknown. The new journal is of a new
    /// generation, which counts from the moment when the new table has its name.
    fn rewrite(&mut self, state: &State) -> Result<()> {
        let mut table = self.table.lock();
        let compacted = state.history.compacted();
        // Not the generation of an earlier attempt, of which only a part may be on the disk.
        let newest = journal_file::numbers(&self.options.directory)?.last().copied().unwrap_or(0);
        let number = journal_file::next_generation(newest.max(table.totals().journal));
        let mut journal = Journal::begin(self.options.clone(), number);
        let commits: Vec<_> = state.history.iter().cloned().collect();
        let mut after = compacted;
        for commits in commits.chunks(BATCH_COUNT) {
            let batch = Batch { after, commits, forgotten: compacted };
            journal.append(&batch)?;
            after = batch.newest();
        }
        table.rewrite(state, compacted, number)?;
        // What cannot be removed now is removed when the store is opened.
        let _ = journal.remove_others();
        self.journal = journal;
        self.checkpointer.clear();
        if let Reencryption::Wanted(_) = self.reencryption {
            self.reencryption = Reencryption::Wanted(number - 1);
        }
        Ok(())
    }
}

pub(super) fn table_options(directory: &Directory, options: &EmbeddedOptions, id: StoreId) -> TableOptions {
    TableOptions {
        path: directory.table(),
        disk: options.disk.clone(),
        id,
        encryption: options.encryption.clone(),
    }
}

fn journal_options(directory: &Directory, options: &EmbeddedOptions, id: StoreId) -> JournalOptions {
    JournalOptions {
        directory: directory.path().to_owned(),
        disk: options.disk.clone(),
        id,
        encryption: options.encryption.clone(),
        full_length: options.journal_file,
    }
}
