//! `tenure blame`.

use crate::harness::{World, offline, sample, snapshot};

#[test]
fn every_line_has_its_owners() {
    let live = sample("live.yaml");
    let said = offline(&["blame", "-f", &live], "").says("");
    snapshot("blame.txt", &said.out);
    let said = offline(&["blame", "-f", &live, "--color", "always"], "").says("");
    snapshot("blame-colours.txt", &said.out);
    let said =
        offline(&["blame", "-f", &live, "--width", "60", "--manager", "team-platform-with-a-long-name"], "");
    snapshot("blame-one-manager.txt", &said.says("").out);
    let said =
        offline(&["blame", "-f", &live, "--output", "json", "--manager", "kube-controller-manager"], "");
    snapshot("blame.json", &said.says("").out);
}

#[test]
fn standard_input_is_read_where_it_is_named() {
    let text = std::fs::read_to_string(sample("live.yaml")).expect("a sample");
    let (from_file, from_input) =
        (offline(&["blame", "-f", &sample("live.yaml")], ""), offline(&["blame", "-f", "-"], &text));
    assert_eq!(from_file.says("").out, from_input.says("").out);
}

#[test]
fn colours_are_for_terminals_and_can_be_forbidden() {
    let live = sample("live.yaml");
    let plain = offline(&["blame", "-f", &live], "").says("replicas: 3");
    assert!(!plain.out.contains('\u{1b}'), "no terminal, no colours: {}", plain.out);
    let never = offline(&["blame", "-f", &live, "--color", "never"], "");
    assert_eq!(plain.out, never.out);
}

#[test]
fn live_objects_are_named_as_kubectl_names_them() {
    let world = World::start();
    let map = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c, labels: {app: x}}\ndata: {k: v}\n";
    world.with(map, &["apply", "-f", "-", "--manager", "alice"]).ends(0);
    for line in [
        &["blame", "configmap/c"][..],
        &["blame", "cm", "c"],
        &["blame", "ConfigMap/c", "-n", "default"],
        &["blame", "configmaps.v1", "c"],
        &["blame", "cm", "-l", "app=x"],
        &["blame", "cm", "-A", "--field-selector", "metadata.name=c"],
        &["blame", "cm", "--all"],
    ] {
        let said = world.tenure(line).says("  k: v");
        let row = said.out.lines().find(|row| row.ends_with("  k: v")).unwrap_or_default();
        assert!(row.starts_with("alice") && row.contains("Apply"), "{line:?}: {row}");
    }
}

#[test]
fn what_is_wrong_is_said_with_what_to_do_next() {
    let world = World::start();
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
        let said = world.tenure(line).ends(1).fails(part);
        assert_eq!(said.err.lines().count(), 1, "one clear line: {}", said.err);
    }
    let bare = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c}\n";
    offline(&["blame", "-f", "-"], bare).ends(1).fails("--show-managed-fields");
}
