//! Recorded conversations, replayed by `conformance/conform.py` against a server of each profile. In the profile `kubernetes` every
//! response equals the recorded one, and errors do so to the letter (`--exact-errors`, which includes `--exact-codes`); in `tenure`
//! all do except for the scenarios that `conformance/waivers.txt` names, each with an entry of `docs/differences.md`, and errors are
//! compared by what a client acts on. Of the randomised conversations, which are large, the repository has a sample: all of them are
//! replayed if the complete recordings are there.

use crate::server::{Server, improved};
use std::{
    collections::BTreeSet,
    fs,
    net::{SocketAddr, TcpListener},
    path::{Path, PathBuf},
    process::Command,
    sync::{Arc, atomic::Ordering::Relaxed},
    thread,
};
use tenure_builtin::allocate::ServiceNetworks;
use tenure_http::Administrator;
use tenure_profile::KubernetesVersion;
use tenure_server::{Improvement, Profile, ServerOptions};
use tenure_store::MemoryStore;

#[allow(dead_code)]
#[path = "../../../tenure-codec/examples/carry_protobuf.rs"]
mod carry_protobuf;

mod carry_cbor;
#[path = "../../../../conformance/recordings.rs"]
mod recordings;

/// The conversations that were recorded with controllers and with users.
const WITH_USERS: [&str; 2] = ["authz.json", "quota.json"];
/// Compares whole errors.
const EXACT: &str = "--exact-errors";
/// The administrator's token of the server that they are replayed against.
const TOKEN: &str = "an-administrators-token";

fn workspace() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().expect("the workspace is there")
}

/// Whether waived differences are accepted.
#[derive(Clone, Copy, PartialEq)]
enum Waivers {
    Heeded,
    None,
}

/// Replays the scenarios of a folder that need neither users nor controllers, with both profiles.
fn replay(folder: &Path) {
    let files = fs::read_dir(folder).expect("the folder is there").map(|file| file.expect("a file").path());
    let plain = |file: &PathBuf| !WITH_USERS.iter().any(|name| file.ends_with(name));
    let files: Vec<PathBuf> = files.filter(plain).collect();
    let exact = replay_at(server_of(recordings::version()).address, Waivers::None, &[EXACT], &files);
    let waived = replay_at(
        Server::behaving(Profile::tenure().at(recordings::version())).address,
        Waivers::Heeded,
        &[],
        &files,
    );
    println!("{exact}{waived}");
}

/// Replays scenarios and returns the report; panics with it if one differs.
fn replay_at(address: SocketAddr, waivers: Waivers, options: &[&str], scenarios: &[PathBuf]) -> String {
    let conformance = workspace().join("conformance");
    let mut command = Command::new("python3");
    command.arg(conformance.join("conform.py"));
    command.args(["--server", &format!("http://{address}"), "--jobs", "4"]).args(options);
    if waivers == Waivers::Heeded {
        command.arg("--waive").arg(conformance.join("waivers.txt"));
    }
    let output = command.args(scenarios).output().expect("python3 is installed");
    let report = String::from_utf8_lossy(&output.stdout).into_owned();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && !report.contains("stale waiver"), "{report}{errors}");
    report
}

#[test]
fn the_authored_conversations_replay() {
    replay(&workspace().join("conformance/scenarios"));
}

/// Returns a server that behaves as a version of Kubernetes.
fn server_of(version: KubernetesVersion) -> Server {
    Server::behaving(Profile::kubernetes().at(version))
}

/// The authored conversations that 1.37 answers otherwise than 1.36, and a sample of the randomised ones.
#[test]
fn the_conversations_of_1_37_replay() {
    let folder = workspace().join("conformance/v1.37");
    // Some are about what users may do.
    let mut options = ServerOptions::new(Administrator::Token(TOKEN.into()));
    options.profile = Profile::kubernetes().at(KubernetesVersion::V1_37);
    let server = Server::configured(options);
    println!("{}", replay_at(server.address, Waivers::None, &[EXACT, "--token", TOKEN], &[folder]));
}

/// Services and ServiceCIDRs, in a cluster with IPv4 addresses and in one with both families.
#[test]
fn conversations_about_addresses_replay() {
    for (networks, recording) in
        [("10.0.0.0/24", "single-stack.json"), ("10.0.0.0/24,fd00::/112", "dual-stack.json")]
    {
        let mut options = ServerOptions::new(Administrator::Anyone);
        options.profile = Profile::kubernetes().at(KubernetesVersion::V1_37);
        options.service_addresses = ServiceNetworks::parse(networks).expect("networks");
        let server = Server::with_options(Arc::new(MemoryStore::new()), options, None);
        let recording = workspace().join("conformance/services").join(recording);
        println!("{}", replay_at(server.address, Waivers::None, &[EXACT], &[recording]));
    }
}

#[test]
fn what_differs_in_1_37_differs_here() {
    let server = server_of(KubernetesVersion::V1_36);
    let mut command = Command::new("python3");
    command.arg(workspace().join("conformance/conform.py"));
    command.args(["--server", &format!("http://{}", server.address), EXACT]);
    let output = command.arg(workspace().join("conformance/v1.37/differs.json")).output();
    let report = String::from_utf8_lossy(&output.expect("python3 is installed").stdout).into_owned();
    assert!(report.contains("0 passed, 16 failed"), "{report}");
}

#[test]
#[ignore = "needs the complete recordings, in the folder that TENURE_SHARED names"]
fn complete_recordings_of_1_37_replay() {
    let server = server_of(KubernetesVersion::V1_37);
    let folders = ["conformance/v1.37/scenarios", "conformance/v1.37/fuzz"]
        .map(|name| recordings::complete(name).expect("TENURE_SHARED has the recordings of 1.37"));
    println!("{}", replay_at(server.address, Waivers::None, &[], &folders));
}

#[test]
fn the_conversations_about_permissions_and_quotas_replay() {
    let mut options = improved(Administrator::Token(TOKEN.into()));
    options.profile = options.profile.at(recordings::version());
    let server = Server::with_options(Arc::new(MemoryStore::new()), options, None).with_controllers();
    let scenarios = WITH_USERS.map(|name| workspace().join("conformance/scenarios").join(name));
    println!("{}", replay_at(server.address, Waivers::None, &["--token", TOKEN], &scenarios));
}

#[test]
fn the_randomised_conversations_replay() {
    replay(&recordings::randomised());
}

/// One thing is wrong with each of these requests, and the whole error equals the recorded one.
#[test]
fn bad_requests_are_refused_as_recorded() {
    let server = server_of(recordings::version());
    let waivers = workspace().join("conformance/bad/waivers.txt");
    let waive = ["--waive", waivers.to_str().expect("a path"), EXACT];
    // The complete recordings do not have those that the comparison with other servers found.
    let found = workspace().join("conformance/bad/refusals.json");
    println!("{}", replay_at(server.address, Waivers::None, &waive, &[recordings::bad_requests(), found]));
}

/// Replays some of them through a proxy that translates to protobuf: bodies and responses of built-in kinds have the same content.
#[test]
fn recorded_conversations_replay_in_protobuf() {
    let server = server_of(recordings::version());
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let (address, upstream) = (listener.local_addr().expect("a bound address"), server.address.to_string());
    thread::spawn(move || {
        for client in listener.incoming().flatten() {
            let upstream = upstream.clone();
            // The replayer reports an error of the proxy as a difference.
            thread::spawn(move || carry_protobuf::carry(client, &upstream));
        }
    });
    let folder = workspace().join("conformance/scenarios");
    let scenarios =
        ["api-core", "ssa-conflicts", "ssa-updates"].map(|name| folder.join(format!("{name}.json")));
    println!("{}", replay_at(address, Waivers::None, &[], &scenarios));
    let [_, bodies, responses] = carry_protobuf::COUNTS.each_ref().map(|count| count.load(Relaxed));
    assert!(bodies > 100 && responses > 300, "{bodies} bodies, {responses} responses");
}

/// All of them, carried as CBOR by a proxy: bodies, apply configurations and answers of every kind say the same.
#[test]
fn recorded_conversations_replay_in_cbor() {
    let mut profile = Profile::kubernetes().at(recordings::version());
    profile.set(Improvement::ServeCbor, true);
    let server = Server::behaving(profile);
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let (address, upstream) = (listener.local_addr().expect("a bound address"), server.address.to_string());
    thread::spawn(move || {
        for client in listener.incoming().flatten() {
            let upstream = upstream.clone();
            thread::spawn(move || carry_cbor::carry(client, &upstream));
        }
    });
    let folder = workspace().join("conformance/scenarios");
    let files = fs::read_dir(folder).expect("the folder is there").map(|file| file.expect("a file").path());
    let plain = |file: &PathBuf| !WITH_USERS.iter().any(|name| file.ends_with(name));
    let scenarios: Vec<PathBuf> = files.filter(plain).collect();
    println!("{}", replay_at(address, Waivers::None, &[], &scenarios));
    let [bodies, answers] = carry_cbor::COUNTS.each_ref().map(|count| count.load(Relaxed));
    assert!(bodies > 500 && answers > 1000, "{bodies} bodies, {answers} answers");
}

#[test]
fn every_waiver_names_an_entry_of_the_differences() {
    let read = |name: &str| fs::read_to_string(workspace().join(name)).expect("the file is there");
    let differences = read("docs/differences.md");
    let entries: BTreeSet<&str> = differences.lines().filter_map(|line| line.strip_prefix("### ")).collect();
    let waivers = read("conformance/waivers.txt") + &read("conformance/bad/waivers.txt");
    let lines = waivers.lines().filter(|line| !line.starts_with('#') && !line.trim().is_empty());
    for line in lines {
        let (scenario, entry) = line.split_once(' ').unwrap_or((line, ""));
        assert!(entries.contains(entry), "{scenario} is waived for {entry:?}, which is not an entry");
    }
}
