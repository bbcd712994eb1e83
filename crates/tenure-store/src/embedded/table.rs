//! The table: every entry as it was at one revision, in a redb database that is changed only in whole durable steps.
//! The [journal](super::journal) goes on from there. A table that failed is not trusted: it is written anew.

use super::disk::{DataFile, Disk};
use super::record::{self, TOTALS_KEY, Totals};
use crate::file_io::{damaged, file_error, remove_if_exists, sync_directory_of};
use crate::index::Index;
use crate::{Entry, Result, Revision};
use bytes::Bytes;
use redb::{Database, ReadableDatabase, ReadableTable, TableDefinition};
use std::collections::BTreeMap;
use std::fs::{self, File};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::Arc;

const RECORDS: TableDefinition<&[u8], &[u8]> = TableDefinition::new("records");

/// What the engine may hold in memory; all reads are served from the state, so this only buffers writes.
const CACHE: usize = 8 * 1024 * 1024;

/// Where the journal of a new table begins.
pub(super) const FIRST_JOURNAL: u64 = 1;

/// What became of each key that changed; no entry means that it is gone.
pub(super) type Changed = BTreeMap<Bytes, Option<Entry>>;

/// The open table, or one that failed and has to be written anew.
#[derive(Debug)]
pub(super) struct Table {
    path: PathBuf,
    disk: Arc<dyn Disk>,
    database: Option<Database>,
    totals: Totals,
}

impl Table {
    /// Opens the table and returns the entries it holds, believing nothing: every checksum and their number are checked.
    pub(super) fn open(path: &Path, disk: Arc<dyn Disk>) -> Result<(Table, Index)> {
        let length = fs::metadata(path).map_err(|source| file_error(path, "open", source))?.len();
        if length == 0 {
            // The engine would take an empty file for a new one.
            return Err(damaged(path, "it is empty".to_owned()));
        }
        let database = open_database(path, disk.clone())?;
        match guarded(path, || load(&database)) {
            Ok((totals, index)) => {
                Ok((Table { path: path.to_owned(), disk, database: Some(database), totals }, index))
            }
            Err(error) => {
                let_go(Some(database));
                Err(error)
            }
        }
    }

    /// Writes a table with these entries; it appears under its name only when it is complete.
    pub(super) fn create<'a>(
        path: &Path,
        disk: Arc<dyn Disk>,
        totals: Totals,
        entries: impl Iterator<Item = &'a Entry>,
    ) -> Result<()> {
        let mut table = Table { path: path.to_owned(), disk, database: None, totals };
        table.write_anew(totals.revision, totals.journal, entries)
    }

    /// Returns what the table holds.
    pub(super) fn totals(&self) -> Totals {
        self.totals
    }

    /// Tells whether the table has to be written anew.
    pub(super) fn has_failed(&self) -> bool {
        self.database.is_none()
    }

    /// Brings the table to a later revision. After an error it has to be written anew.
    pub(super) fn advance(&mut self, revision: Revision, journal: u64, changed: &Changed) -> Result<()> {
        let Some(database) = self.database.take() else {
            return Err(damaged(&self.path, "it failed before and was not written anew".to_owned()));
        };
        let totals = Totals { revision, journal, ..self.totals };
        match guarded(&self.path, || change(&database, totals, changed)) {
            Ok(totals) => {
                (self.totals, self.database) = (totals, Some(database));
                Ok(())
            }
            Err(error) => {
                let_go(Some(database));
                Err(error)
            }
        }
    }

    /// Replaces the table by a new one with these entries.
    pub(super) fn write_anew<'a>(
        &mut self,
        revision: Revision,
        journal: u64,
        entries: impl Iterator<Item = &'a Entry>,
    ) -> Result<()> {
        let_go(self.database.take());
        let fresh = self.path.with_extension("new");
        remove_if_exists(&fresh)?;
        let database = open_database(&fresh, self.disk.clone())?;
        let totals = Totals { revision, journal, records: 0 };
        let filled = guarded(&fresh, || fill(&database, totals, entries));
        let_go(Some(database));
        self.totals = filled?;
        // The engine syncs what it commits; this also makes the file's length and what closing wrote durable.
        let synced = File::open(&fresh).and_then(|file| file.sync_all());
        synced.map_err(|source| file_error(&fresh, "sync", source))?;
        fs::rename(&fresh, &self.path).map_err(|source| file_error(&self.path, "replace", source))?;
        sync_directory_of(&self.path)?;
        self.database = Some(open_database(&self.path, self.disk.clone())?);
        Ok(())
    }
}

fn open_database(path: &Path, disk: Arc<dyn Disk>) -> Result<Database> {
    let file = File::options().read(true).write(true).create(true).truncate(false).open(path);
    let file = file.map_err(|source| file_error(path, "open", source))?;
    guarded(path, || {
        let file = DataFile::new(file, disk)?;
        Ok(Database::builder().set_cache_size(CACHE).create_with_backend(file)?)
    })
}

/// Does something with the engine. A damaged file can make it panic; that is an error like any other.
fn guarded<T>(path: &Path, work: impl FnOnce() -> Result<T, EngineError>) -> Result<T> {
    match catch_unwind(AssertUnwindSafe(work)) {
        Ok(Ok(done)) => Ok(done),
        Ok(Err(EngineError::Damaged(reason))) => Err(damaged(path, reason)),
        Ok(Err(EngineError::Engine(redb::Error::Io(source)))) => {
            Err(file_error(path, "read or write", source))
        }
        Ok(Err(EngineError::Engine(error))) => Err(damaged(path, error.to_string())),
        Err(_) => Err(damaged(path, "the storage engine cannot make sense of it".to_owned())),
    }
}

impl Drop for Table {
    fn drop(&mut self) {
        let_go(self.database.take());
    }
}

/// Closes a database. What it then makes of a damaged file or a failing disk is of no interest: it is not trusted, or
/// was synced before.
fn let_go(database: Option<Database>) {
    let _ = catch_unwind(AssertUnwindSafe(|| drop(database)));
}

/// Why something with the engine failed.
enum EngineError {
    Engine(redb::Error),
    Damaged(String),
}

impl<E: Into<redb::Error>> From<E> for EngineError {
    fn from(error: E) -> EngineError {
        EngineError::Engine(error.into())
    }
}

fn change(database: &Database, mut totals: Totals, changed: &Changed) -> Result<Totals, EngineError> {
    let transaction = database.begin_write()?;
    {
        let mut records = transaction.open_table(RECORDS)?;
        for (key, entry) in changed {
            let before = match entry {
                Some(entry) => records.insert(&key[..], &record::encode(entry)[..])?.is_some(),
                None => records.remove(&key[..])?.is_some(),
            };
            totals.records = totals.records + u64::from(entry.is_some()) - u64::from(before);
        }
        records.insert(TOTALS_KEY, &totals.encode()[..])?;
    }
    transaction.commit()?;
    Ok(totals)
}

fn fill<'a>(
    database: &Database,
    mut totals: Totals,
    entries: impl Iterator<Item = &'a Entry>,
) -> Result<Totals, EngineError> {
    let transaction = database.begin_write()?;
    {
        let mut records = transaction.open_table(RECORDS)?;
        for entry in entries {
            records.insert(&entry.key[..], &record::encode(entry)[..])?;
            totals.records += 1;
        }
        records.insert(TOTALS_KEY, &totals.encode()[..])?;
    }
    transaction.commit()?;
    Ok(totals)
}

fn load(database: &Database) -> Result<(Totals, Index), EngineError> {
    let transaction = database.begin_read()?;
    let records = transaction.open_table(RECORDS)?;
    let totals = records.get(TOTALS_KEY)?;
    let totals = totals.ok_or_else(|| EngineError::Damaged("it has no totals".to_owned()))?;
    let totals = Totals::decode(totals.value()).map_err(EngineError::Damaged)?;
    let (mut index, mut seen) = (Index::default(), 0);
    for row in records.iter()? {
        let (key, bytes) = row?;
        if key.value() == TOTALS_KEY {
            continue;
        }
        let entry = record::decode(key.value(), bytes.value()).map_err(EngineError::Damaged)?;
        if entry.modified > totals.revision {
            let (key, modified) = (entry.key.escape_ascii(), entry.modified);
            return Err(EngineError::Damaged(format!("{key} is of revision {modified}, after the table's")));
        }
        index.insert(entry);
        seen += 1;
    }
    if seen != totals.records {
        return Err(EngineError::Damaged(format!("{seen} records where there should be {}", totals.records)));
    }
    Ok((totals, index))
}
