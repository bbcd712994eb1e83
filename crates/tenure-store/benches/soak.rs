//! A million overwrites of a thousand objects of 3 KB: the directory stays below 200 MB, and no write takes more than
//! 50 ms beyond what the disk itself took and what other processes kept the cores for. `TENURE_STORE_SOAK` sets another number of writes.

use bytes::Bytes;
use std::io;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};
use tenure_store::embedded::{Disk, DiskOperation};
use tenure_store::{EmbeddedOptions, EmbeddedStore, Expected, Store, Transaction};

const OBJECTS: u64 = 1_000;
const VALUE: usize = 3 * 1024;
const WRITERS: u64 = 64;
const MOST_BYTES: u64 = 200_000_000;
const SLOWEST: Duration = Duration::from_millis(50);

/// The disk, with a clock: only the committer uses it, so its time is the time that writes wait for the disk. Beside it
/// the time that this process's threads were ready to run while others had the cores.
#[derive(Debug, Default)]
struct TimedDisk {
    nanoseconds: AtomicU64,
    without_core: AtomicU64,
}

impl TimedDisk {
    /// Returns how long the process could not continue for external reasons.
    fn waited(&self) -> Duration {
        let disk = self.nanoseconds.load(Ordering::Relaxed);
        Duration::from_nanos(disk + self.without_core.load(Ordering::Relaxed))
    }
}

impl Disk for TimedDisk {
    fn perform(&self, _: DiskOperation, act: &mut dyn FnMut() -> io::Result<()>) -> io::Result<()> {
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
        for _ in 0..100 {
            std::thread::sleep(Duration::from_millis(5));
            disk.without_core.store(without_core(), Ordering::Relaxed);
        }
        largest = largest.max(size(directory.path()));
    }
    let mut all = Latencies::default();
    for task in tasks {
        all.merge(runtime.block_on(task).expect("a writer"));
    }
    let elapsed = start.elapsed();
    all.micros.sort_unstable();
    let count = all.micros.len();
    let part = |part: usize| Duration::from_micros(all.micros[(count * part / 1_000).min(count - 1)].into());
    println!("{count} overwrites of {OBJECTS} objects of 3 KB in {elapsed:.1?}");
    println!("  writes per second     {:.0}", count as f64 / elapsed.as_secs_f64());
    println!(
        "  p50, p99, p99.9, max  {:.1?}, {:.1?}, {:.1?}, {:.1?}",
        part(500),
        part(990),
        part(999),
        part(1_000)
    );
    let total = |nanoseconds: &AtomicU64| Duration::from_nanos(nanoseconds.load(Ordering::Relaxed));
    println!("  in the disk           {:.1?}", total(&disk.nanoseconds));
    println!("  without a core        {:.1?}", total(&disk.without_core));
    println!("  slowest beside these  {:.1?} ({} above {SLOWEST:?})", all.slowest_own, all.slow);
    let end = size(directory.path());
    println!("  largest directory     {} MB, at the end {} MB", largest / 1_000_000, end / 1_000_000);
    println!("  resident              {}", resident());
    let began = Instant::now();
    drop(store);
    let store = EmbeddedStore::open(directory.path(), EmbeddedOptions::default()).expect("a store");
    println!("  closing and reopening {:.1?}", began.elapsed());
    drop(store);
    assert!(largest < MOST_BYTES, "the directory grew to {largest} bytes");
    assert_eq!(all.slow, 0, "writes waited for the store itself");
}

/// How long writes took in total, and the slowest without external waits.
#[derive(Default)]
struct Latencies {
    micros: Vec<u32>,
    slowest_own: Duration,
    slow: usize,
}

impl Latencies {
    fn add(&mut self, total: Duration, own: Duration) {
        self.micros.push(u32::try_from(total.as_micros()).unwrap_or(u32::MAX));
        self.slowest_own = self.slowest_own.max(own);
        self.slow += usize::from(own > SLOWEST);
    }

    fn merge(&mut self, other: Latencies) {
        self.micros.extend(other.micros);
        self.slowest_own = self.slowest_own.max(other.slowest_own);
        self.slow += other.slow;
    }
}

async fn write(
    store: Arc<EmbeddedStore>,
    disk: Arc<TimedDisk>,
    done: Arc<AtomicU64>,
    writer: u64,
    writes: u64,
) -> Latencies {
    let mut latencies = Latencies::default();
    let value = Bytes::from(vec![writer as u8; VALUE]);
    loop {
        let number = done.fetch_add(1, Ordering::Relaxed);
        if number >= writes {
            return latencies;
        }
        let key = format!("/registry/deployments/default/app-{:06}", number % OBJECTS);
        let waited = disk.waited();
        let began = Instant::now();
        let put = Transaction::new().put(key, Expected::Anything, value.clone());
        store.commit(put).await.expect("a write");
        let total = began.elapsed();
        latencies.add(total, total.saturating_sub(disk.waited() - waited));
    }
}

/// Returns the nanoseconds that this process's threads have waited for a core, if the system reports it.
fn without_core() -> u64 {
    let Ok(threads) = std::fs::read_dir("/proc/self/task") else { return 0 };
    let waited = |path: std::path::PathBuf| {
        let schedule = std::fs::read_to_string(path.join("schedstat")).ok()?;
        schedule.split_whitespace().nth(1)?.parse::<u64>().ok()
    };
    threads.flatten().filter_map(|thread| waited(thread.path())).sum()
}

/// Returns the memory of this process, if the system reports it.
fn resident() -> String {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    line.unwrap_or("unknown").trim().to_owned()
}

fn size(path: &Path) -> u64 {
    std::fs::read_dir(path)
        .expect("the directory")
        .map(|entry| entry.expect("an entry").metadata().map_or(0, |one| one.len()))
        .sum()
}
