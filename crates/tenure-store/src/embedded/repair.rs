//! Repairing a damaged store: a new store is created from the readable data, and the old files are kept beside it. None of
//! this happens by itself, because acknowledged writes may be lost.

use super::EmbeddedOptions;
use super::batch::ReadError;
use super::directory::{Content, Directory, StoreId};
use super::engine::{Engine, table_options};
use super::journal_file;
use super::recovery::Recovery;
use super::table::{FIRST_JOURNAL, Table};
use super::watermark::Watermark;
use crate::file_io::{create_private_directory, damaged, file_error, sync_directory};
use crate::index::Index;
use crate::ledger::Ledger;
use crate::limits::RESTORE_GAP;
use crate::state::State;
use crate::{Error, Result, Revision};
use std::fs;
use std::path::{Path, PathBuf};

/// The result of a repair.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Repair {
    /// The newest revision that could be read.
    pub recovered: Revision,
    /// The newest revision that was acknowledged, if the watermark could be read.
    pub acknowledged: Option<Revision>,
    /// The revision of the repaired store, above all revisions that clients may have seen.
    pub revision: Revision,
    /// The number of entries of the repaired store.
    pub entries: usize,
    /// What was missing or damaged.
    pub problems: Vec<String>,
    /// Where the old files are.
    pub old_files: PathBuf,
}

/// Creates a new store from the readable data of a damaged one.
pub(super) fn repair(path: &Path, options: &EmbeddedOptions) -> Result<Repair> {
    let (directory, content) = Directory::lock(path)?;
    let Content::Store(id) = content else {
        return Err(damaged(path, "the directory holds no store"));
    };
    let mut problems = Vec::new();
    let acknowledged = match Watermark::open(&directory.watermark(), options.disk.clone(), id) {
        Ok((_, acknowledged)) => Some(acknowledged),
        Err(error) => {
            problems.push(reason(&error));
            None
        }
    };
    let state = read(&directory, options, id, &mut problems)?;
    let recovered = state.history.newest();
    if acknowledged.is_some_and(|acknowledged| acknowledged > recovered) {
        problems.push(format!("the writes after revision {recovered} are lost"));
    }
    let revision = recovered.max(acknowledged.unwrap_or_default()).skip(RESTORE_GAP);
    let entries = state.index.range(b"", b"", recovered).count();
    let mut repaired = State { index: Index::default(), ..State::default() };
    state.index.range(b"", b"", recovered).for_each(|entry| repaired.index.insert(entry.clone()));
    repaired.history = crate::history::History::starting_after(revision);
    repaired.ledger = state.ledger;
    let old_files = move_aside(&directory)?;
    directory.create(|id| Engine::create(&directory, options, id, &repaired))?;
    Ok(Repair { recovered, acknowledged, revision, entries, problems, old_files })
}

/// Reads the table and the journal as far as they are intact.
fn read(
    directory: &Directory,
    options: &EmbeddedOptions,
    id: StoreId,
    problems: &mut Vec<String>,
) -> Result<State> {
    let session = options.encryption.session();
    let opened = Table::open(table_options(directory, options, id), options.ledger.clone());
    let (mut recovery, first) = match opened {
        Ok((table, index, ledger)) => {
            let totals = table.totals();
            (Recovery::new(totals.revision, index, ledger, session), totals.journal)
        }
        Err(error @ Error::Damaged { .. }) => {
            problems.push(reason(&error));
            let empty =
                Recovery::new(Revision::ZERO, Index::default(), Ledger::new(options.ledger.clone()), session);
            // Only a journal from the very beginning can replace the table; any other is refused by the recovery.
            (empty, FIRST_JOURNAL)
        }
        Err(error) => return Err(error),
    };
    let numbers = journal_file::numbers(directory.path())?;
    let own = |number: &u64| *number >= first && journal_file::same_generation(*number, first);
    let numbers: Vec<u64> = numbers.into_iter().filter(own).collect();
    for (expected, number) in (first..).zip(&numbers) {
        let path = journal_file::path(directory.path(), *number);
        if expected != *number {
            let missing = journal_file::path(directory.path(), expected);
            problems.push(format!("{}: missing", missing.display()));
            break;
        }
        let bytes = fs::read(&path).map_err(|source| file_error(&path, "read", source))?;
        let content = journal_file::read(&bytes, id, *number, |batch| recovery.add(batch).map(drop));
        let torn = match content {
            Ok(content) => content.torn,
            Err(ReadError::Damaged(reason)) => Some(reason),
            Err(ReadError::Store(error)) => return Err(error),
        };
        if let Some(torn) = torn {
            problems.push(format!("{}: {torn}", path.display()));
            break;
        }
    }
    if recovery.newest() == Revision::ZERO && !problems.is_empty() {
        return Err(damaged(
            &directory.table(),
            format!("nothing can be recovered ({})", problems.join("; ")),
        ));
    }
    let (state, _) = recovery.finish().map_err(|reason| damaged(directory.path(), reason))?;
    Ok(state)
}

/// Moves the files of the store into a directory beside them.
fn move_aside(directory: &Directory) -> Result<PathBuf> {
    let place = |number: u32| directory.path().join(format!("before-repair-{number}"));
    let aside = (1..).map(place).find(|place| !place.exists()).unwrap_or_else(|| place(0));
    create_private_directory(&aside)?;
    let unreadable = |source| file_error(directory.path(), "read", source);
    for entry in fs::read_dir(directory.path()).map_err(unreadable)? {
        let entry = entry.map_err(unreadable)?;
        let is_file = entry.file_type().map_err(unreadable)?.is_file();
        // The lock is held, and the format names the directory as a store until the new one replaces it.
        if is_file && !["lock", "format"].iter().any(|kept| entry.file_name() == *kept) {
            let to = aside.join(entry.file_name());
            fs::rename(entry.path(), &to).map_err(|source| file_error(&to, "move", source))?;
        }
    }
    sync_directory(&aside)?;
    sync_directory(directory.path())?;
    Ok(aside)
}

fn reason(error: &Error) -> String {
    match error {
        Error::Damaged { path, reason } => format!("{}: {reason}", path.display()),
        other => other.to_string(),
    }
}
