//! The history of a server that keeps none for others: a recorder follows it, is killed, and rebuilds every version that the server
//! showed; the commands of history read it.

use crate::{
    client::{self, send, text},
    process::{CommandOutput, Started, TIMEOUT, Tenure, run},
};
use std::{
    collections::BTreeMap,
    path::Path,
    process::{Command, Stdio},
    thread,
    time::{Duration, Instant},
};
use tempfile::TempDir;
use tenure_value::Value;

/// How often the recorder is killed, unless `TENURE_KILLS` says otherwise.
const KILLS: u64 = 8;
const APPLY: &str = "application/apply-patch+yaml";
const MERGE_PATCH: &str = "application/merge-patch+json";
const MAPS: &str = "/api/v1/namespaces/default/configmaps";
const WIDGETS: &str = "/apis/example.com/v1/namespaces/default/widgets";
const DEPLOYMENTS: &str = "/apis/apps/v1/namespaces/default/deployments";
const DEFINITION: &str = r#"{"apiVersion":"apiextensions.k8s.io/v1","kind":"CustomResourceDefinition","metadata":{"name":"widgets.example.com"},
"spec":{"group":"example.com","scope":"Namespaced","names":{"plural":"widgets","singular":"widget","kind":"Widget","listKind":"WidgetList"},
"versions":[{"name":"v1","served":true,"storage":true,"schema":{"openAPIV3Schema":{"type":"object","properties":{"spec":{"type":"object",
"properties":{"size":{"type":"integer"},"parts":{"type":"array","x-kubernetes-list-type":"map","x-kubernetes-list-map-keys":["name"],
"items":{"type":"object","required":["name"],"properties":{"name":{"type":"string"},"count":{"type":"integer"}}}}}}}}}}]}}"#;

/// Starts a recorder and waits until it follows the server.
fn record(server: &Tenure, directory: &Path, arguments: &[&str]) -> Started {
    let mut command = Command::new(env!("CARGO_BIN_EXE_tenure"));
    command.arg("record").arg(directory).args(arguments).env("KUBECONFIG", server.kubeconfig());
    let recorder = Started::reporting(&mut command, |line| line.starts_with("Following "));
    assert!(
        recorder.printed.contains("\nFollowing ") || recorder.printed.starts_with("Following "),
        "the recorder ended: {}",
        recorder.printed
    );
    recorder
}

/// Reads a path of the recorder that has a directory open.
fn recorded(directory: &Path, path: &str) -> Option<(u16, Value)> {
    let file = std::fs::read_to_string(directory.join("endpoint.json")).ok()?;
    let endpoint: Value = file.parse().ok()?;
    client::send_with_token(text(&endpoint, &["url"]), "GET", path, text(&endpoint, &["token"]))
}

/// Runs a command for a server, with the history of a directory.
fn tenure(server: &Tenure, directory: Option<&Path>, arguments: &[&str]) -> CommandOutput {
    let mut command = Command::new(env!("CARGO_BIN_EXE_tenure"));
    command.args(arguments).env("KUBECONFIG", server.kubeconfig()).env_remove("COLUMNS");
    command.env("XDG_STATE_HOME", &server.directory);
    match directory {
        Some(directory) => command.env("TENURE_HISTORY", directory),
        None => command.env_remove("TENURE_HISTORY"),
    };
    run(&mut command, "")
}

/// Waits until something holds.
fn wait_for<T>(what: &str, mut found: impl FnMut() -> Option<T>) -> T {
    let start = Instant::now();
    loop {
        if let Some(found) = found() {
            return found;
        }
        assert!(start.elapsed() < TIMEOUT, "{what}");
        thread::sleep(Duration::from_millis(20));
    }
}

/// A generator of numbers that are the same in every run.
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % limit
    }
}

/// Every version that the server acknowledged, by path and revision.
type Versions = BTreeMap<(String, u64), Value>;

/// Makes one random write, and notes the version that it left.
fn write(server: &Tenure, numbers: &mut Numbers, versions: &mut Versions) {
    let (which, value) = (numbers.below(3), numbers.below(5));
    let manager = ["alice", "bob", "carol"][numbers.below(3) as usize];
    let (path, applied) = match numbers.below(3) {
        0 => (
            format!("{MAPS}/m{which}"),
            format!(
                "apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: m{which}}}\ndata: {{k{value}: \"{}\", n: \"{value}\"}}\n",
                numbers.below(9)
            ),
        ),
        1 => (
            format!("{WIDGETS}/w{which}"),
            format!(
                "apiVersion: example.com/v1\nkind: Widget\nmetadata: {{name: w{which}}}\nspec: {{size: {value}, parts: [{{name: p{}, count: {value}}}]}}\n",
                numbers.below(3)
            ),
        ),
        _ => (format!("{DEPLOYMENTS}/d{which}"), deployment(&format!("d{which}"), value, "web:1")),
    };
    let (code, response) = match numbers.below(10) {
        0 => request(server, "DELETE", &path, None),
        1..5 => {
            let body = match path.starts_with(MAPS) {
                true => format!(
                    r#"{{"data":{{"k{value}":null,"p":"{}"}},"metadata":{{"labels":{{"l":"{value}"}}}}}}"#,
                    numbers.below(50)
                ),
                false => {
                    format!(r#"{{"metadata":{{"annotations":{{"a{value}":"{}"}}}}}}"#, numbers.below(50))
                }
            };
            request(server, "PATCH", &format!("{path}?fieldManager={manager}"), Some((MERGE_PATCH, &body)))
        }
        _ => request(
            server,
            "PATCH",
            &format!("{path}?fieldManager={manager}&force=true"),
            Some((APPLY, &applied)),
        ),
    };
    let revision = text(&response, &["metadata", "resourceVersion"]).parse::<u64>();
    if let (true, Ok(revision)) = (code < 300, revision) {
        versions.insert((path, revision), response);
    }
}

fn request(server: &Tenure, method: &str, path: &str, body: client::Body<'_>) -> (u16, Value) {
    wait_for(path, || send(&server.address, method, path, body))
}

fn deployment(name: &str, replicas: u64, image: &str) -> String {
    format!(
        "apiVersion: apps/v1\nkind: Deployment\nmetadata: {{name: {name}}}\nspec:\n  replicas: {replicas}\n  selector: {{matchLabels: {{app: web}}}}\n  template:\n    metadata: {{labels: {{app: web}}}}\n    spec: {{containers: [{{name: app, image: \"{image}\"}}]}}\n"
    )
}

/// Starts a server as Kubernetes is, with a custom kind.
fn start(directory: &TempDir, arguments: &[&str]) -> Tenure {
    let all = ["--insecure-http", "--compatibility", "kubernetes", "--history-changes", "100000"];
    let server = Tenure::start(directory.path(), &[&all[..], arguments].concat());
    let definitions = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
    request(&server, "POST", definitions, Some(("application/json", DEFINITION)));
    wait_for("the custom kind", || {
        send(&server.address, "GET", WIDGETS, None).filter(|(code, _)| *code == 200)
    });
    server
}

/// Waits until the recorder has the newest change of an object, and returns both histories.
fn both_histories(server: &Tenure, directory: &Path, path: &str) -> (Value, Value) {
    let path = format!("{path}/history?limit=1000");
    let (_, of_server) = request(server, "GET", &path, None);
    let newest = |page: &Value| {
        let items = page.get("items").and_then(Value::as_array).cloned().unwrap_or_default();
        items.iter().next().map(|item| text(item, &["revision"]).to_owned())
    };
    let of_recorder = wait_for(&path, || {
        let (_, page) = recorded(directory, &path)?;
        (newest(&page) == newest(&of_server)).then_some(page)
    });
    (of_server, of_recorder)
}

fn items(page: &Value) -> Vec<Value> {
    page.get("items")
        .and_then(Value::as_array)
        .map(|items| items.iter().cloned().collect())
        .unwrap_or_default()
}

/// Checks that the recorder knows of an object what the server knows; returns how many changes have no manager.
fn compare(path: &str, of_server: &Value, of_recorder: &Value) -> (usize, usize) {
    let (expected, found) = (items(of_server), items(of_recorder));
    assert_eq!(found.len(), expected.len(), "{path}: {of_recorder}");
    assert_eq!(of_recorder.get("beginsAfter"), of_server.get("beginsAfter"), "{path}");
    let mut unknown = 0;
    for (expected, found) in expected.iter().zip(&found) {
        for field in ["revision", "previous", "type", "changes", "ownerChanges", "deletionTimestamp", "gap"] {
            assert_eq!(found.get(field), expected.get(field), "{path} {field}: {found}\n{expected}");
        }
        match text(found, &["manager"]) {
            // Nothing but an audit log tells who deletes objects or removes fields.
            "" => unknown += 1,
            manager => assert_eq!(manager, text(expected, &["manager"]), "{path}: {found}\n{expected}"),
        }
    }
    (unknown, found.len())
}

#[test]
fn the_recorded_history_is_that_of_the_server() {
    let (data, history) = (TempDir::new().expect("a directory"), TempDir::new().expect("a directory"));
    let server = start(&data, &["--listen", "127.0.0.1:0"]);
    let directory = history.path().join("history");
    let recorder = record(&server, &directory, &["--kinds", "configmaps,deployments.apps,widgets"]);
    let (mut numbers, mut versions) = (Numbers(42), Versions::new());
    for _ in 0..250 {
        write(&server, &mut numbers, &mut versions);
    }
    let paths: std::collections::BTreeSet<&String> = versions.keys().map(|(path, _)| path).collect();
    let (mut unknown, mut all) = (0, 0);
    for path in paths {
        let (of_server, of_recorder) = both_histories(&server, &directory, path);
        let (without, count) = compare(path, &of_server, &of_recorder);
        (unknown, all) = (unknown + without, all + count);
    }
    assert!(all >= versions.len() && unknown * 3 < all, "{unknown} of {all} changes have no manager");
    for ((path, revision), version) in &versions {
        let (code, rebuilt) =
            recorded(&directory, &format!("{path}/history?at={revision}")).expect("an answer");
        assert_eq!((code, rebuilt.to_string()), (200, version.to_string()));
    }
    // The same from the directory alone.
    drop(recorder);
    let (path, revision) = versions.keys().next_back().expect("a version");
    let name = path.rsplit('/').next().expect("a name");
    let log = tenure(&server, Some(&directory), &["log", &format!("widget/{name}"), "-o", "json"]);
    log.succeeds_with(&format!("\"revision\": \"{revision}\""));
}

#[test]
fn a_recorder_that_is_killed_misses_nothing() {
    let kills = std::env::var("TENURE_KILLS").ok().and_then(|text| text.parse().ok()).unwrap_or(KILLS);
    let (data, history) = (TempDir::new().expect("a directory"), TempDir::new().expect("a directory"));
    let server = start(&data, &["--listen", "127.0.0.1:0"]);
    let directory = history.path().join("history");
    let arguments = ["--kinds", "configmaps,deployments.apps,widgets", "--changes", "100000"];
    let (mut numbers, mut versions) = (Numbers(7), Versions::new());
    let mut recorder = record(&server, &directory, &arguments);
    for round in 0..kills {
        // Some writes are seen, some are seen in part, some come while there is no recorder.
        for _ in 0..10 + numbers.below(10) {
            write(&server, &mut numbers, &mut versions);
        }
        drop(recorder);
        for _ in 0..round % 4 {
            write(&server, &mut numbers, &mut versions);
        }
        recorder = record(&server, &directory, &arguments);
    }
    let paths: std::collections::BTreeSet<&String> = versions.keys().map(|(path, _)| path).collect();
    for path in paths {
        let (of_server, of_recorder) = both_histories(&server, &directory, path);
        compare(path, &of_server, &of_recorder);
    }
    for ((path, revision), version) in &versions {
        let (code, rebuilt) =
            recorded(&directory, &format!("{path}/history?at={revision}")).expect("an answer");
        assert_eq!((code, rebuilt.to_string()), (200, version.to_string()));
    }
    println!("{} versions rebuilt after {kills} kills", versions.len());
}

#[test]
fn the_commands_of_history_work_with_a_recorder() {
    let (data, history) = (TempDir::new().expect("a directory"), TempDir::new().expect("a directory"));
    let server = start(&data, &["--listen", "127.0.0.1:0", "--history=false"]);
    let directory = history.path().join("history");
    let _recorder = record(&server, &directory, &[]);
    let path = format!("{DEPLOYMENTS}/web");
    let apply = |manager: &str, replicas: u64, image: &str| {
        let path = format!("{path}?fieldManager={manager}&force=true");
        let (_, object) =
            request(&server, "PATCH", &path, Some((APPLY, &deployment("web", replicas, image))));
        text(&object, &["metadata", "resourceVersion"]).to_owned()
    };
    let first = apply("kubectl", 3, "web:1");
    let scaled = {
        let body = r#"{"spec":{"replicas":7}}"#;
        let path = format!("{path}/scale?fieldManager=autoscaler");
        request(&server, "PATCH", &path, Some((MERGE_PATCH, body)));
        let (_, object) = request(&server, "GET", &format!("{DEPLOYMENTS}/web"), None);
        text(&object, &["metadata", "resourceVersion"]).to_owned()
    };
    let secret =
        r#"{"apiVersion":"v1","kind":"Secret","metadata":{"name":"s"},"data":{"password":"c2VjcmV0"}}"#;
    request(&server, "POST", "/api/v1/namespaces/default/secrets", Some(("application/json", secret)));
    let run = |arguments: &[&str]| tenure(&server, Some(&directory), arguments);
    wait_for("the changes", || {
        let (_, page) = recorded(&directory, &format!("{path}/history"))?;
        let (_, secret) = recorded(&directory, "/api/v1/namespaces/default/secrets/s/history")?;
        (items(&page).len() == 2 && items(&secret).len() == 1).then_some(())
    });
    let log = run(&["log", "deployment/web", ".spec.replicas"]).succeeds_with("autoscaler");
    assert!(log.out.contains("3 → 7") && log.out.contains("(not set) → 3"), "{}", log.out);
    let diff = run(&["diff", "deployment/web", "--from", &first]);
    assert!(diff.code == Some(2) && diff.out.contains("+ .spec.replicas: 7"), "{diff:?}");
    run(&["blame", "deployment/web", "--at", &first]).succeeds_with("replicas: 3");
    run(&["top", "writers"]).succeeds_with("autoscaler");
    run(&["fights"]).succeeds_with("No managers fight.");
    run(&["undo", "deployment/web", "--revision", &scaled]).succeeds_with("undone");
    let (_, live) = request(&server, "GET", &path, None);
    assert_eq!(live.at(["spec", "replicas"]).and_then(Value::as_i64), Some(3));
    // Secrets are digests.
    let log = run(&["log", "secret/s", "-o", "json"]).succeeds_with("*** ");
    assert!(!log.out.contains("c2VjcmV0"), "{}", log.out);
    request(&server, "DELETE", &path, None);
    wait_for("the deletion", || {
        let (_, page) = recorded(&directory, &format!("{path}/history"))?;
        (text(items(&page).first()?, &["type"]) == "Deleted").then_some(())
    });
    run(&["restore", "deployment/web"]).succeeds_with("restored");
    let (_, live) = request(&server, "GET", &path, None);
    let managers = live.at(["metadata", "managedFields"]).expect("managers").to_string();
    assert!(managers.contains("kubectl"), "{managers}");
    // Without a recorder, one sentence says what to start.
    let alone = data.path().join("none");
    let mut command = Command::new(env!("CARGO_BIN_EXE_tenure"));
    command.args(["fights", "--history", &alone.to_string_lossy()]).env("KUBECONFIG", server.kubeconfig());
    crate::process::run(&mut command, "").fails_with("tenure record");
}

#[test]
fn readers_need_the_permission_of_the_cluster() {
    let (data, history) = (TempDir::new().expect("a directory"), TempDir::new().expect("a directory"));
    let server = Tenure::start(data.path(), &["--listen", "127.0.0.1:0"]);
    let directory = history.path().join("history");
    let recorder = record(&server, &directory, &["--kinds", "configmaps", "--listen", "127.0.0.1:0"]);
    let url = recorder.printed.lines().find_map(|line| line.strip_prefix("Serving the history on "));
    let url = url.expect("an address");
    let kubectl = |line: &str| {
        let mut command = Command::new("kubectl");
        let output = run(command.args(line.split(' ')).env("KUBECONFIG", server.kubeconfig()), "");
        assert_eq!(output.code, Some(0), "{line}: {output:?}");
        output.out.trim().to_owned()
    };
    kubectl("create configmap a --from-literal=k=v");
    kubectl("create clusterrole reader --verb=get --resource=configmaps/history");
    for user in ["reader", "other"] {
        kubectl(&format!("create serviceaccount {user}"));
    }
    kubectl("create clusterrolebinding reader --clusterrole=reader --serviceaccount=default:reader");
    let authority = directory.join("apiserver.crt").to_string_lossy().into_owned();
    let log = |token: &str, line: &[&str]| {
        let reading = ["--token", token, "--history", url, "--history-certificate-authority", &authority];
        tenure(&server, None, &[line, &reading].concat())
    };
    let line = ["log", "configmap/a"];
    let reader = kubectl("create token reader");
    wait_for("the change", || log(&reader, &line).out.contains("+ .data.k: \"v\"").then_some(()));
    // Each path has a permission of its own.
    log(&reader, &["fights"]).fails_with("cannot get this path");
    log(&kubectl("create token other"), &line).fails_with("cannot get configmaps/history");
    log("none", &line).fails_with("");
}

#[test]
fn a_server_that_is_killed_is_followed_again() {
    let kills = std::env::var("TENURE_KILLS").ok().and_then(|text| text.parse().ok()).unwrap_or(KILLS);
    let (data, history) = (TempDir::new().expect("a directory"), TempDir::new().expect("a directory"));
    let mut server = start(&data, &["--listen", "127.0.0.1:0"]);
    // The next server must be where the recorder knows it.
    let port = server.address.rsplit(':').next().expect("a port").to_owned();
    let address = format!("127.0.0.1:{port}");
    let directory = history.path().join("history");
    let arguments = ["--kinds", "configmaps,deployments.apps,widgets", "--changes", "100000"];
    let _recorder = record(&server, &directory, &arguments);
    let (mut numbers, mut versions) = (Numbers(11), Versions::new());
    for _ in 0..kills {
        for _ in 0..10 + numbers.below(10) {
            write(&server, &mut numbers, &mut versions);
        }
        server.signal("KILL");
        server.wait();
        server = start(&data, &["--listen", &address]);
    }
    let paths: std::collections::BTreeSet<&String> = versions.keys().map(|(path, _)| path).collect();
    for path in paths {
        let (of_server, of_recorder) = both_histories(&server, &directory, path);
        compare(path, &of_server, &of_recorder);
    }
    println!("{} versions after {kills} kills of the server", versions.len());
}

/// Writes an audit policy that records whole objects.
fn write_policy(directory: &TempDir) -> String {
    let policy = directory.path().join("policy.yaml");
    let rules = "apiVersion: audit.k8s.io/v1\nkind: Policy\nrules: [{level: RequestResponse}]\n";
    std::fs::write(&policy, rules).expect("a policy");
    policy.to_string_lossy().into_owned()
}

#[test]
fn the_webhook_of_the_server_tells_the_users_to_every_recorder() {
    let (data, history) = (TempDir::new().expect("a directory"), TempDir::new().expect("a directory"));
    let directory = history.path().join("history");
    let server = start(&data, &["--listen", "127.0.0.1:0"]);
    let recorder = record(&server, &directory, &["--kinds", "configmaps", "--audit-webhook", "127.0.0.1:0"]);
    let webhook = directory.join("audit-webhook.kubeconfig");
    let kubeconfig: String = std::fs::read_to_string(&webhook).expect("a kubeconfig");
    let listening =
        kubeconfig.split("http://").nth(1).and_then(|rest| rest.split('/').next()).expect("an address");
    let (policy, webhook) = (write_policy(&history), webhook.to_string_lossy().into_owned());
    server.terminate();
    let audit = ["--audit-policy-file", &policy, "--audit-webhook-config-file", &webhook];
    let server = start(
        &data,
        &[&["--listen", "127.0.0.1:0", "--audit-webhook-batch-max-wait", "100ms"], &audit[..]].concat(),
    );
    // The server keeps the credentials that it has read when another recorder takes the place of the first.
    drop(recorder);
    let _recorder = record(&server, &directory, &["--kinds", "configmaps", "--audit-webhook", listening]);
    let body = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata: {k: \"1\"}\n";
    request(&server, "PATCH", &format!("{MAPS}/a?fieldManager=alice"), Some((APPLY, body)));
    let found = wait_for("the user", || {
        let (_, page) = recorded(&directory, &format!("{MAPS}/a/history"))?;
        items(&page).into_iter().find(|item| !text(item, &["user"]).is_empty())
    });
    let (_, of_server) = request(&server, "GET", &format!("{MAPS}/a/history"), None);
    for field in ["user", "manager", "revision"] {
        assert_eq!(found.get(field), items(&of_server)[0].get(field), "{found}");
    }
    assert_eq!(text(&found, &["sourceIP"]), "127.0.0.1", "{found}");
}

#[test]
fn audit_events_tell_the_users() {
    let (data, history) = (TempDir::new().expect("a directory"), TempDir::new().expect("a directory"));
    let (policy, log) = (write_policy(&history), history.path().join("audit.log"));
    let log = log.to_string_lossy().into_owned();
    let audit = ["--listen", "127.0.0.1:0", "--audit-policy-file", &policy, "--audit-log-path", &log];
    let server = start(&data, &audit);
    let directory = history.path().join("history");
    let recording = ["--kinds", "configmaps", "--audit-log", &log];
    let recorder = record(&server, &directory, &recording);
    let users = |count: usize| {
        wait_for("the users", || {
            let (_, page) = recorded(&directory, &format!("{MAPS}/a/history"))?;
            let all = items(&page);
            let is_known = |item: &Value| !text(item, &["user"]).is_empty();
            (all.len() == count && all.iter().all(is_known)).then_some(page)
        })
    };
    let body = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata: {k: \"1\", l: \"1\"}\n";
    request(&server, "PATCH", &format!("{MAPS}/a?fieldManager=alice"), Some((APPLY, body)));
    users(1);
    drop(recorder);
    // Only the audit log tells who removes a field.
    let removal = r#"{"data":{"l":null}}"#;
    request(&server, "PATCH", &format!("{MAPS}/a?fieldManager=bob"), Some((MERGE_PATCH, removal)));
    let is_logged = |part: &str| std::fs::read_to_string(&log).is_ok_and(|text| text.contains(part));
    wait_for("the events", || is_logged("fieldManager=bob").then_some(()));
    // The log is rotated while nobody reads it.
    std::fs::rename(&log, log.replace(".log", "-2026-11-18T08-00-00.000.log")).expect("a log");
    std::fs::write(&log, "").expect("a new log");
    let _recorder = record(&server, &directory, &recording);
    let page = users(2);
    let (_, of_server) = request(&server, "GET", &format!("{MAPS}/a/history"), None);
    for (found, expected) in items(&page).iter().zip(items(&of_server)) {
        for field in ["user", "manager", "revision"] {
            assert_eq!(found.get(field), expected.get(field), "{found}");
        }
        assert_eq!(text(found, &["sourceIP"]), "127.0.0.1", "{found}");
    }
    assert_eq!(text(&items(&page)[0], &["verb"]), "patch");
}

#[test]
fn a_watch_shows_who_changes_what_without_a_recorder() {
    let data = TempDir::new().expect("a directory");
    let server = start(&data, &["--listen", "127.0.0.1:0"]);
    let path = format!("{DEPLOYMENTS}/web?fieldManager=kubectl");
    request(&server, "PATCH", &path, Some((APPLY, &deployment("web", 3, "web:1"))));
    let mut command = Command::new(env!("CARGO_BIN_EXE_tenure"));
    command.args(["watch", "deployment/web", ".spec.replicas", "-o", "json", "--limit", "1"]);
    command.env("KUBECONFIG", server.kubeconfig()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut watch = command.spawn().expect("the binary starts");
    crate::process::read_until(watch.stderr.take().expect("its notes"), "watching 1 deployment.apps");
    // One change of another field, and one of the watched field.
    for body in [r#"{"metadata":{"labels":{"a":"b"}}}"#, r#"{"spec":{"replicas":9}}"#] {
        let path = format!("{DEPLOYMENTS}/web?fieldManager=autoscaler");
        request(&server, "PATCH", &path, Some((MERGE_PATCH, body)));
    }
    let output = watch.wait_with_output().expect("it ends");
    let line: Value = String::from_utf8_lossy(&output.stdout).trim().parse().expect("a line of JSON");
    assert_eq!(text(&line, &["manager"]), "autoscaler");
    assert_eq!(text(&line, &["object", "name"]), "web");
    let change = line.get("changes").and_then(Value::as_array).expect("changes").iter().next().cloned();
    assert_eq!(change.expect("a change").to_string(), r#"{"from":3,"path":".spec.replicas","to":9}"#);
}
