//! Several servers on one etcd, and the migration from a single machine.

use crate::{
    client::{Watch, send},
    process::{Tenure, run, serve},
};
use std::{
    collections::BTreeSet,
    process::Command,
    thread,
    time::{Duration, Instant},
};
use tempfile::TempDir;
use tenure_value::Value;

use crate::etcd_process::Etcd;

const MAPS: &str = "/api/v1/namespaces/default/configmaps";
const JSON: &str = "application/json";
const TIMEOUT: Duration = Duration::from_secs(60);

fn start(etcd: &Etcd, directory: &TempDir, more: &[&str]) -> Tenure {
    let endpoints = etcd.endpoints().join(",");
    let arguments =
        ["--insecure-http", "--listen", "127.0.0.1:0", "--store", "etcd", "--etcd-endpoints", &endpoints];
    Tenure::start(directory.path(), &[&arguments[..], more].concat())
}

fn directory() -> TempDir {
    TempDir::new().expect("a directory")
}

fn get(server: &Tenure, path: &str) -> (u16, Value) {
    send(&server.address, "GET", path, None).expect("a response")
}

fn post(server: &Tenure, path: &str, body: &str) -> (u16, Value) {
    send(&server.address, "POST", path, Some((JSON, body))).expect("a response")
}

fn text<'a>(object: &'a Value, path: &[&str]) -> &'a str {
    object.at(path.iter().copied()).and_then(Value::as_str).unwrap_or_default()
}

fn version(object: &Value) -> u64 {
    text(object, &["metadata", "resourceVersion"]).parse().expect("a version")
}

#[track_caller]
fn until(what: &str, mut holds: impl FnMut() -> bool) -> Duration {
    let start = Instant::now();
    while !holds() {
        assert!(start.elapsed() < TIMEOUT, "{what}");
        thread::sleep(Duration::from_millis(20));
    }
    start.elapsed()
}

fn map(name: &str) -> String {
    format!(r#"{{"apiVersion":"v1","kind":"ConfigMap","metadata":{{"name":"{name}"}}}}"#)
}

#[test]
fn several_servers_are_one_control_plane() {
    let (etcd, one, two) = (Etcd::start(), directory(), directory());
    let servers = [start(&etcd, &one, &[]), start(&etcd, &two, &[])];

    // A write through one server is visible to a read through the other.
    for number in 0..20 {
        let (name, here) = (format!("map-{number}"), number % 2);
        let (code, made) = post(&servers[here], MAPS, &map(&name));
        assert_eq!(code, 201, "{made:?}");
        let (code, read) = get(&servers[1 - here], &format!("{MAPS}/{name}"));
        assert_eq!((code, version(&read)), (200, version(&made)));
    }
    let (_, list) = get(&servers[0], MAPS);
    let path = format!("{MAPS}?watch=1&resourceVersion={}", version(&list));
    let mut watch = Watch::open(&servers[1].address, &path).expect("a watch at the other server");
    let (_, made) = post(&servers[0], MAPS, &map("watched"));
    let event = watch.next().expect("an event");
    assert_eq!(event.at(["object", "metadata", "resourceVersion"]), made.at(["metadata", "resourceVersion"]));

    // A definition that was created through one server is served by the other within a second, plus the time of ten other reads
    // on a busy machine.
    let definition = r#"{"apiVersion":"apiextensions.k8s.io/v1","kind":"CustomResourceDefinition",
        "metadata":{"name":"things.example.com"},"spec":{"group":"example.com","scope":"Cluster",
        "names":{"plural":"things","singular":"thing","kind":"Thing","listKind":"ThingList"},
        "versions":[{"name":"v1","served":true,"storage":true,
        "schema":{"openAPIV3Schema":{"type":"object","x-kubernetes-preserve-unknown-fields":true}}}]}}"#;
    let (code, output) =
        post(&servers[0], "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", definition);
    assert_eq!(code, 201, "{output:?}");
    let mut slowest = Duration::ZERO;
    let took = until("the other serves it", || {
        let began = Instant::now();
        get(&servers[1], "/api/v1/namespaces/default");
        slowest = slowest.max(began.elapsed());
        // Until the group is known, there is no such page.
        send(&servers[1].address, "GET", "/apis/example.com/v1/things", None)
            .is_some_and(|(code, _)| code == 200)
    });
    assert!(took < Duration::from_secs(1) + 10 * slowest, "{took:?}, where a read takes {slowest:?}");

    // A policy that was created through one server is enforced by the other.
    let group = "/apis/admissionregistration.k8s.io/v1";
    let policy = r#"{"apiVersion":"admissionregistration.k8s.io/v1","kind":"ValidatingAdmissionPolicy","metadata":{"name":"p"},
        "spec":{"matchConstraints":{"resourceRules":[{"operations":["CREATE"],"apiGroups":[""],"apiVersions":["v1"],"resources":["configmaps"]}]},
        "validations":[{"expression":"object.metadata.name != 'unwanted'"}]}}"#;
    let binding = r#"{"apiVersion":"admissionregistration.k8s.io/v1","kind":"ValidatingAdmissionPolicyBinding","metadata":{"name":"b"},
        "spec":{"policyName":"p","validationActions":["Deny"]}}"#;
    assert_eq!(post(&servers[0], &format!("{group}/validatingadmissionpolicies"), policy).0, 201);
    assert_eq!(post(&servers[0], &format!("{group}/validatingadmissionpolicybindings"), binding).0, 201);
    until("the other holds to it", || {
        post(&servers[1], &format!("{MAPS}?dryRun=All"), &map("unwanted")).0 == 422
    });

    // Addresses and ports are allocated once across servers.
    let addresses: Vec<String> = thread::scope(|scope| {
        let make = |number: usize| {
            let body = format!(
                r#"{{"apiVersion":"v1","kind":"Service","metadata":{{"name":"service-{number}"}},
                "spec":{{"type":"NodePort","ports":[{{"port":80}}]}}}}"#
            );
            let (code, made) = post(&servers[number % 2], "/api/v1/namespaces/default/services", &body);
            assert_eq!(code, 201, "{made:?}");
            let port =
                made.at(["spec", "ports"]).and_then(Value::as_array).and_then(|ports| ports.iter().next());
            let port = port.and_then(|port| port.get("nodePort")).and_then(Value::as_i64);
            [text(&made, &["spec", "clusterIP"]).to_owned(), format!("{port:?}")]
        };
        let threads: Vec<_> = (0..24).map(|number| scope.spawn(move || make(number))).collect();
        threads.into_iter().flat_map(|thread| thread.join().expect("a response")).collect()
    });
    assert_eq!(addresses.iter().collect::<BTreeSet<_>>().len(), 48, "{addresses:?}");

    // A namespace is deleted with its content, although only one server runs the controllers.
    post(
        &servers[1],
        "/api/v1/namespaces",
        r#"{"apiVersion":"v1","kind":"Namespace","metadata":{"name":"n"}}"#,
    );
    assert_eq!(post(&servers[0], "/api/v1/namespaces/n/configmaps", &map("inside")).0, 201);
    send(&servers[1].address, "DELETE", "/api/v1/namespaces/n", None).expect("a response");
    until("the namespace is gone", || get(&servers[0], "/api/v1/namespaces/n").0 == 404);
    assert_eq!(get(&servers[1], "/api/v1/namespaces/n/configmaps/inside").0, 404);
}

#[test]
fn without_etcd_readiness_is_red_and_what_is_known_is_served() {
    let (etcd, directory) = (Etcd::start(), directory());
    let server = start(&etcd, &directory, &["--etcd-timeout", "2"]);
    let ready = || {
        let output = run(Command::new("curl").args(["-s", &format!("{}/readyz", server.address)]), "");
        output.out == "ok"
    };
    let known = version(&post(&server, MAPS, &map("a")).1);
    let watch = format!("{MAPS}?watch=1&resourceVersion={known}");
    let mut watch = Watch::open(&server.address, &watch).expect("a watch");
    until("ready", ready);
    etcd.signal(0, "STOP");
    until("not ready", || !ready());
    for path in [format!("{MAPS}/a?resourceVersion=0"), format!("{MAPS}?resourceVersion=0")] {
        assert_eq!(get(&server, &path).0, 200, "{path} may be behind");
    }
    let began = Instant::now();
    let (code, output) = get(&server, &format!("{MAPS}/a"));
    assert_eq!((code, text(&output, &["reason"])), (503, "ServiceUnavailable"), "{output:?}");
    let (code, output) = post(&server, MAPS, &map("b"));
    assert!(matches!(code, 503 | 504), "{output:?}");
    assert!(output.at(["details", "retryAfterSeconds"]).is_some(), "{output:?}");
    assert!(began.elapsed() < Duration::from_secs(15), "{:?}", began.elapsed());
    etcd.signal(0, "CONT");
    until("ready again", ready);
    let (code, made) = post(&server, MAPS, &map("c"));
    assert_eq!(code, 201, "{made:?}");
    // The write of `b` may have been applied.
    let seen = |watch: &mut Watch| {
        watch.next().map(|event| text(&event, &["object", "metadata", "name"]).to_owned())
    };
    let first = seen(&mut watch).expect("the watch goes on");
    assert!(first == "c" || first == "b" && seen(&mut watch).as_deref() == Some("c"), "{first}");
}

#[test]
fn a_control_plane_moves_from_one_machine_to_etcd() {
    let (etcd, old, new) = (Etcd::start(), directory(), directory());
    let server = Tenure::start(old.path(), &["--insecure-http", "--listen", "127.0.0.1:0"]);
    let apply = |server: &Tenure, manager: &str, body: &str| {
        let path = format!("{MAPS}/moved?fieldManager={manager}");
        send(&server.address, "PATCH", &path, Some(("application/apply-patch+yaml", body)))
            .expect("a response")
    };
    let body = |field: &str, value: &str| {
        let data = format!(r#"{{"{field}":"{value}"}}"#);
        format!(r#"{{"apiVersion":"v1","kind":"ConfigMap","metadata":{{"name":"moved"}},"data":{data}}}"#)
    };
    assert_eq!(apply(&server, "one", &body("a", "1")).0, 201);
    assert_eq!(apply(&server, "two", &body("b", "2")).0, 200);
    let (_, before) = get(&server, &format!("{MAPS}/moved"));

    let file = old.path().join("all.backup");
    let command = |arguments: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_tenure"));
        command.arg("store").args(arguments).env_remove("TENURE_LOG");
        run(command.arg(&file), "")
    };
    let data = old.path().to_str().expect("a path of text");
    let endpoints = etcd.endpoints().join(",");
    command(&["export", "--data-dir", data, "--freeze"]).succeeds_with("entries at revision");
    let (code, output) = post(&server, MAPS, &map("late"));
    assert_eq!(code, 503, "{output:?}");
    assert_eq!(get(&server, &format!("{MAPS}/moved")).0, 200, "reads go on");
    command(&["import", "--store", "etcd", "--etcd-endpoints", &endpoints])
        .succeeds_with("a store at revision");
    command(&["import", "--store", "etcd", "--etcd-endpoints", &endpoints])
        .fails_with("keys under the prefix");

    let moved = start(&etcd, &new, &[]);
    let (_, after) = get(&moved, &format!("{MAPS}/moved"));
    assert!(version(&after) > version(&before), "{after:?}");
    for part in [&["data"][..], &["metadata", "uid"], &["metadata", "managedFields"]] {
        assert_eq!(after.at(part.iter().copied()), before.at(part.iter().copied()), "{part:?}");
    }
    let (code, output) = apply(&moved, "two", &body("a", "3"));
    assert_eq!(code, 409, "owners came along: {output:?}");

    // The old server may also continue.
    let mut thaw = Command::new(env!("CARGO_BIN_EXE_tenure"));
    let thawed = run(thaw.args(["store", "thaw", "--data-dir", data]), "");
    assert_eq!(thawed.code, Some(0), "{thawed:?}");
    assert_eq!(post(&server, MAPS, &map("late")).0, 201);
}

#[test]
fn etcd_without_endpoints_gets_one_clear_line() {
    let directory = directory();
    let output = run(&mut serve(directory.path(), &["--store", "etcd"]), "");
    assert!(output.code == Some(1) && output.err.contains("--etcd-endpoints"), "{output:?}");
    assert_eq!(output.err.lines().count(), 1, "{}", output.err);
}

#[test]
fn the_recorded_conversations_replay_on_etcd() {
    let (etcd, directory) = (Etcd::start(), directory());
    let server = start(&etcd, &directory, &["--kubernetes-version", crate::recordings::VERSION]);
    let conformance = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../conformance");
    let mut replay = Command::new("python3");
    replay.arg(conformance.join("conform.py")).args(["--server", &server.address, "--jobs", "4", "--waive"]);
    // Those with users need TLS: `authorization.rs` replays them.
    let scenarios = std::fs::read_dir(conformance.join("scenarios")).expect("recordings");
    let scenarios = scenarios.map(|file| file.expect("a file").path());
    let scenarios = scenarios.filter(|file| !file.ends_with("authz.json") && !file.ends_with("quota.json"));
    let output = run(replay.arg(conformance.join("waivers.txt")).args(scenarios), "");
    assert!(output.code == Some(0) && !output.out.contains("stale waiver"), "{}{}", output.out, output.err);
}

/// A store that a server of one version wrote is served by one of the other, and back, as the embedded store's is
/// (`tenure-server/tests/api/versions.rs`), also while servers of both versions run during an upgrade.
#[test]
fn servers_of_two_versions_share_a_store() {
    const NODES: &str = "/apis/storage.k8s.io/v1/csinodes";
    const REQUESTS: &str = "/apis/certificates.k8s.io/v1/clustertrustbundles";
    const SETS: &str = "/apis/apps/v1/namespaces/default/statefulsets";
    let (etcd, one, two) = (Etcd::start(), directory(), directory());
    let at = |version: &'static str, directory: &TempDir| {
        start(&etcd, directory, &["--compatibility", "kubernetes", "--kubernetes-version", version])
    };
    let old = at("1.36", &one);
    let set = r#"{"metadata":{"name":"s"},"spec":{"serviceName":"s","selector":{"matchLabels":{"a":"b"}},
        "template":{"metadata":{"labels":{"a":"b"}},"spec":{"containers":[{"name":"c","image":"i"}]}}}}"#;
    assert_eq!(post(&old, SETS, set).0, 201);
    assert_eq!(post(&old, NODES, r#"{"metadata":{"name":"n"},"spec":{"drivers":[]}}"#).0, 201);
    assert_eq!(get(&old, REQUESTS).0, 404);
    let new = at("1.37", &two);
    let limit = |server: &Tenure| {
        let (_, set) = get(server, &format!("{SETS}/s"));
        set.at(["spec", "updateStrategy", "rollingUpdate", "maxUnavailable"]).and_then(Value::as_i64)
    };
    let status = |server: &Tenure| get(server, &format!("{NODES}/n")).1.get("status").cloned();
    // Both answer at the same time, each as its version.
    assert_eq!((limit(&old), limit(&new)), (None, Some(1)));
    assert_eq!((status(&old), status(&new)), (None, Some(Value::object::<&str>([]))));
    let label = r#"{"metadata":{"labels":{"a":"b"}}}"#;
    for path in [format!("{NODES}/n"), format!("{SETS}/s")] {
        let patched = send(&new.address, "PATCH", &path, Some(("application/merge-patch+json", label)));
        assert_eq!(patched.expect("a response").0, 200, "{path}");
    }
    // What the new version wrote is read by the old one, without the field that it does not know.
    assert_eq!(status(&old), None);
    let migration = r#"{"metadata":{"name":"m"},"spec":{"resource":{"resource":"nodes"}}}"#;
    let migrations = "/apis/storagemigration.k8s.io/v1/storageversionmigrations";
    assert_eq!(post(&new, migrations, migration).0, 201);
    drop(new);
    // A group that is not served is a page that is not found, which is not a document.
    assert_eq!(send(&old.address, "GET", migrations, None), None);
    let patched =
        send(&old.address, "PATCH", &format!("{NODES}/n"), Some(("application/merge-patch+json", label)));
    assert_eq!(patched.expect("a response").0, 200);
    drop(old);
    // What the old version does not serve is there after the next upgrade.
    let again = at("1.37", &one);
    assert_eq!(get(&again, &format!("{migrations}/m")).0, 200);
    assert_eq!((limit(&again), status(&again)), (Some(1), Some(Value::object::<&str>([]))));
}
