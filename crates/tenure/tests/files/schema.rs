//! `tenure schema`: show, audit, diff.

use crate::harness::{sample, tenure, tenure_reading};
use tenure_value::Value;

#[test]
fn effects_of_writes_are_described() {
    tenure(&["schema", "show", "Service.spec.ports"]).ends(0).is_as_in("schema-show.txt");
    tenure(&["schema", "show", "Service.spec.ports", "--color", "always", "--width", "60"])
        .ends(0)
        .is_as_in("schema-show-colours.txt");
    tenure(&["schema", "show", "Deployment.spec.strategy", "--depth", "2"])
        .ends(0)
        .is_as_in("schema-show-depth.txt");
    let told =
        tenure(&["schema", "show", "deploy.spec.template.spec.containers", "-o", "json"]).ends(0).json();
    assert_eq!(told.get("kind"), Some(&Value::from("Deployment")));
    assert_eq!(told.get("path"), Some(&Value::from(".spec.template.spec.containers")));
    assert!(told.get("fields").and_then(Value::as_array).is_some_and(|fields| fields.len() > 20));
}

#[test]
fn entries_that_are_atomic_are_owned_as_units() {
    let said = tenure(&["schema", "show", "Pod.spec.imagePullSecrets", "--width", "200"]).ends(0).text();
    assert!(
        said.contains(
            "a list keyed by name (default \"\"); each entry is atomic: owned and replaced as a unit"
        ),
        "{said}"
    );
    let said = tenure(&["schema", "show", "Pod.spec.containers", "--width", "200"]).ends(0).text();
    assert!(said.contains("each field of each entry is owned separately"), "{said}");
}

#[test]
fn kinds_of_definitions_are_shown_too() {
    let said = tenure(&["schema", "show", "widgets.spec.parts", "--schema", "widget-crd-keyed.yaml"]).ends(0);
    assert!(said.text().contains("a list keyed by name"), "{}", said.text());
    let said = tenure(&["schema", "show", "Widget.spec.sise", "--schema", "widget-crd.yaml"]).ends(1);
    assert!(said.err.contains("did you mean \"size\"?"), "{}", said.err);
    let said = tenure(&["schema", "show", "Widget"]).ends(1);
    assert!(said.err.contains("--schema FILE"), "{}", said.err);
}

#[test]
fn weak_keys_are_found_with_what_would_be_better() {
    tenure(&["schema", "audit"]).ends(2).is_as_in("schema-audit.txt");
    tenure(&["schema", "audit", "--schema", "loose-crd.yaml"]).ends(2).is_as_in("schema-audit-custom.txt");
    tenure(&["schema", "audit", "--schema", "loose-crd.yaml", "--color", "always"])
        .ends(2)
        .is_as_in("schema-audit-colours.txt");
    let said = tenure_reading(
        &["schema", "audit", "--schema", "-", "-o", "json"],
        sample("widget-crd-keyed.yaml").as_bytes(),
    );
    assert_eq!(said.ends(0).json(), Value::array([]));
    let all = tenure(&["schema", "audit", "-o", "json"]).ends(2).json();
    let ports = all.as_array().and_then(|all| {
        all.iter()
            .find(|weak| {
                weak.get("type").and_then(Value::as_str).is_some_and(|of| of.ends_with("ServiceSpec"))
            })
            .cloned()
    });
    assert_eq!(
        ports.and_then(|weak| weak.get("recommendedKeys").map(Value::to_string)).as_deref(),
        Some(r#"["port","protocol"]"#)
    );
}

#[test]
fn a_changed_definition_is_told_with_who_it_touches() {
    let objects = ["schema", "diff", "widget-crd.yaml", "widget-crd-keyed.yaml", "--objects", "widgets.yaml"];
    tenure(&objects).ends(2).is_as_in("schema-diff.txt");
    tenure(&[&objects[..], &["--color", "always"]].concat()).ends(2).is_as_in("schema-diff-colours.txt");
    let told = tenure(&[&objects[..], &["-o", "json"]].concat()).ends(2).json();
    let changes = told
        .as_array()
        .and_then(|kinds| kinds.first()?.get("changes")?.as_array().cloned())
        .unwrap_or_default();
    assert_eq!(changes.len(), 2);
    tenure(&["schema", "diff", "widget-crd.yaml", "widget-crd.yaml"]).ends(0);
    let said = tenure(&["schema", "diff", "widget-crd.yaml", "loose-crd.yaml"]).ends(1);
    assert!(said.err.contains("--from and --to"), "{}", said.err);
}

#[test]
fn two_versions_of_one_definition_are_compared() {
    let two = sample("widget-crd-keyed.yaml").replace("name: v1\n", "name: v2\n");
    let said = tenure_reading(
        &["schema", "diff", "widget-crd.yaml", "-", "--from", "v1", "--to", "v2"],
        two.as_bytes(),
    )
    .ends(2);
    assert!(said.text().starts_with("example.com/v1 Widget becomes example.com/v2\n"), "{}", said.text());
}
