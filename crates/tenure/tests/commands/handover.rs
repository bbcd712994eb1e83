//! `tenure adopt`, `transfer`, `release` and `undo`.

use crate::harness::World;
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

fn world() -> World {
    let world = World::start();
    world.with(DEPLOYMENT, &["apply", "-f", "-", "--manager", "alice"]).ends(0);
    world
}

/// Returns an object without what every write changes.
fn settled(object: &Value) -> Value {
    let object = object.as_object().cloned().unwrap_or_default();
    let metadata = object.get("metadata").and_then(Value::as_object).cloned().unwrap_or_default();
    Value::Object(object.with("metadata", metadata.without("resourceVersion")))
}

#[test]
fn adopted_fields_go_when_the_heir_leaves_them_out() {
    let world = world();
    world
        .tenure(&["adopt", "deploy/web", "--from", "alice", "--to", "ci", "--dry-run"])
        .ends(0)
        .mentions("ci (Apply) gains .spec.replicas")
        .mentions("alice (Apply) loses .spec.replicas");
    assert_eq!(world.managers(WEB), ["alice Apply"], "a dry run changes nothing");
    world.tenure(&["adopt", "deploy/web", "--from", "alice", "--to", "ci"]).ends(1).fails("--yes");
    world
        .tenure(&["adopt", "deploy/web", "--from", "alice", "--to", "ci", "--yes"])
        .ends(0)
        .mentions("tenure undo");
    assert_eq!(world.managers(WEB), ["ci Apply"]);
    let less = DEPLOYMENT.replace("metadata: {name: web, labels: {app: web}}", "metadata: {name: web}");
    world.with(&less, &["apply", "-f", "-", "--manager", "ci"]).ends(0).mentions("- .metadata.labels.app");
    world
        .tenure(&["adopt", "deploy/web", "--from", "alice", "--to", "ci", "--yes"])
        .ends(0)
        .mentions("nothing to do");
}

#[test]
fn a_transferred_field_keeps_its_value_and_changes_hands() {
    let world = world();
    let line = ["transfer", "deploy/web", "--path", ".spec.replicas", "--to", "autoscaler", "--yes"];
    world.tenure(&line).ends(0).mentions("autoscaler (Apply) gains .spec.replicas");
    world.tenure(&["why", "deploy/web", ".spec.replicas"]).says("autoscaler by Apply");
    let without = DEPLOYMENT.replace("  replicas: 3\n", "");
    world.with(&without, &["apply", "-f", "-", "--manager", "alice"]).ends(0);
    assert_eq!(world.get(WEB).at(["spec", "replicas"]), Some(&Value::Int(3)), "it was not reset to 1");
    world
        .tenure(&["transfer", "deploy/web", "--path", ".spec.paused", "--to", "x", "--yes"])
        .ends(1)
        .fails("no selected manager owns .spec.paused");
    world
        .tenure(&["transfer", "deploy/web", "--path", ".spec.replicaz", "--to", "x", "--yes"])
        .ends(1)
        .fails("replicaz");
}

#[test]
fn a_released_field_goes_or_stays_as_it_is() {
    let world = world();
    world.tenure(&["release", "deploy/web", "--path", ".spec.replicas", "--keep-value", "--yes"]).ends(0);
    assert_eq!(world.get(WEB).at(["spec", "replicas"]), Some(&Value::Int(3)));
    world.tenure(&["why", "deploy/web", ".spec.replicas"]).says("no manager");
    // Whoever comes next takes it without a conflict.
    let seven = DEPLOYMENT.replace("replicas: 3", "replicas: 7");
    world.with(&seven, &["apply", "-f", "-", "--manager", "autoscaler"]).ends(0);
    assert_eq!(world.get(WEB).at(["spec", "replicas"]), Some(&Value::Int(7)));
    world.tenure(&["release", "deploy/web", "--path", ".metadata.labels.app", "--yes"]).ends(0);
    assert_eq!(world.get(WEB).at(["metadata", "labels"]), None);
}

#[test]
fn a_step_can_be_undone_unless_the_object_has_changed_since() {
    let world = world();
    let before = world.get(WEB);
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
    world.tenure(&release).ends(0).mentions("tenure undo u.json");
    assert_eq!(world.get(WEB).at(["spec", "replicas"]), Some(&Value::Int(1)), "the default");
    world.tenure(&["undo", "u.json"]).ends(0).mentions("deployment.apps/web: restored");
    let after = world.get(WEB);
    assert_eq!(after.at(["metadata", "managedFields"]), before.at(["metadata", "managedFields"]));
    assert_eq!(after.at(["metadata", "labels"]), before.at(["metadata", "labels"]));
    assert_eq!(after.get("spec"), before.get("spec"));
    world.tenure(&["undo", "u.json"]).ends(1).fails("run the command again with --rebase");
    let again =
        world.tenure(&["adopt", "deploy/web", "--from", "alice", "--to", "ci", "--yes", "--undo", "u.json"]);
    again.ends(1).fails("already exists");
    assert_eq!(settled(&world.get(WEB)), settled(&after));
    world.tenure(&["undo", &world.file("no.json", "{}")]).ends(1).fails("not an undo file");
}

#[test]
fn an_undo_after_a_later_write_follows_the_advice() {
    let world = world();
    let line = ["release", "deploy/web", "--path", ".metadata.labels", "--yes", "--undo", "u.json"];
    world.tenure(&line).ends(0);
    assert_eq!(world.get(WEB).at(["metadata", "labels"]), None);
    let later = r#"{"metadata":{"annotations":{"note":"later"}}}"#;
    let patched = format!("{WEB}?fieldManager=bob");
    assert_eq!(world.ask("PATCH", &patched, "application/merge-patch+json", later).0, 200);
    world.tenure(&["undo", "u.json"]).ends(1).fails("--rebase");
    world.tenure(&["undo", "u.json", "--rebase"]).ends(0).mentions("deployment.apps/web: restored");
    let after = world.get(WEB);
    assert_eq!(after.at(["metadata", "labels", "app"]), Some(&Value::from("web")));
    assert_eq!(after.at(["metadata", "annotations", "note"]), Some(&Value::from("later")));
    world.tenure(&["why", "deploy/web", ".metadata.labels.app"]).says("alice by Apply");
    world.tenure(&["why", "deploy/web", ".metadata.annotations.note"]).says("bob by Update");
}
