//! Counts the instructions of the hot paths under callgrind and compares them with the figures in `bench/instructions.txt`.
//!
//! `scripts/instructions` builds and runs it. Instructions do not depend on other load on the machine, so that a difference of a few
//! percent is one of the code. Every path runs in one process with the allocator of the binary, on a runtime with one thread, with a
//! clock that stands still.

mod callgrind;
mod figures;
mod libraries;
mod path;
mod requests;
mod steps;

use figures::{Figures, Toolchain};
use path::HotPath;
use std::{error::Error, process::ExitCode, time::Instant};

/// The allocator of the binary, which takes the place of `malloc`.
#[used]
static ALLOCATOR: unsafe fn(&mimalloc::MiMalloc, std::alloc::Layout) -> *mut u8 =
    <mimalloc::MiMalloc as std::alloc::GlobalAlloc>::alloc;

const USAGE: &str = "usage: tenure-instructions [check | update | list | time NAME [ROUNDS]]

  check   counts the instructions of every path, and fails if one takes more than 3 % more than recorded (default)
  update  counts them and records the figures
  list    prints the names of the paths
  time    runs the paths whose name contains NAME without callgrind, for profilers";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match run(&words) {
        Ok(code) => code,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::from(2)
        }
    }
}

fn run(words: &[&str]) -> Result<ExitCode, Box<dyn Error>> {
    match words {
        [] | ["check"] => check(),
        ["update"] => {
            let counted = callgrind::count()?;
            Figures::new(Toolchain::current()?, counted).write()?;
            println!("recorded in {}", figures::FILE);
            Ok(ExitCode::SUCCESS)
        }
        ["list"] => {
            all_paths()?.iter().for_each(|path| println!("{}", path.name));
            Ok(ExitCode::SUCCESS)
        }
        [callgrind::MEASURE] => {
            all_paths()?.iter_mut().try_for_each(callgrind::measure)?;
            Ok(ExitCode::SUCCESS)
        }
        ["time", name] => time(name, 1),
        ["time", name, rounds] => time(name, rounds.parse()?),
        _ => Err(USAGE.into()),
    }
}

/// Returns the paths, in the order of the report.
fn all_paths() -> Result<Vec<HotPath>, Box<dyn Error>> {
    let mut paths = libraries::paths()?;
    paths.extend(requests::paths()?);
    Ok(paths)
}

fn check() -> Result<ExitCode, Box<dyn Error>> {
    let recorded = Figures::read()?;
    let toolchain = Toolchain::current()?;
    let is_same_toolchain = recorded.toolchain == toolchain;
    let counted = Figures::new(toolchain, callgrind::count()?);
    let comparison = recorded.compare(&counted);
    print!("{comparison}");
    if !is_same_toolchain {
        println!(
            "the figures were recorded with {}, this is {}: differences are not failures; record them again with `scripts/instructions update`",
            recorded.toolchain, counted.toolchain
        );
        return Ok(ExitCode::SUCCESS);
    }
    if comparison.has_failed() {
        println!(
            "a path takes more than {} % more instructions than recorded, or is not recorded; if that is intended, record the figures with `scripts/instructions update`",
            figures::TOLERANCE_PERCENT
        );
        return Ok(ExitCode::FAILURE);
    }
    Ok(ExitCode::SUCCESS)
}

/// Runs paths without callgrind and prints the least time of a run.
fn time(name: &str, rounds: usize) -> Result<ExitCode, Box<dyn Error>> {
    for path in all_paths()?.iter_mut().filter(|path| path.name.contains(name)) {
        let mut least = f64::INFINITY;
        for _ in 0..rounds.max(1) {
            let run = path.prepare()?;
            let start = Instant::now();
            run()?;
            least = least.min(start.elapsed().as_secs_f64() * 1e6 / path.runs as f64);
        }
        println!("{least:10.2} µs  {}", path.name);
    }
    Ok(ExitCode::SUCCESS)
}
