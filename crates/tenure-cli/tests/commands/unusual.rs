//! What a new user meets on the first day: other servers, busy controllers, objects that are gone.

use crate::harness::{DEPLOYMENT, TestCluster};
use std::{
    sync::atomic::{AtomicBool, Ordering},
    thread,
};

const WEB: &str = "/apis/apps/v1/namespaces/default/deployments/web";

#[test]
fn permissions_of_fields_are_asked_of_any_server() {
    let cluster = TestCluster::start_with(&["--compatibility", "kubernetes"]);
    let line = ["can-i", "patch", "deployment/web", "--field", ".spec.replicas"];
    let output = cluster.tenure(&line).exits_with(0);
    assert!(output.out.starts_with("yes - "), "with a reason: {output:?}");
    let cluster = TestCluster::start();
    cluster.tenure(&line).exits_with(0).prints("yes - ");
}

#[test]
fn a_plan_beside_a_busy_controller_shows_only_its_own_changes() {
    let cluster = TestCluster::start();
    let file = cluster.file("web.yaml", DEPLOYMENT);
    cluster.tenure(&["apply", "-f", &file]).exits_with(0);
    let stop = AtomicBool::new(false);
    // Two controllers, which also take the fields of the status from each other.
    let write = |controller: &str| {
        for number in 0.. {
            if stop.load(Ordering::Relaxed) {
                break;
            }
            let status =
                format!("{{\"status\":{{\"observedGeneration\":{number},\"replicas\":{}}}}}", number % 7);
            let path = format!("{WEB}/status?fieldManager={controller}");
            assert_eq!(cluster.request("PATCH", &path, "application/merge-patch+json", &status).0, 200);
        }
    };
    thread::scope(|scope| {
        scope.spawn(|| write("one"));
        scope.spawn(|| write("other"));
        let outputs: Vec<_> = (0..6).map(|_| cluster.tenure(&["plan", "-f", &file])).collect();
        stop.store(true, Ordering::Relaxed);
        for output in outputs {
            assert!(output.code == Some(0) && !output.out.contains(".status"), "{output:#?}");
        }
    });
}

#[test]
fn what_the_server_does_not_know_is_told_with_what_it_has() {
    let cluster = TestCluster::start_with(&["--compatibility", "kubernetes"]);
    for (manifest, told) in [
        (DEPLOYMENT.replace("kind: Deployment", "kind: Deploymnt"), "did you mean \"Deployment\"?"),
        (
            DEPLOYMENT.replace("apps/v1", "apps/v1beta1"),
            "no kind Deployment in apps/v1beta1, only in apps/v1;",
        ),
        (DEPLOYMENT.replace("replicas:", "replica:"), "did you mean .spec.replicas?"),
    ] {
        cluster.with(&manifest, &["plan", "-f", "-", "--width", "400"]).exits_with(1).prints(told);
    }
    let output = cluster.tenure(&["blame", "deployment/web", "--context", "tenur"]).exits_with(1);
    assert!(output.err.contains("did you mean \"tenure\"? Set KUBECONFIG"), "{output:?}");
}

#[test]
fn a_dry_run_that_succeeds_exits_with_zero() {
    let cluster = TestCluster::start();
    cluster.with(DEPLOYMENT, &["apply", "-f", "-"]).exits_with(0);
    assert_eq!(cluster.request("DELETE", WEB, "", "").0, 200);
    cluster.tenure(&["restore", "deployment/web", "--dry-run"]).exits_with(0).prints("replicas: 2");
}

#[test]
fn without_history_the_commands_say_what_to_start() {
    let cluster = TestCluster::start_with(&["--history=false"]);
    cluster.with(DEPLOYMENT, &["apply", "-f", "-"]).exits_with(0);
    for line in [
        &["fights"][..],
        &["top"],
        &["log", "deployment/web"],
        &["log", "deployment", "web", ".spec.replicas"],
        &["diff", "deployment/web"],
        &["blame", "deployment/web", "--at", "10m"],
        &["undo", "deployment/web"],
        &["restore", "deployment/gone"],
    ] {
        cluster.tenure(line).exits_with(1).fails_with("keeps no history; start `tenure record`");
    }
}

#[test]
fn the_last_change_is_shown_without_a_moment() {
    let cluster = TestCluster::start();
    cluster.with(DEPLOYMENT, &["apply", "-f", "-"]).exits_with(0);
    cluster
        .tenure(&["diff", "deployment/web"])
        .exits_with(1)
        .fails_with("has not changed since it was created");
    let other = DEPLOYMENT.replace("replicas: 2", "replicas: 3");
    cluster.with(&other, &["apply", "-f", "-"]).exits_with(0);
    let output = cluster.tenure(&["diff", "deployment/web"]).exits_with(2);
    assert_eq!(output.out, "    - .spec.replicas: 2\n    + .spec.replicas: 3\n");
}

#[test]
fn manifests_come_from_addresses_and_kustomizations() {
    let cluster = TestCluster::start();
    cluster.with(DEPLOYMENT, &["apply", "-f", "-"]).exits_with(0);
    // The server itself is a server of documents.
    let url = format!("{}{WEB}", cluster.server.address.replace("127.0.0.1", "localhost"));
    cluster.tenure(&["blame", "-f", &url]).exits_with(0).prints("replicas: 2");
    cluster
        .tenure(&["plan", "-f", &format!("{}/nowhere", cluster.server.address)])
        .exits_with(1)
        .fails_with("404");
    cluster.file("base/kustomization.yaml", "namePrefix: my-\nresources: [map.yaml]\n");
    cluster.file("base/map.yaml", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata: {k: v}\n");
    let directory = cluster.home.path().join("base");
    cluster
        .tenure(&["apply", "-k", &directory.to_string_lossy()])
        .exits_with(0)
        .prints("configmap/my-a in default: create");
}

#[test]
fn a_user_can_act_as_another() {
    let cluster = TestCluster::start();
    cluster.with(DEPLOYMENT, &["apply", "-f", "-"]).exits_with(0);
    cluster.tenure(&["blame", "deploy/web", "--as-group", "g"]).exits_with(1).fails_with("--as USER");
    cluster.tenure(&["blame", "deploy/web", "--as", "jane", "--as-group", "g", "--token", "x"]);
}

#[test]
fn many_unchanged_objects_are_only_counted() {
    let cluster = TestCluster::start();
    let map = |number: usize, value: &str| {
        format!("apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: m{number}}}\ndata: {{k: {value}}}\n---\n")
    };
    let all: String = (0..30).map(|number| map(number, "v")).collect();
    cluster.with(&all, &["apply", "-f", "-"]).exits_with(0);
    let changed = all.replacen("k: v", "k: w", 1);
    let output = cluster.with(&changed, &["plan", "-f", "-"]).exits_with(2);
    assert_eq!(output.out.matches("configmap/").count(), 1, "{}", output.out);
    output.prints("30 objects: 1 to change, 29 unchanged");
    let output = cluster.with(&changed, &["plan", "-f", "-", "--show-unchanged"]).exits_with(2);
    assert_eq!(output.out.matches("configmap/").count(), 30);
}

#[test]
fn as_a_plugin_of_kubectl_it_is_called_so() {
    let cluster = TestCluster::start();
    cluster.with(DEPLOYMENT, &["apply", "-f", "-"]).exits_with(0);
    let plugin = cluster.home.path().join("kubectl-tenure");
    std::os::unix::fs::symlink(env!("CARGO_BIN_EXE_tenure"), &plugin).expect("a link");
    let completions = cluster.tenure(&["completions", "kubectl"]).exits_with(0).out;
    std::fs::write(cluster.home.path().join("kubectl_complete-tenure"), completions).expect("a file");
    let path = format!("{}:{}", cluster.home.path().display(), std::env::var("PATH").unwrap_or_default());
    let kubectl = |line: &[&str]| {
        let mut command = std::process::Command::new("kubectl");
        command.arg("tenure").args(line).env("PATH", &path).env("HOME", cluster.home.path());
        crate::process::run(command.env("KUBECONFIG", cluster.server.kubeconfig()), "")
    };
    kubectl(&["blame", "--help"])
        .exits_with(0)
        .prints("Usage: kubectl tenure blame")
        .prints("  kubectl tenure blame ");
    kubectl(&["blame"]).exits_with(1);
    for line in [&["-n", "default", "blame", "deploy/web"][..], &["blame", "deploy/web", "-n", "default"]] {
        kubectl(line).exits_with(0).prints("replicas: 2");
    }
    kubectl(&["-n", "nowhere", "blame", "deploy/web"]).exits_with(1).prints("not found in namespace nowhere");
    let mut complete = std::process::Command::new("sh");
    complete.arg(cluster.home.path().join("kubectl_complete-tenure")).args([
        "-n",
        "default",
        "blame",
        "deployment/w",
    ]);
    complete.env("PATH", &path).env("KUBECONFIG", cluster.server.kubeconfig());
    crate::process::run(&mut complete, "").exits_with(0).prints("deployment/web\n:4");
}
