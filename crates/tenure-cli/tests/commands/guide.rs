//! The guide, executed from its first command to its last against both profiles: every command runs as it is printed, and prints what
//! is printed. A line with `…` stands for any lines; ages, times, revisions and uids are those of the moment.

use crate::{
    harness::TestCluster,
    process::{CommandOutput, run},
};
use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

const DOCS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs");

/// A command of the guide and what it prints.
struct Printed {
    command: String,
    output: Vec<String>,
}

/// Returns the commands of a document: the indented lines that begin with `$`, each with the lines that follow.
fn commands(text: &str) -> Vec<Printed> {
    let mut found: Vec<Printed> = Vec::new();
    let mut is_open = false;
    let mut blank = 0;
    for line in text.lines() {
        match (line.strip_prefix("    "), line.is_empty()) {
            (Some(inner), _) => {
                if let Some(command) = inner.strip_prefix("$ ") {
                    found.push(Printed { command: command.to_owned(), output: Vec::new() });
                    is_open = true;
                } else if let Some(last) = found.last_mut().filter(|_| is_open) {
                    last.output.extend((0..blank).map(|_| String::new()));
                    last.output.push(inner.to_owned());
                }
                blank = 0;
            }
            // An empty line may be part of what is printed.
            (None, true) => blank += 1,
            (None, false) => (is_open, blank) = (false, 0),
        }
    }
    found
}

/// Replaces what differs from run to run, and the width of columns that depends on it.
fn timeless(line: &str) -> String {
    let words = line.split_whitespace().map(|word| {
        let (before, core, after) = trimmed(word);
        let is_age = core.strip_suffix(['s', 'm']).is_some_and(|number| number.parse::<u32>().is_ok());
        let is_time = core.len() == 20 && core.ends_with('Z') && core.as_bytes()[10] == b'T';
        let is_uid = core.len() == 36 && core.matches('-').count() == 4;
        let core = if is_age {
            "AGE"
        } else if is_time {
            "TIME"
        } else if is_uid {
            "UID"
        } else {
            core
        };
        format!("{before}{core}{after}")
    });
    let line = words.collect::<Vec<_>>().join(" ");
    match line.split_once("resourceVersion: ") {
        Some((before, _)) => format!("{before}resourceVersion: REVISION"),
        None => line,
    }
}

/// Sorts lines that stand together and tell what managers gain and lose: who wrote within the same second is in no order.
fn in_order(mut lines: Vec<String>) -> Vec<String> {
    let is_owner = |line: &String| line.starts_with(['→', '←']);
    for group in lines.chunk_by_mut(|one, other| is_owner(one) && is_owner(other)) {
        group.sort();
    }
    lines
}

/// Splits a word into the punctuation around it and the rest.
fn trimmed(word: &str) -> (&str, &str, &str) {
    let start = word.find(|c: char| c.is_alphanumeric()).unwrap_or(word.len());
    let rest = &word[start..];
    let end = rest.rfind(|c: char| c.is_alphanumeric()).map_or(0, |at| at + 1);
    (&word[..start], &rest[..end], &rest[end..])
}

/// Whether lines are those that are expected, where `…` stands for any.
fn is_as_printed(expected: &[String], found: &[String]) -> bool {
    match expected.split_first() {
        None => found.is_empty(),
        Some((first, rest)) if first == "…" => {
            (0..=found.len()).any(|skipped| is_as_printed(rest, &found[skipped..]))
        }
        Some((first, rest)) => {
            found.split_first().is_some_and(|(line, others)| line == first && is_as_printed(rest, others))
        }
    }
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).expect("a folder");
    for entry in fs::read_dir(from).expect("a folder") {
        let path: PathBuf = entry.expect("an entry").path();
        let target = to.join(path.file_name().expect("a name"));
        match path.is_dir() {
            true => copy(&path, &target),
            false => drop(fs::copy(&path, &target).expect("a copy")),
        }
    }
}

#[test]
fn the_guide_does_what_it_prints_with_both_profiles() {
    let text = fs::read_to_string(Path::new(DOCS).join("guide.md")).expect("the guide");
    let commands = commands(&text);
    assert!(commands.len() > 15, "{} commands", commands.len());
    // The server of the test is the one that the guide starts, at a free port.
    assert_eq!(commands[0].command, "tenure serve --in-memory --insecure-http &");
    assert!(commands[1].command.starts_with("export KUBECONFIG="), "{}", commands[1].command);
    let binary = Path::new(env!("CARGO_BIN_EXE_tenure")).parent().expect("a folder");
    let path = format!("{}:{}", binary.display(), std::env::var("PATH").expect("a path"));
    for profile in ["tenure", "kubernetes"] {
        let cluster = TestCluster::start_with(&["--compatibility", profile]);
        let folder = cluster.home.path().join("guide");
        copy(&Path::new(DOCS).join("guide"), &folder);
        for Printed { command, output } in &commands[2..] {
            // A terminal shows both outputs.
            let both = format!("{command} 2>&1");
            let mut shell = Command::new("sh");
            shell
                .args(["-c", &both])
                .current_dir(&folder)
                .env("PATH", &path)
                .env("HOME", cluster.home.path());
            shell.env("KUBECONFIG", cluster.server.kubeconfig()).env_remove("TENURE_MANAGER");
            let CommandOutput { out, code, .. } = run(&mut shell, "");
            assert!(matches!(code, Some(0 | 2 | 3)), "{profile}: {command}: {code:?}\n{out}");
            let lines = |text: &str| in_order(text.lines().map(timeless).collect());
            let (expected, found) = (lines(&output.join("\n")), lines(out.trim_end()));
            // A command without output in the guide is shown for itself.
            assert!(
                expected.is_empty() || is_as_printed(&expected, &found),
                "{profile}: {command}\nexpected:\n{}\nfound:\n{out}",
                output.join("\n")
            );
        }
    }
}
