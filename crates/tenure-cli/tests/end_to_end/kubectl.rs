//! `kubectl` as people use it, against a server with TLS and a token.

use crate::process::{CommandOutput, Tenure, read_until, run};
use std::{
    fs,
    os::unix::fs::PermissionsExt,
    process::{Child, Command, Stdio},
};
use tempfile::TempDir;

const DEPLOYMENT: &str = "\
apiVersion: apps/v1
kind: Deployment
metadata:
  name: web
  labels: {app: web}
spec:
  replicas: 2
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      containers:
      - name: web
        image: nginx:1
        ports: [{containerPort: 80}]
";

const MAP: &str = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c}\ndata: {k: v}\n";

/// A server and a home directory for its clients.
pub struct Cluster {
    tenure: Tenure,
    home: TempDir,
    _data: TempDir,
}

/// Returns the minor version of the client, 0 if it does not report it. Flags and commands depend on it; what they need of
/// a server does not.
pub fn version() -> u32 {
    let output = run(Command::new("kubectl").args(["version", "--client", "-o", "json"]), "").out;
    let minor =
        output.split("\"minor\": \"").nth(1).and_then(|rest| rest.split(['"', '+']).next()?.parse().ok());
    minor.unwrap_or_default()
}

impl Cluster {
    fn is_client_since(&self, minor: u32) -> bool {
        version() >= minor
    }

    pub fn start() -> Cluster {
        let data = TempDir::new().expect("a directory");
        Cluster { tenure: Tenure::secure(&data), home: TempDir::new().expect("a directory"), _data: data }
    }

    pub fn command(&self, line: &str) -> Command {
        let mut command = Command::new("kubectl");
        command.args(words(line)).env("KUBECONFIG", self.tenure.kubeconfig()).env("HOME", self.home.path());
        command
    }

    /// Runs a line of words, quoted where they have spaces, with input.
    pub fn with(&self, input: &str, line: &str) -> CommandOutput {
        run(&mut self.command(line), input)
    }

    pub fn kubectl(&self, line: &str) -> CommandOutput {
        self.with("", line)
    }

    /// Starts a command that keeps running.
    pub fn begin(&self, line: &str) -> Child {
        self.command(line)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("kubectl is installed")
    }

    /// Runs `kubectl edit` with an editor that replaces one text by another.
    fn edit(&self, what: &str, from: &str, to: &str) -> CommandOutput {
        let editor = self.home.path().join("editor");
        fs::write(&editor, format!("#!/bin/sh\nsed -i 's|{from}|{to}|' \"$1\"\n")).expect("an editor");
        fs::set_permissions(&editor, fs::Permissions::from_mode(0o755)).expect("it may run");
        run(self.command(&format!("edit {what}")).env("KUBE_EDITOR", &editor), "")
    }
}

/// Splits a line into words; single quotes keep one together.
fn words(line: &str) -> Vec<String> {
    let mut words = Vec::new();
    for (at, part) in line.split('\'').enumerate() {
        match at % 2 {
            0 => words.extend(part.split_whitespace().map(String::from)),
            _ => words.push(part.into()),
        }
    }
    words
}

#[test]
fn apply_in_the_old_way_merges_with_what_was_applied_last() {
    let cluster = Cluster::start();
    cluster.with(DEPLOYMENT, "apply -f -").succeeds_with("deployment.apps/web created");
    cluster.with(DEPLOYMENT, "apply -f -").succeeds_with("deployment.apps/web unchanged");
    cluster.kubectl("scale deployment web --replicas=5").succeeds_with("scaled");
    let without_port =
        DEPLOYMENT.replace("        ports: [{containerPort: 80}]\n", "").replace("nginx:1", "nginx:2");
    cluster.with(&without_port, "apply -f -").succeeds_with("deployment.apps/web configured");
    let shown = cluster.kubectl("get deployment web -o jsonpath={.spec.replicas}/{.spec.template.spec.containers[0].image}/{.spec.template.spec.containers[0].ports}");
    assert_eq!(shown.succeeds_with("").out, "2/nginx:2/");
    let wrong = DEPLOYMENT.replace("replicas: 2", "replicaz: 2");
    // An old client finds it in the OpenAPI document, a new one is told by the server.
    cluster.with(&wrong, "apply -f -").fails_with("replicaz\"");
    cluster.with(&without_port, "apply view-last-applied -f -").succeeds_with("nginx:2");
}

#[test]
fn server_side_apply_shows_owners() {
    let cluster = Cluster::start();
    cluster
        .with(DEPLOYMENT, "apply --server-side -f -")
        .succeeds_with("deployment.apps/web serverside-applied");
    cluster
        .with(DEPLOYMENT, "apply --server-side -f -")
        .succeeds_with("deployment.apps/web serverside-applied");
    let more = DEPLOYMENT.replace("replicas: 2", "replicas: 3");
    let other = "apply --server-side --field-manager=other -f -";
    cluster.with(&more, other).fails_with("conflict with \"kubectl\": .spec.replicas");
    cluster
        .with(&more, &format!("{other} --force-conflicts --dry-run=server"))
        .succeeds_with("(server dry run)");
    cluster.kubectl("get deployment web -o jsonpath={.spec.replicas}").succeeds_with("2");
    cluster.with(&more, &format!("{other} --force-conflicts")).succeeds_with("serverside-applied");
    let managers = if cluster.is_client_since(21) { " --show-managed-fields" } else { "" };
    let shown =
        cluster.kubectl(&format!("get deployment web -o yaml{managers}")).succeeds_with("manager: other").out;
    assert!(shown.contains("replicas: 3") && shown.contains("f:replicas: {}"), "{shown}");
    // Objects of client-side apply move to server-side apply without a conflict.
    cluster.with(MAP, "apply -f -").succeeds_with("created");
    cluster
        .with(&MAP.replace("k: v", "k: w"), "apply --server-side -f -")
        .succeeds_with("serverside-applied");
}

#[test]
fn dry_runs_and_differences_change_nothing() {
    let cluster = Cluster::start();
    cluster.with(DEPLOYMENT, "apply --dry-run=server -f -").succeeds_with("created (server dry run)");
    cluster.kubectl("get deployment web").fails_with("NotFound");
    cluster.with(DEPLOYMENT, "create -f -").succeeds_with("created");
    let before = cluster.kubectl("get deployment web -o jsonpath={.metadata.resourceVersion}").out;
    let changed = DEPLOYMENT.replace("nginx:1", "nginx:3");
    for line in ["diff -f -", "diff --server-side --force-conflicts -f -"] {
        let difference = cluster.with(&changed, line);
        assert_eq!(difference.code, Some(1), "{difference:?}");
        assert!(
            difference.out.contains("-        image: nginx:1\n+")
                || difference.out.contains("- image: nginx:1"),
            "{}",
            difference.out
        );
    }
    let same = cluster.with(DEPLOYMENT, "diff -f -");
    assert!(matches!(same.code, Some(0 | 1)), "{same:?}");
    for (line, says) in [
        ("delete deployment web --dry-run=server", "(server dry run)"),
        ("label deployment web a=b --dry-run=server", "labeled"),
        ("scale deployment web --replicas=9 --dry-run=server", "scaled"),
        ("patch deployment web -p '{\"spec\":{\"replicas\":7}}' --dry-run=server", "patched"),
    ] {
        cluster.kubectl(line).succeeds_with(says);
    }
    let after = cluster.kubectl("get deployment web -o jsonpath={.metadata.resourceVersion}").out;
    assert_eq!(before, after);
}

#[test]
fn every_way_to_change_an_object_works() {
    let cluster = Cluster::start();
    cluster.with(DEPLOYMENT, "create -f -").succeeds_with("deployment.apps/web created");
    let value = |path: &str| cluster.kubectl(&format!("get deployment web -o jsonpath={{{path}}}")).out;
    cluster.kubectl("patch deployment web -p '{\"spec\":{\"template\":{\"spec\":{\"containers\":[{\"name\":\"side\",\"image\":\"s\"}]}}}}'").succeeds_with("patched");
    assert_eq!(value(".spec.template.spec.containers[*].name"), "side web");
    cluster
        .kubectl("patch deployment web --type=merge -p '{\"spec\":{\"replicas\":4}}'")
        .succeeds_with("patched");
    assert_eq!(value(".spec.replicas"), "4");
    cluster.kubectl("patch deployment web --type=json -p '[{\"op\":\"replace\",\"path\":\"/spec/replicas\",\"value\":6}]'").succeeds_with("patched");
    assert_eq!(value(".spec.replicas"), "6");
    if cluster.is_client_since(24) {
        cluster
            .kubectl(
                "patch deployment web --subresource=status --type=merge -p '{\"status\":{\"replicas\":1}}'",
            )
            .succeeds_with("patched");
        assert_eq!(value(".status.replicas"), "1");
    }
    cluster.kubectl("label deployment web tier=front").succeeds_with("labeled");
    cluster.kubectl("label deployment web tier=back").fails_with("already has a value");
    cluster.kubectl("label deployment web tier=back --overwrite").succeeds_with("labeled");
    cluster.kubectl("label deployment web tier-").succeeds_with("labeled");
    cluster.kubectl("annotate deployment web 'note=two words'").succeeds_with("annotated");
    cluster.kubectl("scale deployment web --replicas=3").succeeds_with("scaled");
    cluster
        .kubectl("scale deployment web --current-replicas=9 --replicas=1")
        .fails_with("Expected replicas to be 9");
    cluster.kubectl("set image deployment/web web=nginx:9").succeeds_with("image updated");
    cluster.edit("deployment web", "replicas: 3", "replicas: 8").succeeds_with("edited");
    assert_eq!(value(".spec.replicas"), "8");
    cluster.edit("deployment web", "nowhere", "else");
    let refused = cluster.edit("deployment web", "replicas: 8", "replicas: -1");
    assert!(refused.code != Some(0) && refused.err.contains("is invalid"), "{refused:?}");
    let replaced = DEPLOYMENT.replace("replicas: 2", "replicas: 1");
    cluster.with(&replaced, "replace -f -").succeeds_with("replaced");
    assert_eq!(value(".spec.replicas"), "1");
    cluster.kubectl("expose deployment web --port=80").succeeds_with("service/web exposed");
    cluster.kubectl("run pod --image=i").succeeds_with("pod/pod created");
    // These send protobuf.
    cluster.kubectl("create configmap c --from-literal=k=v").succeeds_with("configmap/c created");
    cluster.kubectl("create secret generic s --from-literal=k=v").succeeds_with("secret/s created");
    cluster.kubectl("create deployment other --image=i").succeeds_with("deployment.apps/other created");
    cluster.kubectl("autoscale deployment web --max=3").succeeds_with("autoscaled");
    cluster.kubectl("rollout restart deployment web").succeeds_with("restarted");
}

#[test]
fn objects_are_shown_in_every_form() {
    let cluster = Cluster::start();
    cluster.with(DEPLOYMENT, "apply -f -").succeeds_with("created");
    let table = cluster.kubectl("get deployments").succeeds_with("NAME").out;
    assert!(table.contains("READY") && table.contains("UP-TO-DATE") && table.contains("0/2"), "{table}");
    let wide = cluster.kubectl("get deployments -o wide").succeeds_with("nginx:1").out;
    assert!(wide.contains("CONTAINERS") && wide.contains("SELECTOR") && wide.contains("app=web"), "{wide}");
    cluster.kubectl("get deployment web -o yaml").succeeds_with("kind: Deployment");
    cluster.kubectl("get deployment web -o json").succeeds_with("\"kind\": \"Deployment\"");
    cluster.kubectl("get deployment web -o name").succeeds_with("deployment.apps/web");
    let columns = cluster.kubectl("get deployments -o custom-columns=N:.metadata.name,R:.spec.replicas").out;
    assert_eq!(columns.split_whitespace().collect::<Vec<_>>(), ["N", "R", "web", "2"], "{columns}");
    cluster.kubectl("get deployments -l app=web --show-labels").succeeds_with("app=web");
    assert_eq!(
        cluster.kubectl("get deployments -l app=other").err,
        "No resources found in default namespace.\n"
    );
    cluster.kubectl("get deployments,services,configmaps -A").succeeds_with("deployment.apps/web");
    cluster.kubectl("get all").succeeds_with("deployment.apps/web");
    cluster.kubectl("get ns").succeeds_with("kube-system");
    cluster.kubectl("describe deployment web").succeeds_with("nginx:1");
    cluster.kubectl("get deployment nope").fails_with("deployments.apps \"nope\" not found");
    cluster.kubectl("get nopes").fails_with("the server doesn't have a resource type \"nopes\"");
}

#[test]
fn the_api_explains_itself() {
    let cluster = Cluster::start();
    let resources = cluster.kubectl("api-resources").succeeds_with("deployments").out;
    assert!(
        resources.lines().any(|line| line.starts_with("configmaps") && line.contains("cm")),
        "{resources}"
    );
    cluster.kubectl("api-versions").succeeds_with("apps/v1");
    cluster.kubectl("version").succeeds_with("v1.37");
    let explained = cluster
        .kubectl("explain deployment.spec.template.spec.containers.ports")
        .succeeds_with("containerPort")
        .out;
    assert!(explained.contains("<integer>"), "{explained}");
    cluster.kubectl("explain configmap --recursive").succeeds_with("binaryData");
    cluster.kubectl("explain deployment.nope").fails_with("does not exist");
    cluster.kubectl("cluster-info").succeeds_with("is running at");
    if cluster.is_client_since(28) {
        cluster.kubectl("auth whoami").succeeds_with("admin");
    }
    cluster.kubectl("auth can-i create deployments").succeeds_with("yes");
}

#[test]
fn changes_are_watched_and_waited_for() {
    let cluster = Cluster::start();
    cluster.with(MAP, "create -f -").succeeds_with("configmap/c created");
    let mut watch = cluster.begin("get configmaps -w --output-watch-events");
    let mut events = watch.stdout.take().expect("its output");
    read_until(&mut events, "ADDED");
    let waiting = cluster
        .is_client_since(23)
        .then(|| cluster.begin("wait configmap/c --for=jsonpath={.data.k}=w --timeout=50s"));
    cluster.kubectl("patch configmap c --type=merge -p '{\"data\":{\"k\":\"w\"}}'").succeeds_with("patched");
    read_until(&mut events, "MODIFIED");
    if let Some(waiting) = waiting {
        let waited = waiting.wait_with_output().expect("the wait ends");
        assert!(waited.status.success(), "{waited:?}");
    }
    // An old client fails if the object is gone before it begins to wait.
    let gone =
        cluster.is_client_since(24).then(|| cluster.begin("wait configmap/c --for=delete --timeout=50s"));
    // Without --wait=false a deletion returns when the object is gone.
    cluster.kubectl("delete configmap c").succeeds_with("configmap \"c\" deleted");
    read_until(&mut events, "DELETED");
    if let Some(gone) = gone {
        assert!(gone.wait_with_output().expect("the wait ends").status.success());
    }
    watch.kill().expect("the watch is killed");
    watch.wait().expect("it ends");
    cluster.with(DEPLOYMENT, "apply -f -").succeeds_with("created");
    let condition = r#"{"status":{"conditions":[{"type":"Available","status":"True","lastUpdateTime":"2026-01-01T00:00:00Z","lastTransitionTime":"2026-01-01T00:00:00Z"}]}}"#;
    if cluster.is_client_since(24) {
        cluster
            .kubectl(&format!("patch deployment web --subresource=status --type=merge -p '{condition}'"))
            .succeeds_with("patched");
        cluster
            .kubectl("wait deployment/web --for=condition=Available --timeout=30s")
            .succeeds_with("condition met");
    }
    cluster.kubectl("delete deployments --all").succeeds_with("deleted");
    cluster.kubectl("get deployment web").fails_with("NotFound");
    cluster.kubectl("delete configmap nope").fails_with("NotFound");
    cluster.kubectl("delete configmap nope --ignore-not-found").succeeds_with("");
}
