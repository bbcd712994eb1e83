//! Counting: the program runs itself under callgrind, which writes the count so far to a file and starts over whenever [`mark`] is
//! called. All threads count.

use crate::{path::HotPath, steps::Step};
use std::{
    collections::HashMap,
    error::Error,
    fs,
    path::Path,
    process::{Command, Stdio},
};

/// The argument of the process that is counted.
pub const MEASURE: &str = "measure";
/// The name of [`mark`] in the symbol table, as far as it does not depend on the compiler.
const MARK: &str = "*tenure_instructions*callgrind*mark*";

/// How the allocator finds a page for a block, and releases the page of the last one. Whether it has to depends on the history
/// of the heap, down to the length of a path: the same requests once took 3 % more on one machine than on another.
const PAGES: [&str; 2] = ["_mi_malloc_generic", "_mi_page_retire"];

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

/// Counts the instructions of one run of each path, and of its steps.
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
    let (mut counted, mut of_pages, mut paths) = (Vec::new(), 0, 0);
    for line in names.lines() {
        let (runs, name) = line.split_once('\t').ok_or_else(|| format!("unexpected output {line:?}"))?;
        let (runs, steps) = (runs.parse::<u64>()?.max(1), Step::of(name));
        // Two files per count: what came before it, and the count itself.
        let files = paths * COUNTS + 1..=(paths + 1) * COUNTS;
        let counts: Result<Vec<Count>, _> = files
            .map(|number| Count::read(&counts.with_extension((2 * number).to_string()), steps))
            .collect();
        let counts = counts?;
        let least = |of: &dyn Fn(&Count) -> u64| counts.iter().map(of).min().unwrap_or_default() / runs;
        of_pages += counts.iter().map(|count| count.of_pages).sum::<u64>();
        let total = least(&|count| count.total - count.of_pages);
        counted.push((name.to_owned(), total));
        let mut rest = total;
        for (at, step) in steps.iter().enumerate() {
            let instructions = least(&|count| count.of_steps[at]);
            if instructions == 0 {
                return Err(format!("{name}: none of the functions of {:?} was called", step.name).into());
            }
            rest = rest.saturating_sub(instructions);
            counted.push((step.figure(name), instructions));
        }
        if !steps.is_empty() {
            counted.push((Step::REST.figure(name), rest));
        }
        paths += 1;
    }
    let surplus = counts.with_extension((2 * COUNTS * paths + 1).to_string());
    if paths == 0 || surplus.exists() {
        return Err("callgrind made another number of counts than there are paths".into());
    }
    if of_pages == 0 {
        return Err(format!("none of {PAGES:?} was called: name what the allocator finds pages with").into());
    }
    Ok(counted)
}

/// The instructions of one count.
#[derive(Debug, PartialEq, Eq)]
struct Count {
    total: u64,
    /// Those of the functions of [`PAGES`] and of what they call.
    of_pages: u64,
    /// Those of the functions of each step and of what they call.
    of_steps: Vec<u64>,
}

impl Count {
    fn read(file: &Path, steps: &[Step]) -> Result<Count, Box<dyn Error>> {
        let text = fs::read_to_string(file).map_err(|error| format!("{}: {error}", file.display()))?;
        Count::parse(&text, steps).ok_or_else(|| format!("{}: no total", file.display()).into())
    }

    /// Reads the format of callgrind. A call is a line `cfn=` with the number of the function, whose name follows where it is first
    /// mentioned; a line `calls=`; and a line with a position and the cost.
    fn parse(text: &str, steps: &[Step]) -> Option<Count> {
        let (mut total, mut of_pages, mut of_steps) = (None, 0, vec![0; steps.len()]);
        let (mut functions, mut caller, mut callee) = (HashMap::new(), None, None);
        let mut lines = text.lines();
        while let Some(line) = lines.next() {
            if let Some((line, name)) = line.split_once("fn=")
                && (line.is_empty() || line == "c")
            {
                let (number, name) = name.split_once(' ').unwrap_or((name, ""));
                let function = *functions.entry(number).or_insert_with(|| Function::named(name, steps));
                match line {
                    "c" => callee = function,
                    _ => caller = function,
                }
            } else if line.starts_with("calls=") {
                let cost = lines.next()?.split_whitespace().nth(1)?.parse::<u64>().ok()?;
                match callee {
                    Some(Function::OfPages) => of_pages += cost,
                    // What a step calls of itself is a part of it.
                    Some(Function::OfStep(step)) if callee != caller => of_steps[step] += cost,
                    _ => {}
                }
            } else if let Some(sum) = line.strip_prefix("totals:").or(line.strip_prefix("summary:")) {
                total = Some(sum.split_whitespace().next()?.parse().ok()?);
            }
        }
        Some(Count { total: total.filter(|total| *total >= of_pages)?, of_pages, of_steps })
    }
}

/// What a function counts for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Function {
    OfPages,
    OfStep(usize),
}

impl Function {
    fn named(name: &str, steps: &[Step]) -> Option<Function> {
        if PAGES.contains(&name) {
            return Some(Function::OfPages);
        }
        steps.iter().position(|step| step.has(name)).map(Function::OfStep)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_that_find_pages_are_counted_apart() {
        let text = "fn=(1) main\n0 70\ncfn=(2) mi_malloc\ncalls=3 0\n0 50\n\nfn=(2)\n0 10\ncfn=(7) _mi_malloc_generic\ncalls=1 0\n0 25\n\
            cfn=(7)\ncalls=1 0\n0 15\n\nfn=(7)\n0 40\n\ntotals: 120\n";
        assert_eq!(Count::parse(text, &[]), Some(Count { total: 120, of_pages: 40, of_steps: Vec::new() }));
        assert_eq!(Count::parse("fn=(1) main\n0 70\n", &[]), None);
    }

    #[test]
    fn a_step_counts_what_its_functions_call_once() {
        const STEPS: [Step; 1] =
            [Step { name: "read", functions: &[&["value", "parse"], &["value", "check"]] }];
        let text = "fn=(1) main\n0 5\ncfn=(2) tenure_value::json::parse\ncalls=1 0\n0 50\ncfn=(3) tenure_value::check\ncalls=1 0\n0 9\n\n\
            fn=(2)\n0 20\ncfn=(3)\ncalls=1 0\n0 30\n\ntotals: 64\n";
        assert_eq!(Count::parse(text, &STEPS), Some(Count { total: 64, of_pages: 0, of_steps: vec![59] }));
    }
}
