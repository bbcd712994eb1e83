//! Recorded conversations, replayed by `conformance/conform.py` against a server here: every answer is the recorded
//! one, but for the scenarios that `conformance/waivers.txt` names with an entry of `docs/differences.md`. The
//! randomised ones are large and stay in a folder of recordings beside the workspace, or where
//! `TENURE_RECORDINGS` says; they are replayed where that exists.

use crate::server::Server;
use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
    process::Command,
};

fn workspace() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().expect("the workspace is there")
}

/// Returns the folder of further recordings, where there is one.
fn recordings() -> Option<PathBuf> {
    let folder = std::env::var_os("TENURE_RECORDINGS").map(PathBuf::from);
    let folder = folder.unwrap_or_else(|| workspace().join("../shared"));
    let fuzz = folder.join("conformance/fuzz");
    fuzz.is_dir().then_some(fuzz)
}

/// Replays the scenarios of a folder and returns what was said about them.
fn replay(folder: &Path) -> Result<String, String> {
    let server = Server::start();
    let conformance = workspace().join("conformance");
    let output = Command::new("python3")
        .arg(conformance.join("conform.py"))
        .args(["--server", &format!("http://{}", server.address), "--jobs", "4"])
        .arg("--waive")
        .arg(conformance.join("waivers.txt"))
        .arg(folder)
        .output()
        .expect("python3 is installed");
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    let holds = output.status.success() && !said.contains("stale waiver");
    if holds { Ok(said) } else { Err(said + &String::from_utf8_lossy(&output.stderr)) }
}

#[test]
fn the_authored_conversations_go_as_recorded() {
    let said = replay(&workspace().join("conformance/scenarios"));
    println!("{}", said.unwrap_or_else(|said| panic!("{said}")));
}

#[test]
fn the_randomised_conversations_go_as_recorded() {
    let Some(folder) = recordings() else {
        println!("no folder of further recordings here");
        return;
    };
    println!("{}", replay(&folder).unwrap_or_else(|said| panic!("{said}")));
}

#[test]
fn every_waiver_names_an_entry_of_the_differences() {
    let read = |name: &str| fs::read_to_string(workspace().join(name)).expect("the file is there");
    let differences = read("docs/differences.md");
    let entries: BTreeSet<&str> = differences.lines().filter_map(|line| line.strip_prefix("### ")).collect();
    let waivers = read("conformance/waivers.txt");
    let lines = waivers.lines().filter(|line| !line.starts_with('#') && !line.trim().is_empty());
    for line in lines {
        let (scenario, entry) = line.split_once(' ').unwrap_or((line, ""));
        assert!(entries.contains(entry), "{scenario} is waived for {entry:?}, which is no entry");
    }
}
