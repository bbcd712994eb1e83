//! `tenure blame`.

use crate::harness::{TestCluster, offline, sample, snapshot};

#[test]
fn every_line_has_its_owners() {
    let live = sample("live.yaml");
    let output = offline(&["blame", "-f", &live], "").succeeds_with("");
    snapshot("blame.txt", &output.out);
    let output = offline(&["blame", "-f", &live, "--color", "always"], "").succeeds_with("");
    snapshot("blame-colours.txt", &output.out);
    let output =
        offline(&["blame", "-f", &live, "--width", "60", "--manager", "team-platform-with-a-long-name"], "");
    snapshot("blame-one-manager.txt", &output.succeeds_with("").out);
    let output =
        offline(&["blame", "-f", &live, "--output", "json", "--manager", "kube-controller-manager"], "");
    snapshot("blame.json", &output.succeeds_with("").out);
}

#[test]
fn standard_input_is_read_where_it_is_named() {
    let text = std::fs::read_to_string(sample("live.yaml")).expect("a sample");
    let (from_file, from_input) =
        (offline(&["blame", "-f", &sample("live.yaml")], ""), offline(&["blame", "-f", "-"], &text));
    assert_eq!(from_file.succeeds_with("").out, from_input.succeeds_with("").out);
}

#[test]
fn colours_are_for_terminals_and_can_be_forbidden() {
    let live = sample("live.yaml");
    let plain = offline(&["blame", "-f", &live], "").succeeds_with("replicas: 3");
    assert!(!plain.out.contains('\u{1b}'), "no terminal, no colours: {}", plain.out);
    let never = offline(&["blame", "-f", &live, "--color", "never"], "");
    assert_eq!(plain.out, never.out);
}

#[test]
fn live_objects_are_named_as_kubectl_names_them() {
    let cluster = TestCluster::start();
    let map = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c, labels: {app: x}}\ndata: {k: v}\n";
    cluster.with(map, &["apply", "-f", "-", "--manager", "alice"]).exits_with(0);
    for line in [
        &["blame", "configmap/c"][..],
        &["blame", "cm", "c"],
        &["blame", "ConfigMap/c", "-n", "default"],
        &["blame", "configmaps.v1", "c"],
        &["blame", "cm", "-l", "app=x"],
        &["blame", "cm", "-A", "--field-selector", "metadata.name=c"],
        &["blame", "cm", "--all"],
    ] {
        let output = cluster.tenure(line).succeeds_with("  k: v");
        let row = output.out.lines().find(|row| row.ends_with("  k: v")).unwrap_or_default();
        assert!(row.starts_with("alice") && row.contains("Apply"), "{line:?}: {row}");
    }
}

#[test]
fn what_is_wrong_is_said_with_what_to_do_next() {
    let cluster = TestCluster::start();
    for (line, part) in [
        (&["blame", "nope/x"][..], "api-resources"),
        (&["blame", "cm/x"], "configmap/x not found in namespace default"),
        (&["blame", "cm"], "name the objects"),
        (&["blame"], "KIND/NAME"),
        (&["blame", "cm/x", "-f", "y"], "not both"),
        (&["blame", "-f", "/nowhere.yaml"], "/nowhere.yaml"),
        (&["blame", "cm/x", "--context", "none"], "none"),
        (&["blame", "cm/x", "--server", "http://127.0.0.1:1"], "cannot reach http://127.0.0.1:1"),
    ] {
        let output = cluster.tenure(line).exits_with(1).fails_with(part);
        assert_eq!(output.err.lines().count(), 1, "one clear line: {}", output.err);
    }
    let bare = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c}\n";
    offline(&["blame", "-f", "-"], bare).exits_with(1).fails_with("--show-managed-fields");
}
