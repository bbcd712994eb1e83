//! Durable writes per second: the store with 1, 16 and 256 writers, beside plain files fed one batch at a time by one
//! thread (what the disk can do) and beside redb fed in the same way (what a user's own engine can do).
//!
//! Values are 3 KB under 1,000 keys, each run lasts a few seconds. Ratios within one run are what counts.

use bytes::Bytes;
use redb::TableDefinition;
use std::fs::File;
use std::io::{Seek, SeekFrom, Write};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use tenure_store::{EmbeddedOptions, EmbeddedStore, Expected, HistoryLimits, Store, Transaction};

const VALUE: usize = 3 * 1024;
const KEYS: u64 = 1_000;
const HISTORY: u64 = 4_000;
const RUN: Duration = Duration::from_secs(3);
const WRITERS: [usize; 3] = [1, 16, 256];

fn main() {
    println!("durable writes of 3 KB            writes/s   slowest");
    for batch in [1, 16, 256] {
        run(&format!("plain append, batches of {batch}"), |path| append(path, batch));
        run(&format!("plain overwrite, batches of {batch}"), |path| overwrite(path, batch));
    }
    for batch in [1, 16, 256] {
        run(&format!("redb alone, batches of {batch}"), |path| engine(path, batch));
    }
    for writers in WRITERS {
        run(&format!("store, {writers} writers"), |path| store(path, writers));
    }
}

/// Measures one line, if its name contains the first argument or there is none.
fn run(name: &str, measure: impl FnOnce(&Path) -> (u64, Duration)) {
    let filter = std::env::args().skip(1).find(|one| !one.starts_with('-'));
    if filter.is_some_and(|filter| !name.contains(&filter)) {
        return;
    }
    let directory = tempfile::tempdir().expect("a directory to measure in");
    let start = Instant::now();
    let (writes, slowest) = measure(directory.path());
    let rate = writes as f64 / start.elapsed().as_secs_f64();
    println!("{name:32} {rate:9.0} {:>6.1} ms", slowest.as_secs_f64() * 1e3);
}

fn timed(mut commit: impl FnMut() -> u64) -> (u64, Duration) {
    let (start, mut writes, mut slowest) = (Instant::now(), 0, Duration::ZERO);
    while start.elapsed() < RUN {
        let began = Instant::now();
        writes += commit();
        slowest = slowest.max(began.elapsed());
    }
    (writes, slowest)
}

fn key(number: u64) -> String {
    format!("/registry/deployments/default/app-{:06}", number % KEYS)
}

/// Appends to a file and syncs it: every sync also has to write the file's new length.
fn append(path: &Path, batch: u64) -> (u64, Duration) {
    let mut file = File::create(path.join("plain")).expect("a file");
    let bytes = vec![7; VALUE * batch as usize];
    timed(|| {
        file.write_all(&bytes).and_then(|()| file.sync_data()).expect("a write");
        batch
    })
}

/// Overwrites a file of fixed length in a circle and syncs it: the least work for a disk.
fn overwrite(path: &Path, batch: u64) -> (u64, Duration) {
    let mut file = File::create(path.join("plain")).expect("a file");
    let bytes = vec![7; VALUE * batch as usize];
    let rounds = (64 * 1024 * 1024 / bytes.len()).max(1);
    for _ in 0..rounds {
        file.write_all(&bytes).expect("a write");
    }
    file.sync_all().expect("a sync");
    let mut round = 0;
    timed(|| {
        if round % rounds == 0 {
            file.seek(SeekFrom::Start(0)).expect("a seek");
        }
        round += 1;
        file.write_all(&bytes).and_then(|()| file.sync_data()).expect("a write");
        batch
    })
}

const RECORDS: TableDefinition<&[u8], &[u8]> = TableDefinition::new("records");

/// The engine as a store of records: append under (revision, key), delete what left the history.
fn engine(path: &Path, batch: u64) -> (u64, Duration) {
    let database =
        redb::Builder::new().set_cache_size(8 << 20).create(path.join("data")).expect("a database");
    let record = |revision: u64| {
        let mut bytes = revision.to_be_bytes().to_vec();
        bytes.extend_from_slice(key(revision).as_bytes());
        bytes
    };
    let value = vec![7; VALUE];
    let mut revision = 0;
    timed(|| {
        let transaction = database.begin_write().expect("a transaction");
        {
            let mut records = transaction.open_table(RECORDS).expect("a table");
            for _ in 0..batch {
                revision += 1;
                records.insert(&record(revision)[..], &value[..]).expect("an insertion");
                if let Some(old) = revision.checked_sub(HISTORY + KEYS) {
                    records.remove(&record(old)[..]).expect("a removal");
                }
            }
        }
        transaction.commit().expect("a commit");
        batch
    })
}

fn store(path: &Path, writers: usize) -> (u64, Duration) {
    let limits = HistoryLimits { count: HISTORY, ..HistoryLimits::default() };
    let options = EmbeddedOptions { limits, ..EmbeddedOptions::default() };
    let store = Arc::new(EmbeddedStore::open(path, options).expect("a store"));
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).build().expect("a runtime");
    let done = Arc::new(AtomicBool::new(false));
    let value = Bytes::from(vec![7; VALUE]);
    let tasks: Vec<_> = (0..writers)
        .map(|writer| {
            let (store, done, value) = (store.clone(), done.clone(), value.clone());
            runtime.spawn(async move {
                let (mut writes, mut slowest) = (0, Duration::ZERO);
                while !done.load(Ordering::Relaxed) {
                    let key = key(writer as u64 * 7 + writes);
                    let began = Instant::now();
                    let put = Transaction::new().put(key, Expected::Anything, value.clone());
                    store.commit(put).await.expect("a write");
                    slowest = slowest.max(began.elapsed());
                    writes += 1;
                }
                (writes, slowest)
            })
        })
        .collect();
    std::thread::sleep(RUN);
    done.store(true, Ordering::Relaxed);
    let results = tasks.into_iter().map(|task| runtime.block_on(task).expect("a writer"));
    results.fold((0, Duration::ZERO), |(writes, slowest), (more, slow)| (writes + more, slowest.max(slow)))
}
