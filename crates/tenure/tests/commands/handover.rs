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

#[test]
fn adopted_fields_go_when_the_heir_leaves_them_out() {
    let world = world();
    world
        .tenure(&["adopt", "deploy/web", "--from", "alice", "--to", "ci", "--dry-run"])
        .ends(0)
        .mentions("ci (Apply) gains .spec.replicas")
        .mentions("alice (Apply) gives up .spec.replicas");
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
        .fails("nobody who is meant holds");
    world
        .tenure(&["transfer", "deploy/web", "--path", ".spec.replicaz", "--to", "x", "--yes"])
        .ends(1)
        .fails("replicaz");
}
