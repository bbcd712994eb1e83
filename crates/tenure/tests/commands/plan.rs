//! `tenure plan`.

use crate::harness::{DEPLOYMENT, World, offline, sample, snapshot};
use tenure_value::Value;

#[test]
fn a_plan_shows_changes_owners_and_warnings() {
    let line = ["plan", "-f", &sample("manifest.yaml"), "--live", &sample("live.yaml")];
    let said = offline(&line, "").ends(2);
    snapshot("plan.txt", &said.out);
    snapshot("plan-colours.txt", &offline(&[&line[..], &["--color", "always"]].concat(), "").out);
    snapshot("plan.json", &offline(&[&line[..], &["-o", "json"]].concat(), "").ends(2).out);
    let conflicts = offline(&[&line[..], &["--manager", "other"]].concat(), "").ends(3);
    snapshot("plan-conflicts.txt", &conflicts.out);
    let forced = offline(&[&line[..], &["--manager", "other", "--force-conflicts"]].concat(), "").ends(2);
    forced.mentions("loses .spec.replicas");
}

#[test]
fn the_code_tells_scripts_how_it_ends() {
    let world = World::start();
    let plan = |text: &str, more: &[&str]| world.with(text, &[&["plan", "-f", "-"], more].concat());
    plan(DEPLOYMENT, &[])
        .ends(2)
        .mentions("deployment.apps/web in default: create")
        .mentions("1 object: 1 to create");
    world.with(DEPLOYMENT, &["apply", "-f", "-"]).ends(0);
    plan(DEPLOYMENT, &[]).ends(0).mentions("unchanged");
    let more = DEPLOYMENT.replace("replicas: 2", "replicas: 3");
    plan(&more, &[]).ends(2).mentions("~ .spec.replicas: 2 → 3");
    let conflict = plan(&more, &["--manager", "bob"]).ends(3);
    conflict.mentions("! .spec.replicas: 2 → 3").mentions("owned by kubectl (Apply");
    plan(&more, &["--manager", "bob", "--force-path", ".spec.replicas"])
        .ends(2)
        .mentions("bob gains .spec.replicas");
    plan(&DEPLOYMENT.replace("replicas: 2", "replicas: many"), &[]).ends(1).mentions("refused");
    plan("apiVersion: x.io/v1\nkind: Nope\nmetadata: {name: none}\n", &[]).ends(1).mentions("no kind Nope");
    plan("kind: X\n", &[]).ends(1).mentions("apiVersion is missing");
    world.tenure(&["plan", "--bogus"]).ends(1);
    // Nothing of all this was written.
    let live = world.get("/apis/apps/v1/namespaces/default/deployments/web");
    assert_eq!(live.at(["spec", "replicas"]), Some(&Value::Int(2)));
}

#[test]
fn what_is_left_out_but_held_by_another_is_told() {
    let world = World::start();
    let map = |data: &str| format!("apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: c}}\ndata: {data}\n");
    world.with(&map("{a: x, b: z}"), &["apply", "-f", "-", "--manager", "alice"]).ends(0);
    world.with(&map("{b: z}"), &["apply", "-f", "-", "--manager", "bob"]).ends(0);
    let said = world.with(&map("{a: x}"), &["plan", "-f", "-", "--manager", "alice"]).ends(2);
    said.mentions("= .data.b is not in the manifest but stays: owned by bob (Apply");
}

#[test]
fn objects_that_come_with_their_namespace_or_definition_can_be_planned() {
    let world = World::start();
    let all = "\
apiVersion: v1
kind: ConfigMap
metadata: {name: c, namespace: new}
data: {k: v}
---
apiVersion: v1
kind: Namespace
metadata: {name: new, labels: {team: a}}
---
apiVersion: x.io/v1
kind: Widget
metadata: {name: w, namespace: new}
spec: {size: 1}
---
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: widgets.x.io}
spec:
  group: x.io
  names: {kind: Widget, plural: widgets, singular: widget}
  scope: Namespaced
  versions:
  - name: v1
    served: true
    storage: true
    schema: {openAPIV3Schema: {type: object, properties: {spec: {type: object, properties: {size: {type: integer}}}}}}
";
    world.with(all, &["plan", "-f", "-"]).ends(2).mentions("4 objects: 4 to create");
    world.with(all, &["apply", "-f", "-", "--dry-run"]).ends(0).mentions("4 objects: 4 planned");
    world.with(all, &["apply", "-f", "-"]).ends(0).mentions("4 objects: 4 applied");
    world.with(all, &["plan", "-f", "-"]).ends(0).mentions("4 objects: 4 unchanged");
    let said = world.tenure(&["blame", "widget/w", "-n", "new"]).says("size: 1");
    assert!(
        said.out.lines().any(|row| row.starts_with("kubectl") && row.ends_with("size: 1")),
        "{}",
        said.out
    );
}

#[test]
fn secrets_are_not_shown() {
    let world = World::start();
    let secret = |value: &str| {
        format!("apiVersion: v1\nkind: Secret\nmetadata: {{name: s}}\nstringData: {{key: {value}}}\n")
    };
    world.with(&secret("hunter2"), &["apply", "-f", "-"]).ends(0);
    for format in ["text", "json"] {
        let said = world.with(&secret("hunter3"), &["plan", "-f", "-", "-o", format]).ends(2).mentions("***");
        assert!(!said.out.contains("hunter") && !said.out.contains("aHVudGVy"), "{}", said.out);
    }
}
