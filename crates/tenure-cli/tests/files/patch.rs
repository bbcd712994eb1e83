//! `tenure patch`: apply, diff, three-way, lint, explain.

use crate::harness::{tenure, tenure_reading};
use tenure_value::Value;

#[test]
fn a_patch_is_applied_by_the_type_of_the_document() {
    tenure(&["patch", "apply", "live.yaml", "patch.yaml"]).exits_with(0).matches_snapshot("patch-apply.txt");
    let merged = tenure(&["patch", "apply", "live.yaml", "manifest.yaml", "--type", "merge", "-o", "json"])
        .exits_with(0);
    let containers = merged.json();
    let containers =
        containers.at(["spec", "template", "spec", "containers"]).and_then(Value::as_array).cloned();
    assert_eq!(containers.map(|list| list.len()), Some(1), "a JSON merge patch replaces lists");
    let operations = br#"[{"op": "replace", "path": "/spec/replicas", "value": 7}]"#;
    let patched =
        tenure_reading(&["patch", "apply", "live.yaml", "-", "--type", "json", "-o", "json"], operations);
    assert_eq!(patched.exits_with(0).json().at(["spec", "replicas"]), Some(&Value::Int(7)));
}

#[test]
fn types_of_custom_resources_come_from_their_definition() {
    let patch = b"spec: {parts: [{name: axle, colour: green}], tags: [old]}";
    let line = |crd| ["patch", "apply", "cog.yaml", "-", "--schema", crd, "-o", "json"];
    let atomic = tenure_reading(&line("widget-crd.yaml"), patch).exits_with(0).json();
    assert_eq!(atomic.at(["spec", "tags"]).map(Value::to_string).as_deref(), Some(r#"["old"]"#));
    let keyed = tenure_reading(&line("widget-crd-keyed.yaml"), patch).exits_with(0).json();
    assert_eq!(keyed.at(["spec", "tags"]).map(Value::to_string).as_deref(), Some(r#"["old","new"]"#));
    assert_eq!(
        keyed.at(["spec", "parts"]).map(Value::to_string).as_deref(),
        Some(r#"[{"colour":"red","name":"wheel"},{"colour":"green","name":"axle"}]"#)
    );
    let output = tenure_reading(&["patch", "apply", "cog.yaml", "-"], patch).exits_with(1);
    assert!(
        output.err.contains("no type is known for example.com/v1 Widget; give its definition with --schema"),
        "{}",
        output.err
    );
}

#[test]
fn live_only_entries_follow_the_order_option() {
    let live = b"apiVersion: v1\nkind: Pod\nspec: {containers: [{name: a}, {name: b}, {name: x}]}\n";
    let patch = "{\"spec\": {\"$setElementOrder/containers\": [{\"name\": \"b\"}, {\"name\": \"a\"}]}}";
    let file = std::env::temp_dir().join(format!("tenure-order-{}.json", std::process::id()));
    std::fs::write(&file, patch).expect("a file");
    let names = |order: &str| {
        let file = file.to_string_lossy();
        let output = tenure_reading(&["patch", "apply", "-", &file, "--order", order, "-o", "json"], live)
            .exits_with(0)
            .json();
        let list = output.at(["spec", "containers"]).and_then(Value::as_array).cloned().unwrap_or_default();
        list.iter()
            .map(|entry| entry.get("name").and_then(Value::as_str).unwrap_or_default().to_owned())
            .collect::<String>()
    };
    let (kubernetes, documented) = (names("kubernetes"), names("documented"));
    std::fs::remove_file(&file).expect("the file");
    assert_eq!((kubernetes.as_str(), documented.as_str()), ("bax", "xba"));
}

#[test]
fn a_difference_leads_from_one_document_to_the_other() {
    let difference =
        tenure(&["patch", "diff", "service.yaml", "service-new.yaml", "-o", "json"]).exits_with(0);
    let both = tenure_reading(&["patch", "apply", "service.yaml", "-", "-o", "json"], &difference.out)
        .exits_with(0)
        .json();
    assert_eq!(both.at(["spec", "ports"]).and_then(Value::as_array).map(|ports| ports.len()), Some(2));
    assert!(both.at(["metadata", "annotations"]).is_none());
    tenure(&["patch", "diff", "service.yaml", "service-new.yaml", "--keys", "recommended"])
        .exits_with(0)
        .matches_snapshot("patch-diff-recommended.txt");
    tenure(&["patch", "diff", "service.yaml", "service-new.yaml", "--type", "json"])
        .exits_with(0)
        .matches_snapshot("patch-diff-json.txt");
}

#[test]
fn conflicts_of_three_documents_are_shown_with_both_sides() {
    let output = tenure(&["patch", "three-way", "service-new.yaml", "service.yaml"]).exits_with(3);
    assert_eq!(output.text(), "", "who reads the output must not take conflicts for a patch");
    assert!(
        output.err.contains(".spec.type\n    manifest  \"LoadBalancer\"\n    live      \"NodePort\""),
        "{}",
        output.err
    );
    assert!(output.err.contains("--overwrite"), "{}", output.err);
    let told = tenure(&["patch", "three-way", "service-new.yaml", "service.yaml", "-o", "json"])
        .exits_with(3)
        .json();
    assert_eq!(
        told.get("conflicts").and_then(Value::as_array).and_then(|all| all.first()?.get("path").cloned()),
        Some(Value::from(".spec.type"))
    );
    tenure(&["patch", "three-way", "service-new.yaml", "service.yaml", "--overwrite"])
        .exits_with(0)
        .matches_snapshot("patch-three-way.txt");
}

#[test]
fn without_a_last_applied_manifest_nothing_is_removed_with_a_warning() {
    let output =
        tenure(&["patch", "three-way", "manifest.yaml", "cog.yaml", "--overwrite", "--type", "merge"])
            .exits_with(0);
    assert!(output.err.contains("nothing is removed; give it with --last-applied"), "{}", output.err);
    assert!(!output.text().contains("null"), "{}", output.text());
}

#[test]
fn lint_reports_place_problem_and_fix_with_an_exit_code() {
    let output = tenure(&["patch", "lint", "bad-patch.yaml", "--kind", "Deployment"]).exits_with(2);
    output.matches_snapshot("patch-lint.txt");
    tenure(&["patch", "lint", "bad-patch.yaml", "--kind", "Deployment", "--color", "always"])
        .exits_with(2)
        .matches_snapshot("patch-lint-colours.txt");
    assert_eq!(tenure(&["patch", "lint", "patch.yaml", "--kind", "deploy"]).exits_with(0).text(), "");
    let told = tenure(&["patch", "lint", "bad-patch.yaml", "--kind", "apps/v1/Deployment", "-o", "json"])
        .exits_with(2)
        .json();
    let first = told.as_array().and_then(|all| all.first().cloned()).unwrap_or_default();
    assert!(["file", "path", "problem", "fix"].iter().all(|name| first.get(name).is_some()), "{first}");
    let manifest = tenure(&["patch", "lint", "--manifest", "manifest.yaml"]).exits_with(0);
    assert_eq!(manifest.text(), "");
    let output = tenure(&["patch", "lint", "bad-patch.yaml"]).exits_with(1);
    assert!(output.err.contains("name the kind with --kind"), "{}", output.err);
}

#[test]
fn explain_shows_the_rule_beside_each_line_that_the_patch_touched() {
    tenure(&["patch", "explain", "live.yaml", "patch.yaml"])
        .exits_with(0)
        .matches_snapshot("patch-explain.txt");
    tenure(&["patch", "explain", "live.yaml", "patch.yaml", "--color", "always"])
        .exits_with(0)
        .matches_snapshot("patch-explain-colours.txt");
    let told = tenure(&["patch", "explain", "live.yaml", "patch.yaml", "-o", "json"]).exits_with(0).json();
    let applied = tenure(&["patch", "apply", "live.yaml", "patch.yaml", "-o", "json"]).exits_with(0).json();
    assert_eq!(told.get("result"), Some(&applied));
    assert!(told.get("trace").and_then(Value::as_array).is_some_and(|trace| trace.len() > 5));
}

#[test]
fn what_cannot_be_read_or_patched_is_said_with_its_place() {
    for (line, input, part) in [
        (&["patch", "apply", "-", "-"][..], "", "only one document can come from standard input"),
        (&["patch", "apply", "missing.yaml", "patch.yaml"], "", "cannot read missing.yaml"),
        (&["patch", "apply", "live.yaml", "-"], "a: [", "standard input: line"),
        (&["patch", "apply", "live.yaml", "-"], "spec: {template: {$patch: x}}", "standard input: .spec"),
        (
            &["patch", "apply", "widgets.yaml", "patch.yaml"],
            "",
            "it contains 2 documents; the command takes one",
        ),
        (&["patch", "apply", "live.yaml", "-", "--type", "json"], "{}", "JSON patch"),
        (&["patch", "three-way", "manifest.yaml", "live.yaml", "--type", "json"], "", "strategic or merge"),
    ] {
        let output = tenure_reading(line, input.as_bytes()).exits_with(1);
        assert!(output.err.contains(part) && output.err.starts_with("tenure: "), "{line:?}: {}", output.err);
    }
}

#[test]
fn a_manifest_that_did_not_change_gives_an_empty_patch() {
    // As `kubectl` leaves it: the annotation has the namespace and the annotations that the file does not have.
    let live = br#"{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "c", "namespace": "shop", "annotations": {
        "kubectl.kubernetes.io/last-applied-configuration":
        "{\"apiVersion\":\"v1\",\"data\":{\"a\":\"1\"},\"kind\":\"ConfigMap\",\"metadata\":{\"annotations\":{},\"name\":\"c\",\"namespace\":\"shop\"}}\n"}},
        "data": {"a": "1"}}"#;
    let file = std::env::temp_dir().join(format!("tenure-unchanged-{}.yaml", std::process::id()));
    std::fs::write(&file, "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c}\ndata: {a: '1'}\n")
        .expect("a file");
    let outputs = [&[][..], &["--overwrite"], &["--overwrite", "--type", "merge"]].map(|more| {
        let file = file.to_string_lossy();
        let line = [&["patch", "three-way", &file, "-", "-o", "json"], more].concat();
        tenure_reading(&line, live)
    });
    std::fs::remove_file(&file).expect("the file");
    for output in outputs {
        assert_eq!(output.exits_with(0).json().to_string(), "{}");
    }
}
