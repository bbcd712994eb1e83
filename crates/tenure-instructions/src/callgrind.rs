//! Counting: the program runs itself under callgrind, which writes the count so far to a file and starts over whenever [`mark`] is
//! called. All threads count.

use crate::path::HotPath;
use std::{
    error::Error,
    fs,
    path::Path,
    process::{Command, Stdio},
};

/// The argument of the process that is counted.
pub const MEASURE: &str = "measure";
/// The name of [`mark`] in the symbol table, as far as it does not depend on the compiler.
const MARK: &str = "*tenure_instructions*callgrind*mark*";

/// How often a path is counted. The least count is taken: now and then a table grows, which belongs to no single run.
const COUNTS: usize = 3;

/// Runs a path without counting, so that caches are filled, and then counts.
pub fn measure(path: &mut HotPath) -> Result<(), Box<dyn Error>> {
    path.prepare()?()?;
    for _ in 0..COUNTS {
        let run = path.prepare()?;
        mark();
        run()?;
        mark();
    }
    println!("{}\t{}", path.runs, path.name);
    Ok(())
}

/// Separates what is counted from what is not.
#[inline(never)]
fn mark() {
    std::hint::black_box(());
}

/// Counts the instructions of one run of each path.
pub fn count() -> Result<Vec<(String, u64)>, Box<dyn Error>> {
    let folder = tempfile::tempdir()?;
    let counts = folder.path().join("counts");
    let output = Command::new("valgrind")
        .args(["--tool=callgrind", "--quiet", "--separate-threads=no", &format!("--dump-before={MARK}")])
        .arg(format!("--callgrind-out-file={}", counts.display()))
        .arg(std::env::current_exe()?)
        .arg(MEASURE)
        // The size of the environment moves the stack.
        .env_clear()
        .env("PATH", std::env::var_os("PATH").unwrap_or_default())
        .env("TMPDIR", folder.path())
        .current_dir(folder.path())
        .stdin(Stdio::null())
        .stderr(Stdio::inherit())
        .output()
        .map_err(|error| format!("cannot run valgrind: {error}; install the package valgrind"))?;
    if !output.status.success() {
        return Err(format!("the measured process ended with {}", output.status).into());
    }
    let names = String::from_utf8(output.stdout)?;
    let mut counted = Vec::new();
    for (at, line) in names.lines().enumerate() {
        let (runs, name) = line.split_once('\t').ok_or_else(|| format!("unexpected output {line:?}"))?;
        // Two files per count: what came before it, and the count itself.
        let files = (at * COUNTS + 1..=(at + 1) * COUNTS).map(|number| (2 * number).to_string());
        let totals: Result<Vec<u64>, _> = files.map(|file| total(&counts.with_extension(file))).collect();
        let least = totals?.into_iter().min().unwrap_or_default();
        counted.push((name.to_owned(), least / runs.parse::<u64>()?.max(1)));
    }
    let surplus = counts.with_extension((2 * COUNTS * counted.len() + 1).to_string());
    if counted.is_empty() || surplus.exists() {
        return Err("callgrind made another number of counts than there are paths".into());
    }
    Ok(counted)
}

/// Reads the total of a count.
fn total(file: &Path) -> Result<u64, Box<dyn Error>> {
    let text = fs::read_to_string(file).map_err(|error| format!("{}: {error}", file.display()))?;
    let total = text.lines().find_map(|line| line.strip_prefix("totals:").or(line.strip_prefix("summary:")));
    let total = total.and_then(|total| total.split_whitespace().next());
    Ok(total.ok_or_else(|| format!("{}: no total", file.display()))?.parse()?)
}
