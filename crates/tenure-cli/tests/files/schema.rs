//! `tenure schema`: show, audit, diff.

use crate::harness::{sample, tenure, tenure_reading};
use tenure_value::Value;

#[test]
fn effects_of_writes_are_described() {
    tenure(&["schema", "show", "Service.spec.ports"]).exits_with(0).matches_snapshot("schema-show.txt");
    tenure(&["schema", "show", "Service.spec.ports", "--color", "always", "--width", "60"])
        .exits_with(0)
        .matches_snapshot("schema-show-colours.txt");
    tenure(&["schema", "show", "Deployment.spec.strategy", "--depth", "2"])
        .exits_with(0)
        .matches_snapshot("schema-show-depth.txt");
    let told = tenure(&["schema", "show", "deploy.spec.template.spec.containers", "-o", "json"])
        .exits_with(0)
        .json();
    assert_eq!(told.get("kind"), Some(&Value::from("Deployment")));
    assert_eq!(told.get("path"), Some(&Value::from(".spec.template.spec.containers")));
    assert!(told.get("fields").and_then(Value::as_array).is_some_and(|fields| fields.len() > 20));
}

#[test]
fn entries_that_are_atomic_are_owned_as_units() {
    let output =
        tenure(&["schema", "show", "Pod.spec.imagePullSecrets", "--width", "200"]).exits_with(0).text();
    assert!(
        output.contains(
            "a list keyed by name (default \"\"); each entry is atomic: owned and replaced as a unit"
        ),
        "{output}"
    );
    let output = tenure(&["schema", "show", "Pod.spec.containers", "--width", "200"]).exits_with(0).text();
    assert!(output.contains("each field of each entry is owned separately"), "{output}");
}

#[test]
fn kinds_of_definitions_are_shown_too() {
    let output =
        tenure(&["schema", "show", "widgets.spec.parts", "--schema", "widget-crd-keyed.yaml"]).exits_with(0);
    assert!(output.text().contains("a list keyed by name"), "{}", output.text());
    let output = tenure(&["schema", "show", "Widget.spec.sise", "--schema", "widget-crd.yaml"]).exits_with(1);
    assert!(output.err.contains("did you mean \"size\"?"), "{}", output.err);
    let output = tenure(&["schema", "show", "Widget"]).exits_with(1);
    assert!(output.err.contains("--schema FILE"), "{}", output.err);
}

#[test]
fn weak_keys_are_found_with_what_would_be_better() {
    tenure(&["schema", "audit"]).exits_with(2).matches_snapshot("schema-audit.txt");
    tenure(&["schema", "audit", "--schema", "loose-crd.yaml"])
        .exits_with(2)
        .matches_snapshot("schema-audit-custom.txt");
    tenure(&["schema", "audit", "--schema", "loose-crd.yaml", "--color", "always"])
        .exits_with(2)
        .matches_snapshot("schema-audit-colours.txt");
    let output = tenure_reading(
        &["schema", "audit", "--schema", "-", "-o", "json"],
        sample("widget-crd-keyed.yaml").as_bytes(),
    );
    assert_eq!(output.exits_with(0).json(), Value::array([]));
    let all = tenure(&["schema", "audit", "-o", "json"]).exits_with(2).json();
    let ports = all.as_array().and_then(|all| {
        all.iter()
            .find(|weak| {
                weak.get("type").and_then(Value::as_str).is_some_and(|ty| ty.ends_with("ServiceSpec"))
            })
            .cloned()
    });
    assert_eq!(
        ports.and_then(|weak| weak.get("recommendedKeys").map(Value::to_string)).as_deref(),
        Some(r#"["port","protocol"]"#)
    );
}

#[test]
fn a_changed_definition_is_shown_with_the_affected_managers() {
    let objects = ["schema", "diff", "widget-crd.yaml", "widget-crd-keyed.yaml", "--objects", "widgets.yaml"];
    tenure(&objects).exits_with(2).matches_snapshot("schema-diff.txt");
    tenure(&[&objects[..], &["--color", "always"]].concat())
        .exits_with(2)
        .matches_snapshot("schema-diff-colours.txt");
    let told = tenure(&[&objects[..], &["-o", "json"]].concat()).exits_with(2).json();
    let changes = told
        .as_array()
        .and_then(|kinds| kinds.first()?.get("changes")?.as_array().cloned())
        .unwrap_or_default();
    assert_eq!(changes.len(), 2);
    tenure(&["schema", "diff", "widget-crd.yaml", "widget-crd.yaml"]).exits_with(0);
    let output = tenure(&["schema", "diff", "widget-crd.yaml", "loose-crd.yaml"]).exits_with(1);
    assert!(output.err.contains("--from and --to"), "{}", output.err);
}

#[test]
fn two_versions_of_one_definition_are_compared() {
    let two = sample("widget-crd-keyed.yaml").replace("name: v1\n", "name: v2\n");
    let output = tenure_reading(
        &["schema", "diff", "widget-crd.yaml", "-", "--from", "v1", "--to", "v2"],
        two.as_bytes(),
    )
    .exits_with(2);
    assert!(output.text().starts_with("example.com/v1 Widget becomes example.com/v2\n"), "{}", output.text());
}
