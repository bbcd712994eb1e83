//! A million overwrites of a thousand objects of 3 KB: the directory stays below 200 MB, and no write takes more than
//! 50 ms beyond what the disk itself took. `TENURE_STORE_SOAK` sets another number of writes.

use bytes::Bytes;
use std::io;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};
use tenure_store::embedded::{Disk, DiskStep};
use tenure_store::{EmbeddedOptions, EmbeddedStore, Expected, Store, Transaction};

const OBJECTS: u64 = 1_000;
const VALUE: usize = 3 * 1024;
const WRITERS: u64 = 64;
const MOST_BYTES: u64 = 200_000_000;
const SLOWEST: Duration = Duration::from_millis(50);

/// The disk, with a clock: only the committer uses it, so its time is the time that writes wait for the disk.
#[derive(Debug, Default)]
struct TimedDisk {
    nanoseconds: AtomicU64,
}

impl Disk for TimedDisk {
    fn perform(&self, _: DiskStep, act: &mut dyn FnMut() -> io::Result<()>) -> io::Result<()> {
        let began = Instant::now();
        let done = act();
        self.nanoseconds.fetch_add(began.elapsed().as_nanos() as u64, Ordering::Relaxed);
        done
    }
}

fn main() {
    let writes: u64 =
        std::env::var("TENURE_STORE_SOAK").ok().and_then(|text| text.parse().ok()).unwrap_or(1_000_000);
    let directory = tempfile::tempdir().expect("a directory to measure in");
    let disk = Arc::new(TimedDisk::default());
    let options = EmbeddedOptions { disk: disk.clone(), ..EmbeddedOptions::default() };
    let store = Arc::new(EmbeddedStore::open(directory.path(), options).expect("a store"));
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).build().expect("a runtime");
    let start = Instant::now();
    let done = Arc::new(AtomicU64::new(0));
    let tasks: Vec<_> = (0..WRITERS)
        .map(|writer| runtime.spawn(write(store.clone(), disk.clone(), done.clone(), writer, writes)))
        .collect();
    let mut largest = 0;
    while tasks.iter().any(|task| !task.is_finished()) {
        std::thread::sleep(Duration::from_millis(500));
        largest = largest.max(size(directory.path()));
    }
    let mut all: Vec<Latency> = Vec::new();
    for task in tasks {
        all.extend(runtime.block_on(task).expect("a writer"));
    }
    let elapsed = start.elapsed();
    all.sort_by_key(|latency| latency.total);
    let total = |part: usize| all[(all.len() * part / 1_000).min(all.len() - 1)].total;
    let own = all.iter().map(|latency| latency.own).max().unwrap_or_default();
    let slow = all.iter().filter(|latency| latency.own > SLOWEST).count();
    println!("{} overwrites of {OBJECTS} objects of 3 KB in {elapsed:.1?}", all.len());
    println!("  writes per second     {:.0}", all.len() as f64 / elapsed.as_secs_f64());
    println!(
        "  p50, p99, p99.9, max  {:.1?}, {:.1?}, {:.1?}, {:.1?}",
        total(500),
        total(990),
        total(999),
        total(1_000)
    );
    println!("  slowest without disk  {own:.1?} ({slow} above {SLOWEST:?})");
    println!(
        "  largest directory     {} MB, at the end {} MB",
        largest / 1_000_000,
        size(directory.path()) / 1_000_000
    );
    let began = Instant::now();
    drop(store);
    let store = EmbeddedStore::open(directory.path(), EmbeddedOptions::default()).expect("a store");
    println!("  closing and reopening {:.1?}", began.elapsed());
    drop(store);
    assert!(largest < MOST_BYTES, "the directory grew to {largest} bytes");
    assert_eq!(slow, 0, "writes waited for something other than the disk");
}

/// How long a write took in all, and without the disk.
struct Latency {
    total: Duration,
    own: Duration,
}

async fn write(
    store: Arc<EmbeddedStore>,
    disk: Arc<TimedDisk>,
    done: Arc<AtomicU64>,
    writer: u64,
    writes: u64,
) -> Vec<Latency> {
    let mut latencies = Vec::new();
    let value = Bytes::from(vec![writer as u8; VALUE]);
    loop {
        let number = done.fetch_add(1, Ordering::Relaxed);
        if number >= writes {
            return latencies;
        }
        let key = format!("/registry/deployments/default/app-{:06}", number % OBJECTS);
        let waited = disk.nanoseconds.load(Ordering::Relaxed);
        let began = Instant::now();
        store.commit(Transaction::new().put(key, Expected::Anything, value.clone())).await.expect("a write");
        let total = began.elapsed();
        let waited = disk.nanoseconds.load(Ordering::Relaxed) - waited;
        latencies.push(Latency { total, own: total.saturating_sub(Duration::from_nanos(waited)) });
    }
}

fn size(path: &Path) -> u64 {
    std::fs::read_dir(path)
        .expect("the directory")
        .map(|entry| entry.expect("an entry").metadata().map_or(0, |one| one.len()))
        .sum()
}
