//! A writer process is killed with SIGKILL repeatedly, and its files are damaged in between. Every acknowledged write must
//! be present and intact, revisions are never assigned twice, and a watcher must be able to resume.
//!
//! This binary is also the writer: it starts itself again with a directory in its environment, hence `harness = false`.

mod check;
mod damage;
mod space;
mod writer;

use check::Witness;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};
use tenure_store::HistoryLimits;

/// Lanes kill writers side by side, since most of the time goes into waiting for the disk.
const LANES: u64 = 4;
const KILLS: u64 = 60;
const LIVES: std::ops::Range<u64> = 5..220;

const DIRECTORY: &str = "TENURE_STORE_CRASH_DIRECTORY";
const HISTORY: &str = "TENURE_STORE_CRASH_HISTORY";
const SPACE: &str = "TENURE_STORE_CRASH_SPACE";
const SEED: &str = "TENURE_STORE_CRASH_SEED";

type Test = (&'static str, fn());
const TESTS: [Test; 2] = [
    ("acknowledged_writes_survive_any_kill", survive_kills),
    ("a_real_limit_of_space_is_survived", || space::run(DIRECTORY, SPACE)),
];

fn main() {
    if let Ok(directory) = std::env::var(DIRECTORY) {
        match std::env::var(SPACE) {
            Ok(_) => space::fill(Path::new(&directory)),
            Err(_) => writer::run(Path::new(&directory), number(HISTORY), number(SEED)),
        }
        return;
    }
    run_tests(&Wanted::of(std::env::args().skip(1)));
}

/// The arguments of the test runner, as far as runners use them.
#[derive(Default)]
struct Wanted {
    list: bool,
    ignored: bool,
    filters: Vec<String>,
}

impl Wanted {
    fn of(mut arguments: impl Iterator<Item = String>) -> Wanted {
        let mut wanted = Wanted::default();
        while let Some(argument) = arguments.next() {
            match &*argument {
                "--list" => wanted.list = true,
                "--ignored" => wanted.ignored = true,
                "--format" | "--color" | "--test-threads" | "--logfile" | "--skip" | "-Z" => {
                    arguments.next();
                }
                flag if flag.starts_with('-') => {}
                _ => wanted.filters.push(argument),
            }
        }
        wanted
    }

    fn includes(&self, name: &str) -> bool {
        !self.ignored && (self.filters.is_empty() || self.filters.iter().any(|filter| name.contains(filter)))
    }
}

fn run_tests(wanted: &Wanted) {
    silence_the_engine();
    let (mut passed, mut failed) = (0, 0);
    for (name, test) in TESTS.into_iter().filter(|(name, _)| wanted.includes(name)) {
        if wanted.list {
            println!("{name}: test");
            continue;
        }
        let start = Instant::now();
        let outcome = match std::panic::catch_unwind(test) {
            Ok(()) => "ok",
            Err(_) => "FAILED",
        };
        if outcome == "ok" {
            passed += 1
        } else {
            failed += 1
        }
        println!("test {name} ... {outcome} ({:.1?})", start.elapsed());
    }
    if wanted.list {
        return;
    }
    let outcome = if failed == 0 { "ok" } else { "FAILED" };
    println!("\ntest result: {outcome}. {passed} passed; {failed} failed; 0 ignored; 0 measured");
    if failed > 0 {
        std::process::exit(101);
    }
}

fn survive_kills() {
    let seed: u64 = std::env::var(SEED).ok().and_then(|text| text.parse().ok()).unwrap_or_else(|| {
        std::time::SystemTime::now()
            .duration_since(std::time::UNIX_EPOCH)
            .map_or(1, |since| since.subsec_nanos().into())
    });
    println!("seed {seed} (set {SEED} to repeat)");
    let lanes: Vec<_> = (0..LANES).map(|lane| std::thread::spawn(move || run_lane(seed + lane))).collect();
    let outcomes: Vec<_> = lanes.into_iter().map(std::thread::JoinHandle::join).collect();
    assert!(outcomes.iter().all(Result::is_ok), "a lane failed with seed {seed}");
    let total: check::Report = outcomes.into_iter().flatten().sum();
    println!("{total:?}");
    assert!(total.kills >= 200 && total.acknowledged > 1_000, "too little happened: {total:?}");
    assert!(
        total.refused > 0 && total.recovered > 0,
        "damage was never refused, or never recovered from: {total:?}"
    );
}

/// The engine panics on some damaged files, which the store turns into an error; only other panics are reported.
fn silence_the_engine() {
    let report = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        if !panic.location().is_some_and(|location| location.file().contains("redb")) {
            report(panic);
        }
    }));
}

/// Kills writers on one directory and checks it after each.
fn run_lane(seed: u64) -> check::Report {
    let place = tempfile::tempdir().unwrap();
    let directory = place.path().join("store");
    let mut random = Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
    let mut witness = Witness::default();
    for kill in 0..KILLS {
        // A short history makes the writer forget all the time; then the witness may have to start over.
        let history = if kill % 3 == 2 { 40 } else { 100_000 };
        let life = Duration::from_millis(random.within(LIVES));
        for line in run_and_kill_writer(&directory, history, random.next(), life) {
            witness.record_output(&line);
        }
        witness.report.kills += 1;
        if kill % 4 == 3 {
            damage::try_one(&directory, place.path(), &mut witness, &mut random);
        }
        witness.inspect(&directory, history);
    }
    witness.report
}

/// Starts a writer, kills it after a while and returns its output.
fn run_and_kill_writer(directory: &Path, history: u64, seed: u64, life: Duration) -> Vec<String> {
    let mut writer = Command::new(std::env::current_exe().unwrap())
        .env(DIRECTORY, directory)
        .env(HISTORY, history.to_string())
        .env(SEED, seed.to_string())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let output = BufReader::new(writer.stdout.take().unwrap());
    let listener = std::thread::spawn(move || output.lines().map_while(Result::ok).collect::<Vec<_>>());
    std::thread::sleep(life);
    writer.kill().unwrap();
    let status = writer.wait().unwrap();
    assert_eq!(status.code(), None, "the writer ended by itself: {status}");
    listener.join().unwrap()
}

fn limits(count: u64) -> HistoryLimits {
    HistoryLimits { count, ..HistoryLimits::unlimited() }
}

fn number(variable: &str) -> u64 {
    std::env::var(variable).unwrap().parse().unwrap()
}

/// A small generator: the test has to be repeatable from its seed, not unpredictable.
pub struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 11
    }

    fn within(&mut self, range: std::ops::Range<u64>) -> u64 {
        range.start + self.next() % (range.end - range.start)
    }
}
