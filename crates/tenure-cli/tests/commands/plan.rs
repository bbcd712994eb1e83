//! `tenure plan`.

use crate::harness::{DEPLOYMENT, TestCluster, offline, sample, snapshot, tenure};
use tenure_value::Value;

#[test]
fn a_plan_shows_changes_owners_and_warnings() {
    let line = ["plan", "-f", &sample("manifest.yaml"), "--live", &sample("live.yaml")];
    // Somebody else owns the field, which is not set: for Kubernetes that is a conflict over a zero value.
    offline(&line, "")
        .exits_with(3)
        .prints("the manifest writes the zero or default value of .spec.paused out");
    let line = [&line[..], &["--force-path", ".spec.paused"]].concat();
    let output = offline(&line, "").exits_with(2);
    snapshot("plan.txt", &output.out);
    snapshot("plan-colours.txt", &offline(&[&line[..], &["--color", "always"]].concat(), "").out);
    snapshot("plan.json", &offline(&[&line[..], &["-o", "json"]].concat(), "").exits_with(2).out);
    let line = &line[..5];
    // Commands to paste name the file as it was typed, and are broken for its length.
    let mut command = tenure(&["plan", "-f", "manifest.yaml", "--live", "live.yaml", "--manager", "other"]);
    let conflicts = crate::process::run(command.current_dir(sample("")), "").exits_with(3);
    snapshot("plan-conflicts.txt", &conflicts.out);
    let forced = offline(&[line, &["--manager", "other", "--force-conflicts"]].concat(), "").exits_with(2);
    forced.prints("loses .spec.replicas");
}

#[test]
fn the_exit_code_is_the_outcome() {
    let cluster = TestCluster::start();
    let plan = |text: &str, more: &[&str]| cluster.with(text, &[&["plan", "-f", "-"], more].concat());
    plan(DEPLOYMENT, &[])
        .exits_with(2)
        .prints("deployment.apps/web in default: create")
        .prints("1 object: 1 to create");
    cluster.with(DEPLOYMENT, &["apply", "-f", "-"]).exits_with(0);
    plan(DEPLOYMENT, &[]).exits_with(0).prints("unchanged");
    let more = DEPLOYMENT.replace("replicas: 2", "replicas: 3");
    plan(&more, &[]).exits_with(2).prints("~ .spec.replicas: 2 → 3");
    let conflict = plan(&more, &["--manager", "bob"]).exits_with(3);
    conflict.prints("! .spec.replicas: 2 → 3").prints("owned by kubectl (Apply");
    plan(&more, &["--manager", "bob", "--force-path", ".spec.replicas"])
        .exits_with(2)
        .prints("bob gains .spec.replicas");
    plan(&DEPLOYMENT.replace("replicas: 2", "replicas: many"), &[]).exits_with(1).prints("refused");
    plan("apiVersion: x.io/v1\nkind: Nope\nmetadata: {name: none}\n", &[])
        .exits_with(1)
        .prints("no kind Nope");
    plan("kind: X\n", &[]).exits_with(1).prints("apiVersion is missing");
    cluster.tenure(&["plan", "--bogus"]).exits_with(1);
    // None of this was written.
    let live = cluster.get("/apis/apps/v1/namespaces/default/deployments/web");
    assert_eq!(live.at(["spec", "replicas"]), Some(&Value::Int(2)));
}

#[test]
fn omitted_fields_that_another_manager_owns_are_reported() {
    let cluster = TestCluster::start();
    let map = |data: &str| format!("apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: c}}\ndata: {data}\n");
    cluster.with(&map("{a: x, b: z}"), &["apply", "-f", "-", "--manager", "alice"]).exits_with(0);
    cluster.with(&map("{b: z}"), &["apply", "-f", "-", "--manager", "bob"]).exits_with(0);
    let output = cluster.with(&map("{a: x}"), &["plan", "-f", "-", "--manager", "alice"]).exits_with(2);
    output.prints("= .data.b is not in the manifest but stays: owned by bob (Apply");
}

#[test]
fn objects_that_come_with_their_namespace_or_definition_can_be_planned() {
    let cluster = TestCluster::start();
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
    cluster.with(all, &["plan", "-f", "-"]).exits_with(2).prints("4 objects: 4 to create");
    cluster.with(all, &["apply", "-f", "-", "--dry-run"]).exits_with(0).prints("4 objects: 4 planned");
    cluster.with(all, &["apply", "-f", "-"]).exits_with(0).prints("4 objects: 4 applied");
    cluster.with(all, &["plan", "-f", "-"]).exits_with(0).prints("4 objects: 4 unchanged");
    let output = cluster.tenure(&["blame", "widget/w", "-n", "new"]).succeeds_with("size: 1");
    assert!(
        output.out.lines().any(|row| row.starts_with("kubectl") && row.ends_with("size: 1")),
        "{}",
        output.out
    );
}

#[test]
fn secrets_are_not_shown() {
    let cluster = TestCluster::start();
    let secret = |value: &str| {
        format!("apiVersion: v1\nkind: Secret\nmetadata: {{name: s}}\nstringData: {{key: {value}}}\n")
    };
    cluster.with(&secret("hunter2"), &["apply", "-f", "-"]).exits_with(0);
    for format in ["text", "json"] {
        let output =
            cluster.with(&secret("hunter3"), &["plan", "-f", "-", "-o", format]).exits_with(2).prints("***");
        assert!(!output.out.contains("hunter") && !output.out.contains("aHVudGVy"), "{}", output.out);
    }
}

#[test]
fn a_generated_manifest_is_warned_of_what_its_apply_owns_and_of_nothing_else() {
    let cluster = TestCluster::start();
    // As `kubectl create deployment --dry-run=client -o yaml` writes it.
    let generated = "apiVersion: apps/v1\nkind: Deployment\nmetadata: {creationTimestamp: null, labels: {app: web}, name: web}\nspec:\n  \
        replicas: 1\n  selector: {matchLabels: {app: web}}\n  strategy: {}\n  template:\n    metadata: {creationTimestamp: null, labels: {app: web}}\n    \
        spec: {containers: [{image: nginx, name: nginx, resources: {}}]}\nstatus: {}\n";
    let plan =
        cluster.with(generated, &["plan", "-f", "-", "--manager", "ci", "-o", "json"]).exits_with(2).json();
    let zeros = plan.at(["plans"]).and_then(Value::as_array).and_then(|plans| plans.iter().next()).cloned();
    let zeros = zeros.and_then(|plan| plan.get("zeros").cloned()).unwrap_or_default();
    let paths: Vec<&str> =
        zeros.as_array().into_iter().flatten().filter_map(|zero| zero.get("path")?.as_str()).collect();
    let resources = r#".spec.template.spec.containers[name="nginx"].resources"#;
    assert_eq!(paths, [".spec.strategy", ".spec.template.metadata.creationTimestamp", resources]);
    cluster.with(generated, &["apply", "-f", "-", "--manager", "ci"]).exits_with(0);
    let nothing = cluster.tenure(&["migrate", "deployment/web", "--dry-run"]);
    assert!(nothing.out.contains("its managers are ci (Apply)"), "{nothing:#?}");
}
