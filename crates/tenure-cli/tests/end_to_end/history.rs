//! History as a person uses it: the commands, and a server that is killed repeatedly, after which every acknowledged
//! version can still be rebuilt.

use crate::{
    client::{request, text},
    process::{CommandOutput, Tenure, run},
};
use std::{
    collections::HashMap,
    net::TcpListener,
    process::Command,
    sync::{
        Mutex,
        atomic::{AtomicBool, Ordering::SeqCst},
    },
    thread,
    time::Duration,
};
use tempfile::TempDir;
use tenure_value::Value;

/// How often the server is killed, unless `TENURE_KILLS` says otherwise.
const KILLS: u64 = 20;
const WRITERS: usize = 3;
const MAPS: &str = "/api/v1/namespaces/default/configmaps";
const DEPLOYMENT: &str = "/apis/apps/v1/namespaces/default/deployments/web";
const APPLY: &str = "application/apply-patch+yaml";
const MERGE_PATCH: &str = "application/merge-patch+json";

/// Every acknowledged version, by object and revision.
type Acknowledged = Mutex<HashMap<(String, String), Value>>;

/// Writes an object repeatedly, in different ways, and records every acknowledged version.
fn write(address: &str, writer: usize, killing: &AtomicBool, acknowledged: &Acknowledged) {
    let name = format!("own-{writer}");
    let path = format!("{MAPS}/{name}");
    let mut count = 0u64;
    while killing.load(SeqCst) {
        count += 1;
        let (code, response) = match count % 7 {
            0 => request(address, "DELETE", &path, None),
            1..4 => {
                let data: Vec<String> = (0..count % 5).map(|key| format!("k{key}: \"{count}\"")).collect();
                let body = format!(
                    "apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: {name}}}\ndata: {{n: \"{count}\", {}}}\n",
                    data.join(", ")
                );
                request(
                    address,
                    "PATCH",
                    &format!("{path}?fieldManager=m{}&force=true", count % 2),
                    Some((APPLY, &body)),
                )
            }
            _ => {
                let body = format!(
                    r#"{{"data":{{"n":"{count}","k1":null}},"metadata":{{"labels":{{"c":"{}"}}}}}}"#,
                    count % 3
                );
                request(address, "PATCH", &format!("{path}?fieldManager=patcher"), Some((MERGE_PATCH, &body)))
            }
        };
        assert!(code < 500, "{code} {response}");
        if code < 300 && text(&response, &["kind"]) == "ConfigMap" {
            let revision = text(&response, &["metadata", "resourceVersion"]).to_owned();
            acknowledged.lock().expect("the versions").insert((name.clone(), revision), response);
        }
    }
}

#[test]
fn after_every_kill_all_acknowledged_versions_are_rebuilt() {
    let kills = std::env::var("TENURE_KILLS").ok().and_then(|text| text.parse().ok()).unwrap_or(KILLS);
    let directory = TempDir::new().expect("a directory");
    let port =
        TcpListener::bind("127.0.0.1:0").and_then(|listener| listener.local_addr()).expect("a port").port();
    let listen = format!("127.0.0.1:{port}");
    let arguments = ["--insecure-http", "--listen", &listen, "--history-changes", "1000000"];
    let start = || Tenure::start(directory.path(), &arguments);
    let mut tenure = start();
    let address = tenure.address.clone();
    let acknowledged = Acknowledged::default();
    let mut checked = 0;
    for round in 0..kills {
        let killing = AtomicBool::new(true);
        thread::scope(|scope| {
            for writer in 0..WRITERS {
                let (address, killing, acknowledged) = (&address, &killing, &acknowledged);
                scope.spawn(move || write(address, writer, killing, acknowledged));
            }
            thread::sleep(Duration::from_millis(30 + round * 37 % 130));
            tenure.signal("KILL");
            tenure.wait();
            tenure = start();
            killing.store(false, SeqCst);
        });
        // The versions of this round; those of earlier rounds were checked, and the oldest of all once more at the end.
        let versions = std::mem::take(&mut *acknowledged.lock().expect("the versions"));
        for ((name, revision), version) in &versions {
            let path = format!("{MAPS}/{name}/history?at={revision}");
            let (code, rebuilt) = request(&address, "GET", &path, None);
            assert_eq!((code, rebuilt.to_string()), (200, version.to_string()), "round {round}");
            checked += 1;
        }
        // The whole history leads back to the creation.
        for writer in 0..WRITERS {
            let (code, page) =
                request(&address, "GET", &format!("{MAPS}/own-{writer}/history?limit=1000"), None);
            assert!(code == 200 || code == 404, "{page}");
            assert!(page.get("beginsAfter").is_none(), "round {round}: {page}");
        }
    }
    println!("{checked} acknowledged versions rebuilt after {kills} kills");
    assert!(checked > kills, "{checked} versions");
}

fn tenure(server: &Tenure, arguments: &[&str]) -> CommandOutput {
    let mut command = Command::new(env!("CARGO_BIN_EXE_tenure"));
    command.args(arguments).env("KUBECONFIG", server.kubeconfig()).env_remove("COLUMNS");
    run(&mut command, "")
}

fn deployment(replicas: u64, image: &str) -> String {
    format!(
        "apiVersion: apps/v1\nkind: Deployment\nmetadata: {{name: web}}\nspec:\n  replicas: {replicas}\n  selector: {{matchLabels: {{app: web}}}}\n  template:\n    metadata: {{labels: {{app: web}}}}\n    spec: {{containers: [{{name: app, image: \"{image}\"}}]}}\n"
    )
}

#[test]
fn a_change_and_a_deletion_are_found_and_undone() {
    let directory = TempDir::new().expect("a directory");
    let server = Tenure::start(directory.path(), &["--insecure-http", "--listen", "127.0.0.1:0"]);
    let apply = |manager: &str, body: &str| {
        let path = format!("{DEPLOYMENT}?fieldManager={manager}&force=true");
        let (code, response) = request(&server.address, "PATCH", &path, Some((APPLY, body)));
        assert!(code < 300, "{response}");
        text(&response, &["metadata", "resourceVersion"]).to_owned()
    };
    let first = apply("alice", &deployment(3, "app:1"));
    let body = r#"{"spec":{"replicas":7}}"#;
    let (_, response) = request(
        &server.address,
        "PATCH",
        &format!("{DEPLOYMENT}?fieldManager=bob"),
        Some((MERGE_PATCH, body)),
    );
    let scaled = text(&response, &["metadata", "resourceVersion"]).to_owned();
    let body = r#"{"metadata":{"labels":{"x":"y"}}}"#;
    request(&server.address, "PATCH", &format!("{DEPLOYMENT}?fieldManager=carol"), Some((MERGE_PATCH, body)));
    tenure(&server, &["log", "deployment/web"])
        .succeeds_with("- .spec.replicas: 3")
        .succeeds_with("+ .spec.replicas: 7")
        .succeeds_with("(created)");
    tenure(&server, &["log", "deployment/web", ".spec.replicas"]).succeeds_with("3 → 7").succeeds_with("bob");
    tenure(&server, &["blame", "deployment/web", "--at", &first])
        .succeeds_with("alice")
        .succeeds_with("replicas: 3");
    let diff = tenure(&server, &["diff", "deployment/web", "--from", &first]);
    assert!(diff.code == Some(2) && diff.out.contains("+ .metadata.labels.x: \"y\""), "{diff:?}");
    // At a moment before it was created, everything is new.
    let diff = tenure(&server, &["diff", "deployment/web", "--from", "1"]);
    assert!(diff.code == Some(2) && diff.out.contains("+ .spec.replicas: 7"), "{diff:?}");
    assert!(diff.err.contains("deployment.apps/web did not exist then (1)"), "{diff:?}");
    let diff = tenure(&server, &["diff", "deployment/web", "--from", "1", "--to", "2"]);
    assert!(diff.code == Some(1) && diff.err.contains("did not exist at either moment"), "{diff:?}");
    let blame = tenure(&server, &["blame", "deployment/web", "--at", "1"]);
    assert!(blame.code == Some(1) && blame.err.contains("did not exist at 1; `tenure log"), "{blame:?}");
    // The replicas have not changed since: the change is undone, and alice owns them again.
    tenure(&server, &["undo", "deployment/web", "--revision", &scaled]).succeeds_with("undone");
    let (_, live) = request(&server.address, "GET", DEPLOYMENT, None);
    assert_eq!(live.at(["spec", "replicas"]), Some(&Value::from(3)));
    assert_eq!(text(&live, &["metadata", "labels", "x"]), "y", "the later change stays");
    let blame = tenure(&server, &["why", "deployment/web", ".spec.replicas"]);
    assert!(blame.out.contains("alice") && !blame.out.contains("tenure-undo"), "{blame:?}");
    // The image has changed since: a conflict, which names the manager.
    let imaged = apply("alice", &deployment(3, "app:2"));
    apply("dave", &deployment(3, "app:3"));
    let refused = tenure(&server, &["undo", "deployment/web", "--revision", &imaged]);
    assert!(
        refused.code == Some(3) && refused.out.contains("dave") && refused.out.contains("app:3"),
        "{refused:?}"
    );
    tenure(&server, &["undo", "deployment/web", "--revision", &imaged, "--force"]).succeeds_with("undone");
    // A deleted object is restored with its owners.
    let (_, before) = request(&server.address, "GET", DEPLOYMENT, None);
    tenure(&server, &["restore", "deployment/web"]).fails_with("exists");
    request(&server.address, "DELETE", DEPLOYMENT, None);
    tenure(&server, &["log", "deployment/web", "--limit", "1"]).succeeds_with("(deleted)");
    tenure(&server, &["restore", "deployment/web"]).succeeds_with("restored");
    let (_, after) = request(&server.address, "GET", DEPLOYMENT, None);
    assert_eq!(after.get("spec"), before.get("spec"));
    let owners = |shown: &Value| {
        let entries =
            shown.at(["metadata", "managedFields"]).and_then(Value::as_array).cloned().unwrap_or_default();
        let one = |entry: &Value| {
            format!("{} {}", text(entry, &["manager"]), entry.get("fieldsV1").cloned().unwrap_or_default())
        };
        let mut owners: Vec<String> = entries.iter().map(one).collect();
        owners.sort();
        owners
    };
    assert_eq!(owners(&after), owners(&before));
    tenure(&server, &["fights"]).succeeds_with("No managers fight");
    tenure(&server, &["top", "writers"]).succeeds_with("alice").succeeds_with(".spec.replicas");
    tenure(&server, &["log", "deployment/never"]).fails_with("no such object");
}
