//! Recorded conversations, replayed by `conformance/conform.py` against a server here: every answer is the recorded
//! one, but for the scenarios that `conformance/waivers.txt` names with an entry of `docs/differences.md`. The
//! randomised ones are large and stay in a folder of recordings beside the workspace, or where
//! `TENURE_RECORDINGS` says; they are replayed where that exists.

use crate::server::Server;
use std::{
    collections::BTreeSet,
    fs,
    net::{SocketAddr, TcpListener},
    path::{Path, PathBuf},
    process::Command,
    sync::atomic::Ordering::Relaxed,
    thread,
};
use tenure_http::Authentication;

#[allow(dead_code)]
#[path = "../../../tenure-protobuf/examples/carry_protobuf.rs"]
mod carry_protobuf;

/// The conversations that were recorded with controllers and with users.
const WITH_USERS: [&str; 2] = ["authz.json", "quota.json"];
/// The administrator's token of the server that they are replayed against.
const TOKEN: &str = "an-administrators-token";

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

/// Replays the scenarios of a folder that need neither users nor controllers and returns the report.
fn replay(folder: &Path) -> Result<String, String> {
    let files = fs::read_dir(folder).expect("the folder is there").map(|file| file.expect("a file").path());
    let server = Server::start();
    replay_at(
        server.address,
        &files.filter(|file| !WITH_USERS.iter().any(|name| file.ends_with(name))).collect::<Vec<_>>(),
        &[],
    )
}

fn replay_at(address: SocketAddr, scenarios: &[PathBuf], options: &[&str]) -> Result<String, String> {
    let conformance = workspace().join("conformance");
    let output = Command::new("python3")
        .arg(conformance.join("conform.py"))
        .args(["--server", &format!("http://{address}"), "--jobs", "4"])
        .args(options)
        .arg("--waive")
        .arg(conformance.join("waivers.txt"))
        .args(scenarios)
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
fn the_conversations_about_permissions_and_quotas_go_as_recorded() {
    let server = Server::with(Authentication::Token(TOKEN.into())).come_alive();
    let scenarios = WITH_USERS.map(|name| workspace().join("conformance/scenarios").join(name));
    let said = replay_at(server.address, &scenarios, &["--token", TOKEN]);
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

/// Some of them, carried as protobuf by a proxy: bodies and answers of built-in kinds say the same.
#[test]
fn conversations_go_as_recorded_in_protobuf() {
    let server = Server::start();
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let (address, upstream) = (listener.local_addr().expect("a bound address"), server.address.to_string());
    thread::spawn(move || {
        for client in listener.incoming().flatten() {
            let upstream = upstream.clone();
            // What goes wrong is a difference that the replayer tells.
            thread::spawn(move || carry_protobuf::carry(client, &upstream));
        }
    });
    let folder = workspace().join("conformance/scenarios");
    let scenarios =
        ["api-core", "ssa-conflicts", "ssa-updates"].map(|name| folder.join(format!("{name}.json")));
    println!("{}", replay_at(address, &scenarios, &[]).unwrap_or_else(|said| panic!("{said}")));
    let [_, bodies, answers] = carry_protobuf::COUNTS.each_ref().map(|count| count.load(Relaxed));
    assert!(bodies > 100 && answers > 300, "{bodies} bodies, {answers} answers");
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
