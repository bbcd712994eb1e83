//! Recorded conversations, replayed by `conformance/conform.py` against a server here: every answer is the recorded
//! one, but for the scenarios that `conformance/waivers.txt` names with an entry of `docs/differences.md`. The
//! randomised ones are large and stay in a folder of recordings beside the workspace, or where
//! `TENURE_RECORDINGS` says; they are replayed where that exists.

use crate::server::{Server, version};
use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
    process::Command,
};
use tempfile::TempDir;
use tenure_value::{Limits, Value, json};

/// What a scenario of custom resources mentions; they are replayed as soon as the server has these.
const CUSTOM: &str = "customresourcedefinitions";

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

/// Whether objects of a definition can be asked for.
pub fn has_custom_resources(server: &Server) -> bool {
    let definition = r#"{"metadata":{"name":"probes.tenure.example"},"spec":{"group":"tenure.example",
        "scope":"Namespaced","names":{"plural":"probes","kind":"Probe"},"versions":[{"name":"v1","served":true,
        "storage":true,"schema":{"openAPIV3Schema":{"type":"object"}}}]}}"#;
    let path = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
    server.post(path, definition);
    let served = (0..40).any(|_| {
        std::thread::sleep(std::time::Duration::from_millis(25));
        !version(&server.get("/apis/tenure.example/v1/probes").document()).is_empty()
    });
    server.delete(&format!("{path}/probes.tenure.example"));
    served
}

/// Replays the scenarios of a folder and returns what was said about them.
fn replay(folder: &Path) -> Result<String, String> {
    let server = Server::start();
    let custom = has_custom_resources(&server);
    let chosen = TempDir::new().expect("a directory");
    for path in
        fs::read_dir(folder).expect("the folder is there").map(|entry| entry.expect("an entry").path())
    {
        let Some(name) = path.file_name().filter(|_| path.extension().is_some_and(|of| of == "json")) else {
            continue;
        };
        let text = fs::read(&path).expect("a readable file");
        let limits = Limits { bytes: usize::MAX, depth: 200, nodes: usize::MAX };
        let scenarios =
            json::parse(&text, &limits).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        let scenarios = scenarios.as_array().cloned().unwrap_or_default();
        let wanted =
            scenarios.iter().filter(|scenario| custom || !scenario.to_string().contains(CUSTOM)).cloned();
        fs::write(chosen.path().join(name), Value::array(wanted).to_string()).expect("room for a file");
    }
    let conformance = workspace().join("conformance");
    let output = Command::new("python3")
        .arg(conformance.join("conform.py"))
        .args(["--server", &format!("http://{}", server.address), "--jobs", "4"])
        .arg("--waive")
        .arg(conformance.join("waivers.txt"))
        .arg(chosen.path())
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
