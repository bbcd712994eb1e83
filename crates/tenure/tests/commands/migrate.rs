//! The way from client-side to server-side apply, with and without `tenure migrate`.

use crate::harness::World;
use std::process::Command;
use tenure_value::Value;

const MAP: &str = "/api/v1/namespaces/default/configmaps/c";

fn map(data: &str) -> String {
    format!("apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: c}}\ndata: {data}\n")
}

/// Returns a world in which `kubectl apply` has made an object from the client; nothing for a client that is too old.
fn world() -> Option<World> {
    let said =
        crate::process::run(Command::new("kubectl").args(["version", "--client", "-o", "json"]), "").out;
    let minor = said
        .split("\"minor\": \"")
        .nth(1)
        .and_then(|rest| rest.split(['"', '+']).next()?.parse::<u32>().ok());
    if minor.is_some_and(|minor| minor < 27) {
        println!("kubectl 1.{} is too old for this test", minor.unwrap_or_default());
        return None;
    }
    let world = World::start();
    world.kubectl(&map("{stays: x, goes: z}"), &["apply", "-f", "-"]).says("created");
    assert_eq!(world.managers(MAP), ["kubectl-client-side-apply Update"]);
    Some(world)
}

fn data(world: &World) -> String {
    world.get(MAP).get("data").map(ToString::to_string).unwrap_or_default()
}

#[test]
fn without_migration_a_field_that_is_left_out_never_goes() {
    let Some(world) = world() else { return };
    // What a controller or another client does: apply on the server in its own name.
    let apply = format!("{MAP}?fieldManager=controller");
    let (code, _) = world.ask("PATCH", &apply, "application/apply-patch+yaml", &map("{stays: x, goes: z}"));
    assert_eq!(code, 200);
    let (code, _) = world.ask("PATCH", &apply, "application/apply-patch+yaml", &map("{stays: x}"));
    assert_eq!(code, 200);
    assert_eq!(data(&world), r#"{"goes":"z","stays":"x"}"#, "this is the pain");
    assert_eq!(world.managers(MAP), ["controller Apply", "kubectl-client-side-apply Update"]);
    // The plan says so, and how to fix it.
    world
        .with(&map("{stays: x}"), &["plan", "-f", "-", "--manager", "controller"])
        .mentions("= .data.goes is not in the manifest but stays")
        .mentions("tenure migrate configmap/c");
}

#[test]
fn after_migration_it_goes_and_one_manager_remains() {
    let Some(world) = world() else { return };
    let preview = world.tenure(&["migrate", "cm/c", "--dry-run"]).ends(0);
    preview.mentions("kubectl (Apply) gains .data.goes").mentions("- .metadata.annotations");
    world.tenure(&["migrate", "cm/c", "--yes", "--undo", "undo.json"]).ends(0);
    assert_eq!(world.managers(MAP), ["kubectl Apply"]);
    assert_eq!(world.get(MAP).at(["metadata", "annotations"]), None);
    world.with(&map("{stays: x}"), &["apply", "-f", "-"]).ends(0).mentions("- .data.goes: \"z\"");
    assert_eq!(data(&world), r#"{"stays":"x"}"#);
    assert_eq!(world.managers(MAP), ["kubectl Apply"]);
    world.tenure(&["migrate", "cm/c", "--yes"]).ends(0).mentions("nothing to do");
    // The same manager applies with kubectl.
    world.kubectl(&map("{}"), &["apply", "--server-side", "-f", "-"]).says("serverside-applied");
    assert_eq!(data(&world), "");
}

#[test]
fn an_object_that_is_already_in_trouble_is_mended() {
    let Some(world) = world() else { return };
    let apply = format!("{MAP}?fieldManager=controller");
    world.ask("PATCH", &apply, "application/apply-patch+yaml", &map("{stays: x}"));
    let file = world.file("c.yaml", &map("{stays: x}"));
    world.tenure(&["migrate", "-f", &file, "--to", "controller", "--yes"]).ends(0);
    assert_eq!(world.managers(MAP), ["controller Apply"]);
    world.tenure(&["apply", "-f", &file, "--manager", "controller"]).ends(0);
    assert_eq!(data(&world), r#"{"stays":"x"}"#);
}

#[test]
fn a_migration_can_be_taken_back() {
    let Some(world) = world() else { return };
    let before = world.get(MAP);
    world.tenure(&["migrate", "cm/c", "--yes", "--undo", "undo.json"]).ends(0);
    world.tenure(&["undo", "undo.json"]).ends(0);
    let after = world.get(MAP);
    for place in ["managedFields", "annotations"] {
        assert_eq!(after.at(["metadata", place]), before.at(["metadata", place]), "{place}");
    }
    assert!(after.at(["metadata", "annotations"]).and_then(Value::as_object).is_some());
}
