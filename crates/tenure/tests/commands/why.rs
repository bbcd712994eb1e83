//! `tenure why`.

use crate::harness::{World, offline, sample, snapshot};

#[test]
fn a_field_is_explained() {
    let live = sample("live.yaml");
    let why = |path: &str| offline(&["why", "-f", &live, path], "").says("").out;
    snapshot("why-replicas.txt", &why(".spec.replicas"));
    snapshot("why-label.txt", &why(".metadata.labels.app"));
    snapshot("why-atomic.txt", &why(".spec.selector.matchLabels.app"));
    snapshot("why-entry.txt", &why(r#".spec.template.spec.containers[name="web"].image"#));
    snapshot("why-default.txt", &why(".spec.progressDeadlineSeconds"));
    snapshot("why.json", &offline(&["why", "-f", &live, ".spec.replicas", "-o", "json"], "").says("").out);
    offline(&["why", "-f", &live, ".spec.replicaz"], "").ends(1).fails(".spec.replicaz");
}

#[test]
fn what_it_says_of_writes_is_what_happens() {
    let world = World::start();
    let map = |data: &str| format!("apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: c}}\ndata: {data}\n");
    let apply =
        |manager: &str, data: &str| world.with(&map(data), &["apply", "-f", "-", "--manager", manager]);
    let why = |path: &str| world.tenure(&["why", "cm/c", path]).says("").out;
    apply("alice", "{a: x, b: z}").ends(0);
    apply("bob", "{b: z}").ends(0);
    let said = why(".data.b");
    assert!(
        said.contains("apply by alice without it") && said.contains("the value stays, owned by bob"),
        "{said}"
    );
    assert!(said.contains("conflicts with bob, alice"), "{said}");
    let said = why(".data.a");
    assert!(said.contains("removes it"), "{said}");
    apply("alice", "{}").ends(0);
    let live = world.get("/api/v1/namespaces/default/configmaps/c");
    assert_eq!(live.get("data").map(ToString::to_string).as_deref(), Some(r#"{"b":"z"}"#));
}
