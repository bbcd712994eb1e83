//! `tenure simulate`: one manifest, four ways.

use crate::harness::{sample, tenure, tenure_reading};
use tenure_value::Value;

#[test]
fn four_ways_are_shown_side_by_side() {
    tenure(&["simulate", "manifest.yaml", "live.yaml"]).exits_with(2).matches_snapshot("simulate.txt");
    tenure(&["simulate", "manifest.yaml", "live.yaml", "--color", "always"])
        .exits_with(2)
        .matches_snapshot("simulate-colours.txt");
    tenure(&["simulate", "manifest.yaml", "live.yaml", "--width", "60", "--force"])
        .exits_with(2)
        .matches_snapshot("simulate-narrow.txt");
}

#[test]
fn the_document_has_the_objects_and_what_differs() {
    let told = tenure(&["simulate", "manifest.yaml", "live.yaml", "-o", "json"]).exits_with(2).json();
    let methods = told.get("methods").and_then(Value::as_array).cloned().unwrap_or_default();
    let names: Vec<&str> = methods.iter().filter_map(|method| method.get("method")?.as_str()).collect();
    assert_eq!(names, ["client-side apply", "strategic merge", "JSON merge", "server-side apply"]);
    let conflicts =
        methods.iter().last().and_then(|method| method.at(["refused", "conflicts"])?.as_array().cloned());
    assert!(
        conflicts
            .is_some_and(|all| all.iter().any(|one| one.get("path") == Some(&Value::from(".spec.replicas")))),
        "{told}"
    );
}

#[test]
fn server_side_apply_takes_over_what_was_applied_on_the_client() {
    // The variable that the manifest no longer has is gone, as after `kubectl apply --server-side`.
    let told =
        tenure(&["simulate", "manifest.yaml", "live.yaml", "--force", "-o", "json"]).exits_with(2).json();
    let methods = told.get("methods").and_then(Value::as_array).cloned().unwrap_or_default();
    let server_side =
        methods.iter().last().and_then(|method| method.get("object")).cloned().unwrap_or_default();
    let containers = server_side.at(["spec", "template", "spec", "containers"]).cloned().unwrap_or_default();
    assert!(containers.to_string().contains(r#""env":[{"name":"MODE","value":"fast"}]"#), "{containers}");
    let owners = server_side.at(["metadata", "managedFields"]).cloned().unwrap_or_default().to_string();
    assert!(
        owners.contains("kubectl-last-applied") && !owners.contains("kubectl-client-side-apply"),
        "{owners}"
    );
    // Another manager takes it over, too, but does not keep the annotation.
    let told =
        tenure(&["simulate", "manifest.yaml", "live.yaml", "--force", "--manager", "ci", "-o", "json"])
            .json();
    let methods = told.get("methods").and_then(Value::as_array).cloned().unwrap_or_default();
    let metadata = methods
        .iter()
        .last()
        .and_then(|method| method.at(["object", "metadata"]))
        .cloned()
        .unwrap_or_default();
    assert!(
        metadata.get("annotations").is_none() && metadata.to_string().contains(r#""manager":"ci""#),
        "{metadata}"
    );
}

#[test]
fn a_manifest_that_equals_the_live_object_changes_nothing() {
    let manifest = "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web, namespace: shop}\nspec: {replicas: 5}\n";
    let told = tenure_reading(
        &["simulate", "-", "live.yaml", "--manager", "hpa", "-o", "json"],
        manifest.as_bytes(),
    );
    let rows = told.json().get("differences").and_then(Value::as_array).cloned().unwrap_or_default();
    let other_ways =
        rows.iter().filter(|row| row.get("path") == Some(&Value::from(".spec.replicas"))).count();
    assert_eq!(other_ways, 0, "{}", told.text());
}

#[test]
fn custom_resources_follow_their_definition() {
    let manifest = sample("cog.yaml").replace("colour: blue", "colour: green");
    let manifest: String =
        manifest.lines().filter(|line| !line.contains("wheel")).map(|line| format!("{line}\n")).collect();
    let line =
        ["simulate", "-", "cog-live.yaml", "--schema", "widget-crd-keyed.yaml", "--manager", "designer"];
    tenure_reading(&line, manifest.as_bytes()).exits_with(2).matches_snapshot("simulate-custom.txt");
    let output = tenure_reading(&line[..3], manifest.as_bytes()).exits_with(1);
    assert!(output.err.contains("give its definition with --schema FILE"), "{}", output.err);
}

#[test]
fn what_is_not_the_same_object_is_refused() {
    let output = tenure(&["simulate", "manifest.yaml", "service.yaml"]).exits_with(1);
    assert!(output.err.contains("both must have the same kind and version"), "{}", output.err);
    let output = tenure(&["simulate", "manifest.yaml", "bad-live.yaml"]).exits_with(1);
    assert!(output.err.contains("not a valid live object"), "{}", output.err);
}
