//! `tenure why`.

use crate::harness::{TestCluster, offline, sample, snapshot};

#[test]
fn a_field_is_explained() {
    let live = sample("live.yaml");
    let why = |path: &str| offline(&["why", "-f", &live, path], "").succeeds_with("").out;
    snapshot("why-replicas.txt", &why(".spec.replicas"));
    snapshot("why-label.txt", &why(".metadata.labels.app"));
    snapshot("why-atomic.txt", &why(".spec.selector.matchLabels.app"));
    snapshot("why-entry.txt", &why(r#".spec.template.spec.containers[name="web"].image"#));
    snapshot("why-default.txt", &why(".spec.progressDeadlineSeconds"));
    snapshot(
        "why.json",
        &offline(&["why", "-f", &live, ".spec.replicas", "-o", "json"], "").succeeds_with("").out,
    );
    offline(&["why", "-f", &live, ".spec.replicaz"], "").exits_with(1).fails_with(".spec.replicaz");
}

#[test]
fn the_effects_that_it_describes_are_those_of_writes() {
    let cluster = TestCluster::start();
    let map = |data: &str| format!("apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: c}}\ndata: {data}\n");
    let apply =
        |manager: &str, data: &str| cluster.with(&map(data), &["apply", "-f", "-", "--manager", manager]);
    let why = |path: &str| cluster.tenure(&["why", "cm/c", path, "--width", "160"]).succeeds_with("").out;
    apply("alice", "{a: x, b: z}").exits_with(0);
    apply("bob", "{b: z}").exits_with(0);
    let output = why(".data.b");
    assert!(
        output.contains("apply by alice without it") && output.contains("the value stays, owned by bob"),
        "{output}"
    );
    assert!(output.contains("conflicts with bob, alice"), "{output}");
    let output = why(".data.a");
    assert!(output.contains("removes it"), "{output}");
    apply("alice", "{}").exits_with(0);
    let live = cluster.get("/api/v1/namespaces/default/configmaps/c");
    assert_eq!(live.get("data").map(ToString::to_string).as_deref(), Some(r#"{"b":"z"}"#));
}
