//! Measures embedded engines with the write pattern of the embedded store: records under (revision, key), appended
//! in batches that each become durable, while superseded records that have left the history are deleted.

mod engine;

use engine::{Engine, Plain};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

const OBJECTS: u64 = 1_000;
const HISTORY: u64 = 4_000;
const VALUE: usize = 3 * 1024;
const BATCHES: [u64; 4] = [1, 16, 64, 256];
const RUN: Duration = Duration::from_secs(3);

fn main() {
    let chosen: Vec<String> = std::env::args().skip(1).collect();
    let wanted = |name: &str| chosen.is_empty() || chosen.iter().any(|one| one == name);
    println!("engine      batch   writes/s  commit p50   p99      max   on disk  reopen+scan  read");
    if wanted("plain") {
        measure("plain", |path| Plain::open(path));
    }
    if wanted("redb") {
        measure("redb", |path| engine::Redb::open(path));
    }
    if wanted("fjall") {
        measure("fjall", |path| engine::Fjall::open(path));
    }
    if wanted("sqlite") {
        measure("sqlite", |path| engine::Sqlite::open(path));
    }
}

fn measure<E: Engine>(name: &str, open: impl Fn(&Path) -> E) {
    for batch in BATCHES {
        let directory = directory(name);
        let path = directory.join("data");
        let mut engine = open(&path);
        let mut revision = 0;
        let mut times = Vec::new();
        let start = Instant::now();
        while start.elapsed() < RUN {
            let began = Instant::now();
            engine.commit(revision + 1, batch, HISTORY, OBJECTS, &value(revision));
            times.push(began.elapsed());
            revision += batch;
        }
        let rate = revision as f64 / start.elapsed().as_secs_f64();
        times.sort();
        let size = size(&directory);
        drop(engine);
        let began = Instant::now();
        let mut engine = open(&path);
        let records = engine.scan();
        let reopen = began.elapsed();
        let began = Instant::now();
        let reads = 2_000.min(records);
        for read in 0..reads {
            engine.read(revision - read * 7 % records.min(HISTORY));
        }
        let read = began.elapsed() / u32::try_from(reads.max(1)).unwrap_or(1);
        println!(
            "{name:10} {batch:6} {rate:10.0} {:>9} {:>8} {:>8} {:>7} MB {:>9} {:>7}",
            micros(times[times.len() / 2]),
            micros(times[times.len() * 99 / 100]),
            micros(times[times.len() - 1]),
            size / 1_000_000,
            micros(reopen),
            micros(read),
        );
        drop(engine);
        std::fs::remove_dir_all(&directory).expect("cannot remove the directory of the measurement");
    }
}

/// A value that does not compress, so that compressing engines have no advantage.
fn value(seed: u64) -> Vec<u8> {
    let mut state = seed.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let next = move |_| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 32) as u8
    };
    (0..VALUE).map(next).collect()
}

fn directory(name: &str) -> PathBuf {
    let directory = std::env::temp_dir().join(format!("engines-{name}-{}", std::process::id()));
    std::fs::create_dir_all(&directory).expect("cannot make a directory to measure in");
    directory
}

fn size(path: &Path) -> u64 {
    let metadata = std::fs::metadata(path).expect("cannot see the size of a file");
    if !metadata.is_dir() {
        return metadata.len();
    }
    let entries = std::fs::read_dir(path).expect("cannot read the directory");
    entries.map(|entry| size(&entry.expect("cannot read the directory").path())).sum()
}

fn micros(time: Duration) -> String {
    format!("{} µs", time.as_micros())
}
