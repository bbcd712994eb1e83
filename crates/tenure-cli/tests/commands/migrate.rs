//! The way from client-side to server-side apply, with and without `tenure migrate`.

use crate::harness::TestCluster;
use std::process::Command;
use tenure_value::Value;

const MAP: &str = "/api/v1/namespaces/default/configmaps/c";

fn map(data: &str) -> String {
    format!("apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: c}}\ndata: {data}\n")
}

/// Returns a cluster in which `kubectl apply` has created an object client-side; `None` for a client that is too old.
fn cluster() -> Option<TestCluster> {
    let output =
        crate::process::run(Command::new("kubectl").args(["version", "--client", "-o", "json"]), "").out;
    let minor = output
        .split("\"minor\": \"")
        .nth(1)
        .and_then(|rest| rest.split(['"', '+']).next()?.parse::<u32>().ok());
    if minor.is_some_and(|minor| minor < 27) {
        println!("kubectl 1.{} is too old for this test", minor.unwrap_or_default());
        return None;
    }
    let cluster = TestCluster::start();
    cluster.kubectl(&map("{stays: x, goes: z}"), &["apply", "-f", "-"]).succeeds_with("created");
    assert_eq!(cluster.managers(MAP), ["kubectl-client-side-apply Update"]);
    Some(cluster)
}

fn data(cluster: &TestCluster) -> String {
    cluster.get(MAP).get("data").map(ToString::to_string).unwrap_or_default()
}

#[test]
fn without_migration_an_omitted_field_is_never_removed() {
    let Some(cluster) = cluster() else { return };
    // What a controller or another client does: apply on the server in its own name.
    let apply = format!("{MAP}?fieldManager=controller");
    let (code, _) =
        cluster.request("PATCH", &apply, "application/apply-patch+yaml", &map("{stays: x, goes: z}"));
    assert_eq!(code, 200);
    let (code, _) = cluster.request("PATCH", &apply, "application/apply-patch+yaml", &map("{stays: x}"));
    assert_eq!(code, 200);
    assert_eq!(data(&cluster), r#"{"goes":"z","stays":"x"}"#, "the removed field stays");
    assert_eq!(cluster.managers(MAP), ["controller Apply", "kubectl-client-side-apply Update"]);
    // The plan reports it, with the fix.
    cluster
        .with(&map("{stays: x}"), &["plan", "-f", "-", "--manager", "controller"])
        .prints("= .data.goes is not in the manifest but stays")
        .prints("tenure migrate configmap/c");
}

#[test]
fn after_migration_it_is_removed_and_one_manager_remains() {
    let Some(cluster) = cluster() else { return };
    let preview = cluster.tenure(&["migrate", "cm/c", "--dry-run"]).exits_with(0);
    preview.prints("kubectl (Apply) gains .data.goes").prints("- .metadata.annotations");
    cluster.tenure(&["migrate", "cm/c", "--yes", "--undo", "undo.json"]).exits_with(0);
    assert_eq!(cluster.managers(MAP), ["kubectl Apply"]);
    assert_eq!(cluster.get(MAP).at(["metadata", "annotations"]), None);
    cluster.with(&map("{stays: x}"), &["apply", "-f", "-"]).exits_with(0).prints("- .data.goes: \"z\"");
    assert_eq!(data(&cluster), r#"{"stays":"x"}"#);
    assert_eq!(cluster.managers(MAP), ["kubectl Apply"]);
    cluster.tenure(&["migrate", "cm/c", "--yes"]).exits_with(0).prints("nothing to do");
    // The same manager applies with kubectl.
    cluster.kubectl(&map("{}"), &["apply", "--server-side", "-f", "-"]).succeeds_with("serverside-applied");
    assert_eq!(data(&cluster), "");
}

#[test]
fn an_object_that_is_already_in_trouble_is_mended() {
    let Some(cluster) = cluster() else { return };
    let apply = format!("{MAP}?fieldManager=controller");
    cluster.request("PATCH", &apply, "application/apply-patch+yaml", &map("{stays: x}"));
    let file = cluster.file("c.yaml", &map("{stays: x}"));
    cluster.tenure(&["migrate", "-f", &file, "--to", "controller", "--yes"]).exits_with(0);
    assert_eq!(cluster.managers(MAP), ["controller Apply"]);
    cluster.tenure(&["apply", "-f", &file, "--manager", "controller"]).exits_with(0);
    assert_eq!(data(&cluster), r#"{"stays":"x"}"#);
}

#[test]
fn a_migration_can_be_taken_back() {
    let Some(cluster) = cluster() else { return };
    let before = cluster.get(MAP);
    cluster.tenure(&["migrate", "cm/c", "--yes", "--undo", "undo.json"]).exits_with(0);
    cluster.tenure(&["undo", "undo.json"]).exits_with(0);
    let after = cluster.get(MAP);
    for place in ["managedFields", "annotations"] {
        assert_eq!(after.at(["metadata", place]), before.at(["metadata", place]), "{place}");
    }
    assert!(after.at(["metadata", "annotations"]).and_then(Value::as_object).is_some());
}
