//! The data file: records in a redb table, changed only in whole durable batches. After a failed batch the engine
//! is not trusted: the file is opened anew and compared with memory, or written anew from memory.

use super::disk::{DataFile, Disk};
use super::record::{self, TOTALS_KEY, Totals};
use super::recovery::Recovery;
use crate::entry::Commit;
use crate::ledger::State;
use crate::{Change, Entry, Error, Result};
use redb::{Database, ReadableDatabase, TableDefinition};
use std::fs::{self, File};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

const RECORDS: TableDefinition<&[u8], &[u8]> = TableDefinition::new("records");

/// What the engine may hold in memory; all reads are served from the ledger, so this only buffers writes.
const CACHE: usize = 8 * 1024 * 1024;

/// What one batch adds and what it lets go.
#[derive(Debug, Default)]
pub(super) struct Batch<'a> {
    pub(super) commits: &'a [Arc<Commit>],
    /// The oldest commits of the kept history, which it forgets.
    pub(super) forgotten: &'a [Arc<Commit>],
}

/// An open data file, or one that failed and has to be recovered before the next batch.
#[derive(Debug)]
pub(super) struct Engine {
    path: PathBuf,
    disk: Arc<dyn Disk>,
    database: Option<Database>,
    sync_failed: Arc<AtomicBool>,
    totals: Totals,
}

impl Engine {
    /// Opens the data file and returns the state it holds.
    pub(super) fn open(path: &Path, disk: Arc<dyn Disk>) -> Result<(Engine, State)> {
        let mut engine = Engine {
            path: path.to_owned(),
            disk,
            database: None,
            sync_failed: Arc::default(),
            totals: Totals::default(),
        };
        let database = engine.open_database(path)?;
        let (totals, state) = engine.guarded(|| load(&database))?;
        engine.database = Some(database);
        engine.totals = totals;
        Ok((engine, state))
    }

    /// Writes a data file that holds this state; it appears under its name only when it is complete.
    pub(super) fn create(path: &Path, disk: Arc<dyn Disk>, state: &State) -> Result<()> {
        let mut engine = Engine {
            path: path.to_owned(),
            disk,
            database: None,
            sync_failed: Arc::default(),
            totals: Totals::default(),
        };
        engine.write_anew(state)
    }

    /// Makes a batch durable. On an error nothing of it counts as written.
    pub(super) fn write(&mut self, batch: &Batch<'_>, state: impl FnOnce() -> State) -> Result<()> {
        if self.database.is_none() {
            self.recover(&state())?;
        }
        let Some(database) = &self.database else { return Err(not_durable("the data file is not open")) };
        match catch_unwind(AssertUnwindSafe(|| write(database, self.totals, batch))) {
            Ok(Ok(totals)) => {
                self.totals = totals;
                Ok(())
            }
            Ok(Err(error)) => {
                self.database = None;
                Err(not_durable(&error.to_string()))
            }
            Err(_) => {
                self.database = None;
                Err(not_durable("the storage engine failed unexpectedly"))
            }
        }
    }

    /// Brings the data file back to what memory holds. If a sync failed, nobody knows what of the file is on the
    /// disk, whatever reading it shows; then, or if it differs from memory, it is written anew.
    fn recover(&mut self, state: &State) -> Result<()> {
        if !self.sync_failed.load(Ordering::Relaxed)
            && let Ok(database) = self.open_database(&self.path)
            && let Ok(totals) = self.guarded(|| read_totals(&database))
            && totals == self.totals
        {
            self.database = Some(database);
            return Ok(());
        }
        self.write_anew(state).map_err(|error| not_durable(&error.to_string()))?;
        self.sync_failed.store(false, Ordering::Relaxed);
        self.database =
            Some(self.open_database(&self.path).map_err(|error| not_durable(&error.to_string()))?);
        Ok(())
    }

    fn write_anew(&mut self, state: &State) -> Result<()> {
        let fresh = self.path.with_extension("new");
        remove_if_there(&fresh)?;
        {
            let database = self.open_database(&fresh)?;
            self.totals = self.guarded_at(&fresh, || write_state(&database, state))?;
        }
        // The engine syncs what it commits; this also makes the file's length and what closing wrote durable.
        let synced = File::open(&fresh).and_then(|file| file.sync_all());
        synced.map_err(|source| file_error(&fresh, "sync", source))?;
        fs::rename(&fresh, &self.path).map_err(|source| file_error(&self.path, "replace", source))?;
        sync_directory_of(&self.path)
    }

    fn open_database(&self, path: &Path) -> Result<Database> {
        let mut options = File::options();
        let file = options.read(true).write(true).create(path != self.path).truncate(false).open(path);
        let file = file.map_err(|source| file_error(path, "open", source))?;
        let length = file.metadata().map_err(|source| file_error(path, "read", source))?.len();
        if length == 0 && path == self.path {
            // The engine would take an empty file for a new one.
            return Err(damaged(path, "it is empty".to_owned()));
        }
        self.guarded_at(path, || {
            let file = DataFile::new(file, self.disk.clone(), self.sync_failed.clone())?;
            Ok(Database::builder().set_cache_size(CACHE).create_with_backend(file)?)
        })
    }

    fn guarded<T>(&self, work: impl FnOnce() -> Result<T, Fault>) -> Result<T> {
        self.guarded_at(&self.path, work)
    }

    /// Does something with the engine. A damaged file can make it panic; that is an error like any other.
    fn guarded_at<T>(&self, path: &Path, work: impl FnOnce() -> Result<T, Fault>) -> Result<T> {
        match catch_unwind(AssertUnwindSafe(work)) {
            Ok(Ok(done)) => Ok(done),
            Ok(Err(Fault::Damaged(reason))) => Err(damaged(path, reason)),
            Ok(Err(Fault::Engine(redb::Error::Io(source)))) => Err(file_error(path, "read or write", source)),
            Ok(Err(Fault::Engine(error))) => Err(damaged(path, error.to_string())),
            Err(_) => Err(damaged(path, "the storage engine cannot make sense of it".to_owned())),
        }
    }
}

/// Why something with the engine failed.
enum Fault {
    Engine(redb::Error),
    Damaged(String),
}

impl<E: Into<redb::Error>> From<E> for Fault {
    fn from(error: E) -> Fault {
        Fault::Engine(error.into())
    }
}

fn write(database: &Database, mut totals: Totals, batch: &Batch<'_>) -> Result<Totals, redb::Error> {
    let transaction = database.begin_write()?;
    {
        let mut records = transaction.open_table(RECORDS)?;
        for commit in batch.forgotten {
            for superseded in superseded(commit) {
                if records.remove(&superseded[..])?.is_some() {
                    totals.records -= 1;
                }
            }
            totals.compacted = commit.revision;
        }
        for commit in batch.commits {
            totals.records += write_commit(&mut records, commit)?;
            totals.newest = commit.revision;
        }
        records.insert(&TOTALS_KEY[..], &totals.encode()[..])?;
    }
    transaction.commit()?;
    Ok(totals)
}

fn write_commit(records: &mut redb::Table<&[u8], &[u8]>, commit: &Commit) -> Result<u64, redb::Error> {
    for change in &commit.changes {
        let key = record::record_key(commit.revision, &change.key);
        let mut bytes = records.insert_reserve(&key[..], record::record_length(change))?;
        record::encode_into(bytes.as_mut(), &key, commit, change);
    }
    Ok(commit.changes.len() as u64)
}

/// Returns the keys of the records that nobody can see once a commit is forgotten: what it replaced, and its own
/// deletions.
fn superseded(commit: &Commit) -> impl Iterator<Item = Vec<u8>> {
    commit.changes.iter().flat_map(move |change| {
        let replaced = change.previous.as_ref().map(|entry| record::record_key(entry.modified, &entry.key));
        let deletion = change.current.is_none().then(|| record::record_key(commit.revision, &change.key));
        [replaced, deletion].into_iter().flatten()
    })
}

/// Writes all of a state: what was current when the kept history begins, then the history.
fn write_state(database: &Database, state: &State) -> Result<Totals, Fault> {
    let compacted = state.history.compacted();
    let mut totals = Totals { newest: state.history.newest(), compacted, records: 0 };
    let transaction = database.begin_write()?;
    {
        let mut records = transaction.open_table(RECORDS)?;
        for entry in state.index.range(b"", b"", compacted) {
            totals.records += write_commit(&mut records, &alone(entry))?;
        }
        for commit in state.history.iter() {
            totals.records += write_commit(&mut records, commit)?;
        }
        records.insert(&TOTALS_KEY[..], &totals.encode()[..])?;
    }
    transaction.commit()?;
    Ok(totals)
}

/// Returns an entry from before the kept history as the only change of its transaction, all that is known of it.
fn alone(entry: &Entry) -> Commit {
    let change = Change { key: entry.key.clone(), previous: None, current: Some(entry.clone()) };
    Commit { revision: entry.modified, written_at: 0, changes: Box::new([change]) }
}

fn read_totals(database: &Database) -> Result<Totals, Fault> {
    let transaction = database.begin_read()?;
    let records = transaction.open_table(RECORDS)?;
    let totals = records.get(&TOTALS_KEY[..])?;
    let totals = totals.ok_or_else(|| Fault::Damaged("it has no totals".to_owned()))?;
    Totals::decode(totals.value()).map_err(Fault::Damaged)
}

fn load(database: &Database) -> Result<(Totals, State), Fault> {
    let totals = read_totals(database)?;
    let mut recovery = Recovery::new(totals);
    let transaction = database.begin_read()?;
    let records = transaction.open_table(RECORDS)?;
    for row in records.range::<&[u8]>(..&TOTALS_KEY[..])? {
        let (key, bytes) = row?;
        let record = record::decode(key.value(), bytes.value()).map_err(Fault::Damaged)?;
        recovery.add(record).map_err(Fault::Damaged)?;
    }
    Ok((totals, recovery.finish().map_err(Fault::Damaged)?))
}

pub(super) fn not_durable(reason: &str) -> Error {
    Error::NotDurable { reason: reason.into() }
}

pub(super) fn damaged(path: &Path, reason: String) -> Error {
    Error::Damaged { path: path.to_owned(), reason }
}

pub(super) fn file_error(path: &Path, action: &'static str, source: std::io::Error) -> Error {
    Error::File { path: path.to_owned(), action, source: Arc::new(source) }
}

/// Removes a file that may not exist.
pub(super) fn remove_if_there(path: &Path) -> Result<()> {
    match fs::remove_file(path) {
        Err(source) if source.kind() != std::io::ErrorKind::NotFound => {
            Err(file_error(path, "remove", source))
        }
        _ => Ok(()),
    }
}

/// Makes the names in a file's directory durable.
pub(super) fn sync_directory_of(path: &Path) -> Result<()> {
    let directory = match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    };
    let synced = File::open(directory).and_then(|directory| directory.sync_all());
    synced.map_err(|source| file_error(directory, "sync", source))
}
