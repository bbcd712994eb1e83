//! The engines behind one small trait, and the plain file that is their upper bound.

use redb::ReadableTable;
use std::fs::File;
use std::io::Write;
use std::path::Path;

/// What the measurement does with an engine.
pub trait Engine {
    /// Writes `count` records from a revision on, deletes the same number that left the history, durably.
    fn commit(&mut self, revision: u64, count: u64, history: u64, objects: u64, value: &[u8]);
    /// Reads everything once and returns the number of records.
    fn scan(&mut self) -> u64;
    /// Reads one record.
    fn read(&mut self, revision: u64);
}

/// The key of a record: every object in turn.
fn key(revision: u64, objects: u64) -> Vec<u8> {
    let mut key = revision.to_be_bytes().to_vec();
    key.extend_from_slice(format!("/registry/deployments/default/app-{:06}", revision % objects).as_bytes());
    key
}

/// The record that a write makes forgettable: it was superseded when the history began.
fn forgotten(revision: u64, history: u64, objects: u64) -> Option<Vec<u8>> {
    let old = revision.checked_sub(history + objects)?;
    Some(key(old, objects))
}

/// A file that is only appended to: the limit that the disk sets.
pub struct Plain(File);

impl Plain {
    pub fn open(path: &Path) -> Plain {
        Plain(File::options().create(true).append(true).read(true).open(path).expect("open"))
    }
}

impl Engine for Plain {
    fn commit(&mut self, revision: u64, count: u64, _: u64, objects: u64, value: &[u8]) {
        let mut bytes = Vec::with_capacity(value.len() * count as usize);
        for revision in revision..revision + count {
            bytes.extend_from_slice(&key(revision, objects));
            bytes.extend_from_slice(value);
        }
        self.0.write_all(&bytes).expect("write");
        self.0.sync_data().expect("sync");
    }

    fn scan(&mut self) -> u64 {
        1
    }

    fn read(&mut self, _: u64) {}
}

const TABLE: redb::TableDefinition<&[u8], &[u8]> = redb::TableDefinition::new("records");

/// redb: a copy-on-write B-tree in one file.
pub struct Redb(redb::Database);

impl Redb {
    pub fn open(path: &Path) -> Redb {
        let database = redb::Builder::new().set_cache_size(8 << 20).create(path).expect("open");
        Redb(database)
    }
}

impl Engine for Redb {
    fn commit(&mut self, revision: u64, count: u64, history: u64, objects: u64, value: &[u8]) {
        let transaction = self.0.begin_write().expect("begin");
        {
            let mut table = transaction.open_table(TABLE).expect("table");
            for revision in revision..revision + count {
                if let Some(old) = forgotten(revision, history, objects) {
                    table.remove(&old[..]).expect("remove");
                }
                table.insert(&key(revision, objects)[..], value).expect("insert");
            }
        }
        transaction.commit().expect("commit");
    }

    fn scan(&mut self) -> u64 {
        use redb::ReadableDatabase;
        let transaction = self.0.begin_read().expect("begin");
        let table = transaction.open_table(TABLE).expect("table");
        table.iter().expect("iterate").map(|row| row.expect("row").1.value().len().min(1) as u64).sum()
    }

    fn read(&mut self, revision: u64) {
        use redb::ReadableDatabase;
        let transaction = self.0.begin_read().expect("begin");
        let table = transaction.open_table(TABLE).expect("table");
        let from = revision.to_be_bytes();
        let row = table.range(&from[..]..).expect("range").next().expect("row").expect("row");
        std::hint::black_box(row.1.value());
    }
}

/// fjall: a log-structured merge tree.
pub struct Fjall(fjall::Database, fjall::Keyspace);

impl Fjall {
    pub fn open(path: &Path) -> Fjall {
        let database = fjall::Database::builder(path).cache_size(8 << 20).open().expect("open");
        let records = database
            .keyspace("records", || fjall::KeyspaceCreateOptions::default().max_memtable_size(8 << 20))
            .expect("keyspace");
        Fjall(database, records)
    }
}

impl Engine for Fjall {
    fn commit(&mut self, revision: u64, count: u64, history: u64, objects: u64, value: &[u8]) {
        let mut batch = self.0.batch().durability(Some(fjall::PersistMode::SyncData));
        for revision in revision..revision + count {
            if let Some(old) = forgotten(revision, history, objects) {
                batch.remove(&self.1, old);
            }
            batch.insert(&self.1, key(revision, objects), value);
        }
        batch.commit().expect("commit");
    }

    fn scan(&mut self) -> u64 {
        self.1.iter().map(|row| row.into_inner().expect("row").1.len().min(1) as u64).sum()
    }

    fn read(&mut self, revision: u64) {
        let row = self.1.range(revision.to_be_bytes()..).next().expect("row");
        row.into_inner().expect("row");
    }
}

/// SQLite: a B-tree with a write-ahead log.
pub struct Sqlite(rusqlite::Connection);

impl Sqlite {
    pub fn open(path: &Path) -> Sqlite {
        let connection = rusqlite::Connection::open(path).expect("open");
        let settings = "PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA cache_size = -8192;
            CREATE TABLE IF NOT EXISTS records (key BLOB PRIMARY KEY, value BLOB NOT NULL) WITHOUT ROWID";
        connection.execute_batch(settings).expect("settings");
        Sqlite(connection)
    }
}

impl Engine for Sqlite {
    fn commit(&mut self, revision: u64, count: u64, history: u64, objects: u64, value: &[u8]) {
        let transaction = self.0.transaction().expect("begin");
        {
            let mut remove = transaction.prepare_cached("DELETE FROM records WHERE key = ?").expect("sql");
            let mut insert = transaction.prepare_cached("INSERT INTO records VALUES (?, ?)").expect("sql");
            for revision in revision..revision + count {
                if let Some(old) = forgotten(revision, history, objects) {
                    remove.execute([old]).expect("remove");
                }
                insert.execute((key(revision, objects), value)).expect("insert");
            }
        }
        transaction.commit().expect("commit");
    }

    fn scan(&mut self) -> u64 {
        let mut all = self.0.prepare("SELECT value FROM records ORDER BY key").expect("sql");
        let rows = all.query_map([], |row| row.get::<_, Vec<u8>>(0)).expect("query");
        rows.map(|value| value.expect("row").len().min(1) as u64).sum()
    }

    fn read(&mut self, revision: u64) {
        let mut one = self
            .0
            .prepare_cached("SELECT value FROM records WHERE key >= ? ORDER BY key LIMIT 1")
            .expect("sql");
        one.query_row([revision.to_be_bytes()], |row| row.get::<_, Vec<u8>>(0)).expect("row");
    }
}
