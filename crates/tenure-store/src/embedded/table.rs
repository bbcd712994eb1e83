//! The table: the entries and ledger records of one revision, in a redb database that is changed only in whole durable
//! steps. The [journal](super::journal) continues from there. A table that failed is not trusted: it is rewritten.

use super::directory::StoreId;
use super::disk::{DataFile, Disk, DiskOperation, Syncs};
use super::record::{self, LedgerOrder, RowError, TOTALS_KEY, Totals};
use crate::encryption::Session;
use crate::file_io::{damaged, file_error, private_file, remove_if_exists, sync_directory_of};
use crate::index::Index;
use crate::ledger::{Ledger, Record};
use crate::state::State;
use crate::{Encryption, Entry, Error, LedgerLimits, LedgerPosition, Result, Revision};
use bytes::Bytes;
use redb::{Database, ReadableDatabase, ReadableTable, TableDefinition, TableError};
use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::Arc;

const RECORDS: TableDefinition<&[u8], &[u8]> = TableDefinition::new("records");
const LEDGER: TableDefinition<&[u8], &[u8]> = TableDefinition::new("ledger by revision");
/// The ledger of a store of format 3.
const FORMER_LEDGER: TableDefinition<&[u8], &[u8]> = TableDefinition::new("ledger");

/// The engine's cache. All reads are served from memory, so that this only buffers writes.
const CACHE: usize = 1024 * 1024;

/// The number of the first journal file of a new store.
pub(super) const FIRST_JOURNAL: u64 = 1;

/// The last state of each changed key and ledger record; `None` means that it is removed.
#[derive(Debug, Default)]
pub(super) struct Changed {
    pub(super) entries: BTreeMap<Bytes, Option<Entry>>,
    pub(super) records: BTreeMap<LedgerPosition, Option<Record>>,
}

/// How a store opens and writes its table.
#[derive(Clone, Debug)]
pub(super) struct TableOptions {
    pub(super) path: PathBuf,
    pub(super) disk: Arc<dyn Disk>,
    pub(super) id: StoreId,
    pub(super) encryption: Encryption,
}

/// The open table, or one that failed and has to be rewritten.
#[derive(Debug)]
pub(super) struct Table {
    options: TableOptions,
    database: Option<Database>,
    totals: Totals,
    /// Whether a value was not encrypted with the current key when the table was opened.
    outdated: bool,
}

impl Table {
    /// Opens the table and returns its content. Every checksum and the number of rows are checked.
    pub(super) fn open(options: TableOptions, limits: LedgerLimits) -> Result<(Table, Index, Ledger)> {
        let path = &options.path;
        match fs::metadata(path) {
            // The engine would take an empty file for a new one.
            Ok(metadata) if metadata.len() == 0 => return Err(damaged(path, "it is empty")),
            Ok(_) => {}
            Err(source) if source.kind() == io::ErrorKind::NotFound => {
                return Err(damaged(path, "it is missing"));
            }
            Err(source) => return Err(file_error(path, "open", source)),
        }
        let database = open_database(path, options.disk.clone(), Syncs::EachCommit)?;
        let session = options.encryption.session();
        let loaded = guarded(path, || load(&database, options.id, &session, limits));
        match loaded {
            Ok(Loaded { totals, index, ledger, outdated, order }) => {
                let database = match order {
                    LedgerOrder::Revision => Some(database),
                    // Rewritten like one that failed.
                    LedgerOrder::Key => {
                        close(Some(database));
                        None
                    }
                };
                Ok((Table { options, database, totals, outdated }, index, ledger))
            }
            Err(error) => {
                close(Some(database));
                Err(error)
            }
        }
    }

    /// Writes a table with the entries and ledger records of a state at a revision. It appears under its name only when it
    /// is complete.
    pub(super) fn create(options: TableOptions, state: &State, at: Revision, journal: u64) -> Result<()> {
        write(&options, state, at, journal).map(drop)
    }

    /// Returns the totals.
    pub(super) fn totals(&self) -> Totals {
        self.totals
    }

    /// Tells whether a value was not encrypted with the current key when the table was opened.
    pub(super) fn is_outdated(&self) -> bool {
        self.outdated
    }

    /// Tells whether the table has to be rewritten.
    pub(super) fn has_failed(&self) -> bool {
        self.database.is_none()
    }

    /// Brings the table to a later revision. After an error it has to be rewritten.
    pub(super) fn advance(&mut self, revision: Revision, journal: u64, changed: &Changed) -> Result<()> {
        let Some(database) = self.database.take() else {
            return Err(damaged(&self.options.path, "an earlier write to it failed"));
        };
        let totals = Totals { revision, journal, ..self.totals };
        let session = self.options.encryption.session();
        match guarded(&self.options.path, || change(&database, totals, changed, &session)) {
            Ok(totals) => {
                (self.totals, self.database) = (totals, Some(database));
                Ok(())
            }
            Err(error) => {
                close(Some(database));
                Err(error)
            }
        }
    }

    /// Replaces the table by a new one with the entries and ledger records of a state at a revision.
    pub(super) fn rewrite(&mut self, state: &State, at: Revision, journal: u64) -> Result<()> {
        close(self.database.take());
        self.totals = write(&self.options, state, at, journal)?;
        self.database =
            Some(open_database(&self.options.path, self.options.disk.clone(), Syncs::EachCommit)?);
        Ok(())
    }
}

/// Writes a table beside the one of that name, if there is one, and puts it in its place when all of it is durable.
fn write(options: &TableOptions, state: &State, at: Revision, journal: u64) -> Result<Totals> {
    let path = &options.path;
    let fresh = path.with_extension("new");
    remove_if_exists(&fresh)?;
    tenure_files::create(&fresh).map_err(|source| file_error(&fresh, "create", source))?;
    let database = open_database(&fresh, options.disk.clone(), Syncs::Later)?;
    let totals = Totals { id: options.id, revision: at, journal, entries: 0, ledger: 0 };
    let session = options.encryption.session();
    let filled = guarded(&fresh, || fill(&database, totals, state, &session));
    close(Some(database));
    let totals = filled?;
    // This alone makes the content, the length of the file and the writes of closing it durable.
    let file = private_file().open(&fresh).map_err(|source| file_error(&fresh, "open", source))?;
    let synced = options.disk.perform(DiskOperation::Sync, &mut || file.sync_all());
    synced.map_err(|source| file_error(&fresh, "sync", source))?;
    fs::rename(&fresh, path).map_err(|source| file_error(path, "replace", source))?;
    sync_directory_of(path)?;
    Ok(totals)
}

fn open_database(path: &Path, disk: Arc<dyn Disk>, syncs: Syncs) -> Result<Database> {
    let file = private_file().open(path).map_err(|source| file_error(path, "open", source))?;
    guarded(path, || {
        let file = DataFile::new(file, disk, syncs)?;
        Ok(Database::builder().set_cache_size(CACHE).create_with_backend(file)?)
    })
}

/// Calls the engine. It may panic on a damaged file, which is turned into an error.
fn guarded<T>(path: &Path, work: impl FnOnce() -> Result<T, EngineError>) -> Result<T> {
    match catch_unwind(AssertUnwindSafe(work)) {
        Ok(Ok(done)) => Ok(done),
        Ok(Err(EngineError::Damaged(reason))) => Err(damaged(path, reason)),
        Ok(Err(EngineError::Store(error))) => Err(error),
        Ok(Err(EngineError::Engine(redb::Error::Io(source)))) => {
            Err(file_error(path, "read or write", source))
        }
        Ok(Err(EngineError::Engine(error))) => Err(damaged(path, error.to_string())),
        Err(_) => Err(damaged(path, "the storage engine cannot read it")),
    }
}

impl Drop for Table {
    fn drop(&mut self) {
        close(self.database.take());
    }
}

/// Closes a database. Errors and panics are ignored: the file is not trusted any more, or was synced before.
fn close(database: Option<Database>) {
    let _ = catch_unwind(AssertUnwindSafe(|| drop(database)));
}

/// Why an operation on the table failed.
enum EngineError {
    Engine(redb::Error),
    Damaged(String),
    Store(Error),
}

impl<E: Into<redb::Error>> From<E> for EngineError {
    fn from(error: E) -> EngineError {
        EngineError::Engine(error.into())
    }
}

fn row_error(error: RowError) -> EngineError {
    match error {
        RowError::Damaged(reason) => EngineError::Damaged(reason),
        RowError::Store(error) => EngineError::Store(error),
    }
}

fn change(
    database: &Database,
    mut totals: Totals,
    changed: &Changed,
    encryption: &Session,
) -> Result<Totals, EngineError> {
    let transaction = database.begin_write()?;
    {
        let mut records = transaction.open_table(RECORDS)?;
        for (key, entry) in &changed.entries {
            let before = match entry {
                Some(entry) => {
                    let row = record::encode(entry, encryption).map_err(EngineError::Store)?;
                    records.insert(&key[..], &row[..])?.is_some()
                }
                None => records.remove(&key[..])?.is_some(),
            };
            totals.entries = totals.entries + u64::from(entry.is_some()) - u64::from(before);
        }
        let mut ledger = transaction.open_table(LEDGER)?;
        for (position, kept) in &changed.records {
            let key = record::ledger_key(position);
            let before = match kept {
                Some(kept) => {
                    let row = record::encode_ledger(&position.key, kept, encryption);
                    ledger.insert(&key[..], &row.map_err(EngineError::Store)?[..])?.is_some()
                }
                None => ledger.remove(&key[..])?.is_some(),
            };
            totals.ledger = totals.ledger + u64::from(kept.is_some()) - u64::from(before);
        }
        records.insert(TOTALS_KEY, &totals.encode()[..])?;
    }
    transaction.commit()?;
    Ok(totals)
}

fn fill(
    database: &Database,
    mut totals: Totals,
    state: &State,
    encryption: &Session,
) -> Result<Totals, EngineError> {
    let transaction = database.begin_write()?;
    {
        let mut records = transaction.open_table(RECORDS)?;
        for entry in state.index.range(b"", b"", totals.revision) {
            let row = record::encode(entry, encryption).map_err(EngineError::Store)?;
            records.insert(&entry.key[..], &row[..])?;
            totals.entries += 1;
        }
        let mut ledger = transaction.open_table(LEDGER)?;
        for (key, kept) in state.ledger.iter().take_while(|(_, kept)| kept.revision <= totals.revision) {
            let row = record::encode_ledger(key, kept, encryption).map_err(EngineError::Store)?;
            let position = LedgerPosition { revision: kept.revision, key: key.clone() };
            ledger.insert(&record::ledger_key(&position)[..], &row[..])?;
            totals.ledger += 1;
        }
        records.insert(TOTALS_KEY, &totals.encode()[..])?;
    }
    transaction.commit()?;
    Ok(totals)
}

/// The content of a table.
struct Loaded {
    totals: Totals,
    index: Index,
    ledger: Ledger,
    outdated: bool,
    order: LedgerOrder,
}

fn load(
    database: &Database,
    id: StoreId,
    encryption: &Session,
    limits: LedgerLimits,
) -> Result<Loaded, EngineError> {
    let transaction = database.begin_read()?;
    let records = transaction.open_table(RECORDS)?;
    let totals = records.get(TOTALS_KEY)?;
    let totals = totals.ok_or_else(|| EngineError::Damaged("it has no totals".to_owned()))?;
    let totals = Totals::decode(totals.value()).map_err(EngineError::Damaged)?;
    if totals.id != id {
        return Err(EngineError::Damaged(format!("it belongs to another store ({}, not {id})", totals.id)));
    }
    let (mut index, mut entries, mut outdated) = (Index::default(), 0, false);
    for row in records.iter()? {
        let (key, bytes) = row?;
        if key.value() == TOTALS_KEY {
            continue;
        }
        let (entry, current) = record::decode(key.value(), bytes.value(), encryption).map_err(row_error)?;
        outdated |= !current;
        check_revision(&entry.key, entry.modified, totals.revision)?;
        index.insert(entry);
        entries += 1;
    }
    let (mut ledger, mut kept) = (Ledger::new(limits), 0);
    let (rows, order) = match transaction.open_table(LEDGER) {
        Err(TableError::TableDoesNotExist(_)) => (transaction.open_table(FORMER_LEDGER)?, LedgerOrder::Key),
        rows => (rows?, LedgerOrder::Revision),
    };
    for row in rows.iter()? {
        let (row, bytes) = row?;
        let (key, record) =
            record::decode_ledger(row.value(), bytes.value(), encryption, order).map_err(row_error)?;
        check_revision(&key, record.revision, totals.revision)?;
        ledger.push(key, record);
        kept += 1;
    }
    if (entries, kept) != (totals.entries, totals.ledger) {
        let Totals { entries: expected, ledger: records, .. } = totals;
        return Err(EngineError::Damaged(format!(
            "{entries} entries and {kept} ledger records instead of {expected} and {records}"
        )));
    }
    Ok(Loaded { totals, index, ledger, outdated, order })
}

fn check_revision(key: &Bytes, revision: Revision, newest: Revision) -> Result<(), EngineError> {
    if revision <= newest {
        return Ok(());
    }
    let key = key.escape_ascii();
    Err(EngineError::Damaged(format!("{key} has revision {revision}, but the table has revision {newest}")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::LedgerRequest;
    use crate::embedded::SystemDisk;
    use crate::entry::Commit;
    use crate::history::History;

    fn at(number: u64) -> Revision {
        Revision::from_number(number)
    }

    fn options(directory: &Path) -> TableOptions {
        TableOptions {
            path: directory.join("table.redb"),
            disk: Arc::new(SystemDisk),
            id: StoreId([7; 16]),
            encryption: Encryption::default(),
        }
    }

    /// A state with two keys and three ledger records.
    fn state() -> State {
        let mut state = State { history: History::starting_after(at(3)), ..State::default() };
        for (key, modified) in [("a", 3), ("b", 2)] {
            let (key, modified) = (Bytes::from_static(key.as_bytes()), at(modified));
            state.index.insert(Entry { key, value: "value".into(), created: modified, modified });
        }
        for (key, revision) in [("a", 1), ("b", 2), ("a", 3)] {
            let records = [(Bytes::from_static(key.as_bytes()), Bytes::from(format!("{key}{revision}")))];
            let records = Box::from(records);
            state.ledger.apply(&Commit { revision: at(revision), records, ..Commit::default() });
        }
        state
    }

    fn describe(ledger: &Ledger) -> Vec<Bytes> {
        let records = ledger.read(&LedgerRequest::prefix("", 9)).records;
        records.into_iter().map(|record| record.record).collect()
    }

    /// Writes the ledger of a table as format 3 had it.
    fn sort_by_key(options: &TableOptions) {
        let database = open_database(&options.path, options.disk.clone(), Syncs::EachCommit).unwrap();
        let transaction = database.begin_write().unwrap();
        {
            let mut former = transaction.open_table(FORMER_LEDGER).unwrap();
            for (key, kept) in state().ledger.iter() {
                let (mut row, name) = (vec![0; 4], [key, &kept.revision.get().to_be_bytes()[..]].concat());
                row.extend_from_slice(&kept.written_at.to_le_bytes());
                row.extend_from_slice(&kept.bytes);
                record::add_checksum(&name, &mut row);
                former.insert(&name[..], &row[..]).unwrap();
            }
            transaction.delete_table(LEDGER).unwrap();
        }
        transaction.commit().unwrap();
    }

    #[test]
    fn a_table_of_the_former_format_is_read_and_rewritten() {
        let directory = tempfile::tempdir().unwrap();
        let options = options(directory.path());
        Table::create(options.clone(), &state(), at(3), FIRST_JOURNAL).unwrap();
        sort_by_key(&options);
        for is_former in [true, false] {
            let (mut table, index, ledger) = Table::open(options.clone(), LedgerLimits::unlimited()).unwrap();
            assert_eq!(table.has_failed(), is_former);
            assert_eq!(describe(&ledger), ["a3", "b2", "a1"]);
            assert_eq!(index.count(b"", b""), 2);
            if is_former {
                table.rewrite(&State { index, ledger, ..state() }, at(3), FIRST_JOURNAL).unwrap();
            }
        }
    }
}
