//! Copies of clusters, and applies rehearsed on them: the report is what the cluster then does.

use crate::{
    etcd_process::Etcd,
    harness::{DEPLOYMENT, TestCluster},
    process::Tenure,
    recorded::http,
};
use std::{
    collections::BTreeMap,
    fs,
    io::Write,
    path::Path,
    process::{Command, Stdio},
    sync::atomic::{AtomicBool, Ordering::Relaxed},
    thread,
};
use tempfile::TempDir;
use tenure_value::{Limits, Object, Value, json};

const DEFINITION: &str = "\
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: widgets.example.com}
spec:
  group: example.com
  scope: Namespaced
  names: {plural: widgets, singular: widget, kind: Widget, listKind: WidgetList}
  versions:
  - name: v1
    served: true
    storage: true
    schema:
      openAPIV3Schema:
        type: object
        properties: {spec: {type: object, x-kubernetes-preserve-unknown-fields: true}}
";
const WIDGET: &str = "apiVersion: example.com/v1\nkind: Widget\nmetadata: {name: one}\nspec: {size: 1}\n";
const SECRET: &str =
    "apiVersion: v1\nkind: Secret\nmetadata: {name: login}\nstringData: {password: hunter2}\n";

/// Starts a server with objects of several managers.
fn cluster() -> TestCluster {
    let cluster = TestCluster::start();
    let file = cluster.file("base/all.yaml", &[DEFINITION, WIDGET, SECRET, DEPLOYMENT].join("---\n"));
    cluster.tenure(&["apply", "-f", &file, "--manager", "ci"]).exits_with(0);
    let scale = r#"{"spec":{"replicas":5}}"#;
    let path = "/apis/apps/v1/namespaces/default/deployments/web?fieldManager=autoscaler";
    assert_eq!(cluster.request("PATCH", path, "application/merge-patch+json", scale).0, 200);
    cluster
}

/// Returns the objects of a clone by the file of their kind.
fn objects(directory: &Path) -> BTreeMap<String, Vec<Value>> {
    let files = fs::read_dir(directory.join("objects")).expect("objects");
    let read = |path: &Path| {
        let text = fs::read_to_string(path).expect("a file");
        text.lines().map(|line| json::parse(line.as_bytes(), &Limits::TRUSTED).expect("JSON")).collect()
    };
    let files = files.map(|file| file.expect("a file").path());
    files
        .map(|path| (path.file_name().expect("a name").to_string_lossy().into_owned(), read(&path)))
        .collect()
}

#[test]
fn a_clone_that_is_served_equals_the_server() {
    let cluster = cluster();
    let (first, second) = (cluster.home.path().join("copy"), cluster.home.path().join("copy2"));
    let directory = first.to_string_lossy().into_owned();
    cluster.tenure(&["clone", "--secret-values", &directory]).exits_with(0).prints("objects");
    cluster.tenure(&["clone", "--secret-values", &directory]).exits_with(1).prints("it is a complete clone");
    let data = TempDir::new().expect("a directory");
    let arguments = ["--insecure-http", "--listen", "127.0.0.1:0", "--from", &directory];
    let served = Tenure::start(data.path(), &arguments);
    let copied = crate::harness::tenure(&["clone", "--secret-values", &second.to_string_lossy()])
        .env("KUBECONFIG", served.kubeconfig())
        .env("HOME", cluster.home.path())
        .output()
        .expect("the clone of the clone");
    assert!(copied.status.success(), "{copied:?}");
    let (original, copy) = (objects(&first), objects(&second));
    let find = |all: &BTreeMap<String, Vec<Value>>, name: &str| all.get(name).cloned().unwrap_or_default();
    for name in original.keys().filter(|name| !name.starts_with("leases") && !name.starts_with("events")) {
        let (before, after) = (find(&original, name), find(&copy, name));
        // The service of the server itself says where the new server is.
        let is_own = |object: &&Value| object.at(["metadata", "name"]) == Some(&Value::from("kubernetes"));
        let mut others = before.iter().filter(|object| !is_own(object));
        assert!(others.all(|object| after.contains(object)), "{name}:\n{before:#?}\n{after:#?}");
    }
    assert_eq!(find(&original, "widgets.example.com.jsonl").len(), 1);
}

#[test]
fn a_clone_of_a_server_that_is_written_to_is_consistent() {
    const MAPS: &str = "/api/v1/namespaces/default/configmaps";
    const OBJECTS: usize = 1200;
    let cluster = TestCluster::start();
    let map = |name: &str, count: usize| {
        format!(
            r#"{{"apiVersion":"v1","kind":"ConfigMap","metadata":{{"name":"{name}"}},"data":{{"count":"{count}"}}}}"#
        )
    };
    // So many that they are read in several pages, between two that count in step.
    let between = (0..OBJECTS).map(|number| format!("m{number}"));
    let names = ["a".to_owned()].into_iter().chain(between).chain(["z".to_owned()]);
    let writes: Vec<String> = names
        .map(|name| format!(r#"{{"method":"POST","path":"{MAPS}","body":{}}}"#, map(&name, 0)))
        .collect();
    let all =
        format!(r#"{{"apiVersion":"tenure.dev/v1","kind":"Transaction","requests":[{}]}}"#, writes.join(","));
    assert_eq!(cluster.request("POST", "/transactions", "application/json", &all).0, 200);
    let directory = cluster.home.path().join("copy");
    let is_over = AtomicBool::new(false);
    let written = thread::scope(|scope| {
        let writer = scope.spawn(|| {
            let mut count = 0;
            while !is_over.load(Relaxed) {
                count += 1;
                for name in ["a", "z"] {
                    let put = cluster.request(
                        "PUT",
                        &format!("{MAPS}/{name}"),
                        "application/json",
                        &map(name, count),
                    );
                    assert_eq!(put.0, 200);
                }
            }
            count
        });
        cluster.tenure(&["clone", &directory.to_string_lossy()]).exits_with(0);
        is_over.store(true, Relaxed);
        writer.join().expect("the writer ends")
    });
    let mut copied = objects(&directory).remove("configmaps.jsonl").expect("config maps");
    copied.retain(|object| object.at(["metadata", "namespace"]) == Some(&Value::from("default")));
    let count = |name: &str| {
        let found = copied.iter().find(|object| object.at(["metadata", "name"]) == Some(&Value::from(name)));
        let text = found.and_then(|object| object.at(["data", "count"])?.as_str());
        text.and_then(|text| text.parse::<usize>().ok()).expect("a count")
    };
    let (first, last) = (count("a"), count("z"));
    assert!(first == last || first == last + 1, "{first} and {last} of {written}");
    assert!(written > 0 && copied.len() > OBJECTS, "{}", copied.len());
    let arguments =
        ["--in-memory", "--insecure-http", "--listen", "127.0.0.1:0", "--from", &directory.to_string_lossy()];
    let data = TempDir::new().expect("a directory");
    let served = Tenure::start(data.path(), &arguments);
    let (code, list) = http::request(&served.address, "GET", MAPS, "", "application/json", "");
    let count = list.get("items").and_then(Value::as_array).map(|items| items.len());
    assert_eq!((code, count), (200, Some(copied.len())));
}

#[test]
fn a_rehearsal_predicts_what_the_apply_meets() {
    let cluster = cluster();
    let directory = cluster.home.path().join("copy").to_string_lossy().into_owned();
    cluster.tenure(&["clone", &directory]).exits_with(0);
    let secrets =
        fs::read_to_string(cluster.home.path().join("copy/objects/secrets.jsonl")).expect("secrets");
    assert!(!secrets.contains("aHVudGVyMg") && secrets.contains("login"), "{secrets}");
    let new = format!(
        "apiVersion: v1\nkind: Namespace\nmetadata: {{name: shop, labels: {{team: a}}}}\n---\n{}",
        WIDGET.replace("size: 1", "size: 2")
    );
    let more = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: new, namespace: shop}\ndata: {a: b}\n";
    let changed = DEPLOYMENT.replace("replicas: 2", "replicas: 3");
    let file = cluster.file("next.yaml", &[new.as_str(), more, SECRET, &changed].join("---\n"));
    let rehearsed =
        cluster.tenure(&["rehearse", "--on", &directory, "-f", &file, "--manager", "ci", "-o", "json"]);
    let rehearsed = rehearsed.exits_with(3).json();
    let real = cluster.tenure(&["apply", "-f", &file, "--manager", "ci", "-o", "json"]).exits_with(3).json();
    assert_eq!(timeless(rehearsed.get("plans")), timeless(real.get("objects")));
    assert_eq!(rehearsed.get("second"), Some(&Value::array([])));
    let text =
        cluster.tenure(&["rehearse", "--on", &directory, "-f", &file, "--manager", "ci"]).exits_with(3);
    text.prints("! .spec.replicas: 5 → 3")
        .prints("owned by autoscaler")
        .prints("A second apply would change nothing");
    // The cluster alone shows the same when it is read again.
    cluster
        .tenure(&["rehearse", "-f", &file, "--manager", "ci"])
        .exits_with(3)
        .prints("! .spec.replicas: 5 → 3");
}

/// Returns plans without the times and results that differ from apply to apply.
pub fn timeless(plans: Option<&Value>) -> Vec<Value> {
    fn without_times(value: &Value) -> Value {
        match value {
            Value::Object(object) => {
                let fields = object.iter().filter(|(name, _)| !["time", "result"].contains(&name.as_str()));
                Value::Object(Object::from_sorted(
                    fields.map(|(name, value)| (name.clone(), without_times(value))).collect::<Vec<_>>(),
                ))
            }
            Value::Array(items) => Value::array(items.iter().map(without_times)),
            value => value.clone(),
        }
    }
    let plans = plans.and_then(Value::as_array).expect("plans");
    plans.iter().map(without_times).collect()
}

#[test]
fn an_upgrade_from_client_side_apply_shows_what_lingers() {
    let cluster = TestCluster::start();
    let directory = cluster.home.path().join("copy").to_string_lossy().into_owned();
    cluster.tenure(&["clone", &directory]).exits_with(0);
    let settings =
        |data: &str| format!("apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: settings}}\ndata: {data}\n");
    let old = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: old}\n";
    cluster.file("v1/settings.yaml", &format!("{}---\n{old}", settings("{a: b, gone: x}")));
    cluster.file("v2/settings.yaml", &settings("{a: c}"));
    let line = ["rehearse", "--on", &directory, "--upgrade", "v1", "v2", "--client-side", "--manager", "ci"];
    let report = cluster.tenure(&line).exits_with(3);
    report
        .prints("! .data.a: \"b\" → \"c\"")
        .prints("owned by kubectl-client-side-apply")
        .prints("no longer has: configmap/old");
    let server_side: Vec<&str> = line.iter().filter(|word| **word != "--client-side").copied().collect();
    let report = cluster.tenure(&server_side).exits_with(2);
    report.prints("~ .data.a: \"b\" → \"c\"").prints("- .data.gone: \"x\"");
}

#[test]
fn dumps_and_bundles_are_copies_too() {
    let cluster = cluster();
    let dump =
        cluster.kubectl("", &["get", "deployments,configmaps", "-A", "-o", "yaml", "--show-managed-fields"]);
    let file = cluster.file("bundle/cluster/dump.yaml", &dump.exits_with(0).out);
    cluster.file("bundle/broken.yaml", "a: [1\n");
    let changed = cluster.file("next.yaml", &DEPLOYMENT.replace("replicas: 2", "replicas: 3"));
    for source in [file.as_str(), "bundle"] {
        let report = cluster.tenure(&["rehearse", "--on", source, "-f", &changed, "--manager", "ci"]);
        report.exits_with(3).prints("owned by autoscaler");
    }
    cluster
        .tenure(&["clone", "--from", "bundle", "copy"])
        .exits_with(0)
        .prints("left out: bundle/broken.yaml");
    let report = cluster.tenure(&["rehearse", "--on", "copy", "-f", &changed, "--manager", "ci"]);
    report.exits_with(3).prints("owned by autoscaler");
    cluster.file("empty.yaml", "a: 1\n");
    cluster.tenure(&["clone", "--from", "empty.yaml", "none"]).exits_with(1).prints("it has no objects");
    assert!(!cluster.home.path().join("none").exists());
    let kept = cluster.home.path().join("copy/objects/deployment.apps.jsonl");
    fs::write(&kept, "").expect("a truncated file");
    let report = cluster.tenure(&["rehearse", "--on", "copy", "-f", &changed]);
    report.exits_with(1).prints("has 0 objects instead of 1; clone again");
}

#[test]
fn a_snapshot_of_etcd_is_a_copy_too() {
    let cluster = cluster();
    let etcd = Etcd::start();
    let endpoints = etcd.endpoints().join(",");
    let put = |key: &str, value: &[u8]| {
        let mut command = Command::new("etcdctl");
        command.args(["--endpoints", &endpoints, "put", key]).env("ETCDCTL_API", "3");
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .spawn()
            .expect("etcdctl, which scripts/test installs");
        child.stdin.take().expect("input").write_all(value).expect("the value");
        assert!(child.wait().expect("etcdctl").success());
    };
    let web = cluster.get("/apis/apps/v1/namespaces/default/deployments/web");
    let encoded = tenure_codec::protobuf::encode(&web).expect("protobuf");
    put("/registry/deployments/default/web", b"an older value that is not read");
    put("/registry/deployments/default/web", &encoded);
    put("/registry/configmaps/default/sealed", b"k8s:enc:aescbc:v1:key:x");
    let file = cluster.home.path().join("snapshot.db");
    etcd.save_snapshot(&file);
    let changed = cluster.file("next.yaml", &DEPLOYMENT.replace("replicas: 2", "replicas: 3"));
    cluster
        .tenure(&["clone", "--from", "snapshot.db", "copy"])
        .exits_with(0)
        .prints("copy: 1 objects")
        .prints("left out: /registry/configmaps/default/sealed: it is encrypted at rest");
    let report = cluster.tenure(&["rehearse", "--on", "copy", "-f", &changed, "--manager", "ci"]);
    report.exits_with(3).prints("! .spec.replicas: 5 → 3").prints("owned by autoscaler");
    let snapshot = fs::read(&file).expect("the snapshot");
    for cut in [100, snapshot.len() / 2, snapshot.len() - 1] {
        fs::write(cluster.home.path().join("cut.db"), &snapshot[..cut]).expect("a file");
        cluster.tenure(&["clone", "--from", "cut.db", "none"]).exits_with(1).prints("damaged");
    }
}

#[test]
fn a_rehearsal_has_the_formats_of_reviews() {
    let cluster = cluster();
    // A conflict with the manager that scales, a new object, and one that does not change.
    let text = [WIDGET, DEPLOYMENT, "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: new}\ndata: {a: b}\n"];
    let file = cluster.file("review/all.yaml", &text.join("---\n"));
    for format in ["sarif", "junit", "markdown"] {
        let flags = ["-f", &file, "--manager", "ci", "-o", format];
        let planned = cluster.tenure(&[&["plan"][..], &flags].concat()).exits_with(3);
        let rehearsed = cluster.tenure(&[&["rehearse"][..], &flags].concat()).exits_with(3);
        // The same findings at the same lines; a rehearsal applies in the order of dependencies.
        let sorted = |text: &str| {
            let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
            lines.sort();
            lines
        };
        let rehearsed = match format {
            "markdown" => {
                let (comment, notes) = rehearsed.out.split_once("\nRehearsed on a copy.").expect("the notes");
                assert!(notes.contains("A second apply would change nothing."), "{notes}");
                comment.to_owned()
            }
            _ => rehearsed.out.clone(),
        };
        assert_eq!(sorted(&rehearsed), sorted(&planned.out), "{format}");
    }
}
