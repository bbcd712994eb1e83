//! `tenure adopt`, `transfer`, `release` and `undo`.

use crate::harness::TestCluster;
use tenure_value::Value;

const WEB: &str = "/apis/apps/v1/namespaces/default/deployments/web";
const DEPLOYMENT: &str = "\
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, labels: {app: web}}
spec:
  replicas: 3
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec: {containers: [{name: web, image: 'nginx:1'}]}
";

fn cluster() -> TestCluster {
    let cluster = TestCluster::start();
    cluster.with(DEPLOYMENT, &["apply", "-f", "-", "--manager", "alice"]).exits_with(0);
    cluster
}

/// Returns an object without what every write changes.
fn settled(object: &Value) -> Value {
    let object = object.as_object().cloned().unwrap_or_default();
    let metadata = object.get("metadata").and_then(Value::as_object).cloned().unwrap_or_default();
    Value::Object(object.with("metadata", metadata.without("resourceVersion")))
}

#[test]
fn adopted_fields_are_removed_when_the_new_manager_omits_them() {
    let cluster = cluster();
    cluster
        .tenure(&["adopt", "deploy/web", "--from", "alice", "--to", "ci", "--dry-run"])
        .exits_with(0)
        .prints("ci (Apply) gains .spec.replicas")
        .prints("alice (Apply) loses .spec.replicas");
    assert_eq!(cluster.managers(WEB), ["alice Apply"], "a dry run changes nothing");
    cluster
        .tenure(&["adopt", "deploy/web", "--from", "alice", "--to", "ci"])
        .exits_with(1)
        .fails_with("--yes");
    cluster
        .tenure(&["adopt", "deploy/web", "--from", "alice", "--to", "ci", "--yes"])
        .exits_with(0)
        .prints("tenure undo");
    assert_eq!(cluster.managers(WEB), ["ci Apply"]);
    let less = DEPLOYMENT.replace("metadata: {name: web, labels: {app: web}}", "metadata: {name: web}");
    cluster
        .with(&less, &["apply", "-f", "-", "--manager", "ci"])
        .exits_with(0)
        .prints("- .metadata.labels.app");
    cluster
        .tenure(&["adopt", "deploy/web", "--from", "alice", "--to", "ci", "--yes"])
        .exits_with(0)
        .prints("nothing to do");
}

#[test]
fn a_transferred_field_keeps_its_value_and_changes_hands() {
    let cluster = cluster();
    let line = ["transfer", "deploy/web", "--path", ".spec.replicas", "--to", "autoscaler", "--yes"];
    cluster.tenure(&line).exits_with(0).prints("autoscaler (Apply) gains .spec.replicas");
    cluster.tenure(&["why", "deploy/web", ".spec.replicas"]).succeeds_with("autoscaler by Apply");
    let without = DEPLOYMENT.replace("  replicas: 3\n", "");
    cluster.with(&without, &["apply", "-f", "-", "--manager", "alice"]).exits_with(0);
    assert_eq!(cluster.get(WEB).at(["spec", "replicas"]), Some(&Value::Int(3)), "it was not reset to 1");
    cluster
        .tenure(&["transfer", "deploy/web", "--path", ".spec.paused", "--to", "x", "--yes"])
        .exits_with(1)
        .fails_with("no selected manager owns .spec.paused");
    cluster
        .tenure(&["transfer", "deploy/web", "--path", ".spec.replicaz", "--to", "x", "--yes"])
        .exits_with(1)
        .fails_with("replicaz");
}

#[test]
fn a_released_field_is_removed_or_keeps_its_value() {
    let cluster = cluster();
    cluster
        .tenure(&["release", "deploy/web", "--path", ".spec.replicas", "--keep-value", "--yes"])
        .exits_with(0);
    assert_eq!(cluster.get(WEB).at(["spec", "replicas"]), Some(&Value::Int(3)));
    cluster.tenure(&["why", "deploy/web", ".spec.replicas"]).succeeds_with("no manager");
    // The next manager takes it without a conflict.
    let seven = DEPLOYMENT.replace("replicas: 3", "replicas: 7");
    cluster.with(&seven, &["apply", "-f", "-", "--manager", "autoscaler"]).exits_with(0);
    assert_eq!(cluster.get(WEB).at(["spec", "replicas"]), Some(&Value::Int(7)));
    cluster.tenure(&["release", "deploy/web", "--path", ".metadata.labels.app", "--yes"]).exits_with(0);
    assert_eq!(cluster.get(WEB).at(["metadata", "labels"]), None);
}

#[test]
fn a_step_can_be_undone_unless_the_object_has_changed_since() {
    let cluster = cluster();
    let before = cluster.get(WEB);
    let release = [
        "release",
        "deploy/web",
        "--path",
        ".metadata.labels",
        "--path",
        ".spec.replicas",
        "--yes",
        "--undo",
        "u.json",
    ];
    cluster.tenure(&release).exits_with(0).prints("tenure undo u.json");
    assert_eq!(cluster.get(WEB).at(["spec", "replicas"]), Some(&Value::Int(1)), "the default");
    cluster.tenure(&["undo", "u.json"]).exits_with(0).prints("deployment.apps/web: restored");
    let after = cluster.get(WEB);
    assert_eq!(after.at(["metadata", "managedFields"]), before.at(["metadata", "managedFields"]));
    assert_eq!(after.at(["metadata", "labels"]), before.at(["metadata", "labels"]));
    assert_eq!(after.get("spec"), before.get("spec"));
    cluster.tenure(&["undo", "u.json"]).exits_with(1).fails_with("run the command again with --rebase");
    let again = cluster.tenure(&[
        "adopt",
        "deploy/web",
        "--from",
        "alice",
        "--to",
        "ci",
        "--yes",
        "--undo",
        "u.json",
    ]);
    again.exits_with(1).fails_with("already exists");
    assert_eq!(settled(&cluster.get(WEB)), settled(&after));
    cluster.tenure(&["undo", &cluster.file("no.json", "{}")]).exits_with(1).fails_with("not an undo file");
}

#[test]
fn an_undo_after_a_later_write_follows_the_advice() {
    let cluster = cluster();
    let line = ["release", "deploy/web", "--path", ".metadata.labels", "--yes", "--undo", "u.json"];
    cluster.tenure(&line).exits_with(0);
    assert_eq!(cluster.get(WEB).at(["metadata", "labels"]), None);
    let later = r#"{"metadata":{"annotations":{"note":"later"}}}"#;
    let patched = format!("{WEB}?fieldManager=bob");
    assert_eq!(cluster.request("PATCH", &patched, "application/merge-patch+json", later).0, 200);
    cluster.tenure(&["undo", "u.json"]).exits_with(1).fails_with("--rebase");
    cluster.tenure(&["undo", "u.json", "--rebase"]).exits_with(0).prints("deployment.apps/web: restored");
    let after = cluster.get(WEB);
    assert_eq!(after.at(["metadata", "labels", "app"]), Some(&Value::from("web")));
    assert_eq!(after.at(["metadata", "annotations", "note"]), Some(&Value::from("later")));
    cluster.tenure(&["why", "deploy/web", ".metadata.labels.app"]).succeeds_with("alice by Apply");
    cluster.tenure(&["why", "deploy/web", ".metadata.annotations.note"]).succeeds_with("bob by Update");
}
