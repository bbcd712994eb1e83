//! Owners and dependents: deletion in the background, in the foreground, or as orphans; across restarts, for custom resources, and for
//! references to missing owners.

use crate::{
    facts::items,
    server::{MERGE_PATCH, Server, metadata},
};
use tenure_http::Administrator;
use tenure_value::Value;

const MAPS: &str = "/api/v1/namespaces/default/configmaps";
const BACKGROUND: &str = r#"{"propagationPolicy":"Background"}"#;
const FOREGROUND: &str = r#"{"propagationPolicy":"Foreground"}"#;
const ORPHAN: &str = r#"{"propagationPolicy":"Orphan"}"#;

/// A reference to an owner.
fn owner(value: &Value, blocks: bool) -> String {
    let field = |name: &str| value.get(name).cloned().unwrap_or_default();
    format!(
        r#"{{"apiVersion":{},"kind":{},"name":{},"uid":{},"blockOwnerDeletion":{blocks}}}"#,
        field("apiVersion"),
        field("kind"),
        metadata(value, "name"),
        metadata(value, "uid")
    )
}

fn map(server: &Server, name: &str, owners: &[String], finalizers: &str) -> Value {
    let owners = owners.join(",");
    let body = format!(
        r#"{{"metadata":{{"name":"{name}","ownerReferences":[{owners}],"finalizers":[{finalizers}]}}}}"#
    );
    server.create(MAPS, &body)
}

fn item(name: &str) -> String {
    format!("{MAPS}/{name}")
}

fn own(server: &Server, path: &str, owners: &[String]) {
    let patch = format!(r#"{{"metadata":{{"ownerReferences":[{}]}}}}"#, owners.join(","));
    assert_eq!(server.patch(path, MERGE_PATCH, &patch).code, 200);
}

fn release(server: &Server, path: &str) {
    assert_eq!(server.patch(path, MERGE_PATCH, r#"{"metadata":{"finalizers":null}}"#).code, 200);
}

fn is_going(server: &Server, path: &str) -> bool {
    !metadata(&server.get(path).document(), "deletionTimestamp").is_null()
}

fn owners_of(server: &Server, path: &str) -> usize {
    server.get(path).document().get("metadata").map_or(0, |metadata| items(metadata, "ownerReferences").len())
}

#[test]
fn background_deletion_reaches_dependents_of_every_depth() {
    let server = Server::living();
    let top = map(&server, "top", &[], "");
    for at in 0..20 {
        let child = map(&server, &format!("child-{at}"), &[owner(&top, true)], "");
        map(&server, &format!("grandchild-{at}"), &[owner(&child, false)], "");
    }
    server.delete_with(&item("top"), BACKGROUND);
    assert_eq!(server.get(&item("top")).code, 404, "the owner goes at once");
    server.wait_until("all are gone", || items(&server.get(MAPS).document(), "items").is_empty());
}

#[test]
fn a_dependent_is_kept_while_one_owner_exists() {
    let server = Server::living();
    let (one, two) = (map(&server, "one", &[], ""), map(&server, "two", &[], ""));
    map(&server, "shared", &[owner(&one, true), owner(&two, true)], "");
    server.delete_with(&item("one"), BACKGROUND);
    server.wait_until("the reference to the first is dropped", || owners_of(&server, &item("shared")) == 1);
    // With foreground deletion, too, the other owner keeps it.
    let three = map(&server, "three", &[], "");
    own(&server, &item("shared"), &[owner(&two, true), owner(&three, true)]);
    server.delete_with(&item("three"), FOREGROUND);
    server.wait_until_gone(&item("three"));
    assert_eq!((server.get(&item("shared")).code, owners_of(&server, &item("shared"))), (200, 1));
    server.delete_with(&item("two"), BACKGROUND);
    server.wait_until_gone(&item("shared"));
}

#[test]
fn foreground_deletion_deletes_the_owner_last() {
    let server = Server::living();
    let top = map(&server, "top", &[], "");
    let middle = map(&server, "middle", &[owner(&top, true)], "");
    map(&server, "leaf", &[owner(&middle, true)], r#""example.com/held""#);
    map(&server, "loose", &[owner(&top, false)], r#""example.com/held""#);
    server.delete_with(&item("top"), FOREGROUND);
    let marked = server.get(&item("top")).document();
    assert_eq!(metadata(&marked, "finalizers").to_string(), r#"["foregroundDeletion"]"#);
    server.wait_until("the leaf is being deleted", || is_going(&server, &item("leaf")));
    for name in ["top", "middle"] {
        assert_eq!(server.get(&item(name)).code, 200, "{name} waits for what is held back below it");
    }
    release(&server, &item("leaf"));
    server.wait_until_gone(&item("top"));
    assert_eq!(server.get(&item("middle")).code, 404);
    // The dependent that does not block the owner was not waited for, and is being deleted too.
    assert!(is_going(&server, &item("loose")));
}

#[test]
fn a_foreground_deletion_without_dependents_is_immediate() {
    let server = Server::living();
    map(&server, "alone", &[], "");
    server.delete_with(&item("alone"), FOREGROUND);
    server.wait_until_gone(&item("alone"));
}

#[test]
fn orphans_lose_their_owner_reference() {
    let server = Server::living();
    let (top, other) = (map(&server, "top", &[], ""), map(&server, "other", &[], ""));
    for at in 0..10 {
        map(&server, &format!("child-{at}"), &[owner(&top, true), owner(&other, false)], "");
    }
    server.delete_with(&item("top"), ORPHAN);
    server.wait_until_gone(&item("top"));
    server.wait_until_idle();
    for at in 0..10 {
        let path = item(&format!("child-{at}"));
        assert_eq!((server.get(&path).code, owners_of(&server, &path)), (200, 1), "{path}");
    }
}

#[test]
fn references_to_missing_owners_cause_deletion_only_if_certain() {
    let server = Server::living();
    let other_namespace = "/api/v1/namespaces/kube-public/configmaps";
    let elsewhere = server.create(other_namespace, r#"{"metadata":{"name":"elsewhere"}}"#);
    let real = map(&server, "real", &[], "");
    let uid = "3f0c8a3e-6f3a-4f5e-9d0b-2f4b7c1d8e90";
    let to = |api_version: &str, kind: &str, name: &str| {
        format!(r#"{{"apiVersion":"{api_version}","kind":"{kind}","name":"{name}","uid":"{uid}"}}"#)
    };
    map(&server, "absent", &[to("v1", "ConfigMap", "nobody")], "");
    map(&server, "wrong-uid", &[to("v1", "ConfigMap", "real")], "");
    map(&server, "other-namespace", &[owner(&elsewhere, false)], "");
    map(&server, "unknown-kind", &[to("example.com/v1", "Widget", "nobody")], "");
    map(&server, "kept", &[owner(&real, false)], "");
    map(&server, "kept-by-one", &[owner(&real, false), to("v1", "ConfigMap", "nobody")], "");
    // For a cluster-scoped object the namespace of a namespaced owner is unknown.
    let cluster = "/api/v1/persistentvolumes";
    let volume = format!(
        r#"{{"metadata":{{"name":"volume","ownerReferences":[{}]}},"spec":{{"capacity":{{"storage":"1Gi"}},"accessModes":["ReadWriteOnce"],"hostPath":{{"path":"/x"}}}}}}"#,
        to("v1", "ConfigMap", "real")
    );
    server.create(cluster, &volume);
    let class = r#"{"metadata":{"name":"class"},"value":1}"#;
    let class = server.create("/apis/scheduling.k8s.io/v1/priorityclasses", class);
    map(&server, "of-the-cluster", &[owner(&class, false)], "");
    for name in ["absent", "wrong-uid", "other-namespace"] {
        server.wait_until_gone(&item(name));
    }
    server.wait_until("one reference is dropped", || owners_of(&server, &item("kept-by-one")) == 1);
    server.wait_until_idle();
    for name in ["unknown-kind", "kept", "kept-by-one", "of-the-cluster", "real"] {
        assert_eq!(server.get(&item(name)).code, 200, "{name}");
    }
    assert_eq!(server.get(&format!("{cluster}/volume")).code, 200);
    server.delete("/apis/scheduling.k8s.io/v1/priorityclasses/class");
    server.wait_until_gone(&item("of-the-cluster"));
}

#[test]
fn circular_owners_are_deleted_with_every_propagation_policy() {
    for options in [BACKGROUND, FOREGROUND] {
        let server = Server::living();
        let names = ["a", "b", "c"];
        let made: Vec<Value> = names.iter().map(|name| map(&server, name, &[], "")).collect();
        for (at, name) in names.iter().enumerate() {
            own(&server, &item(name), &[owner(&made[(at + 1) % 3], true)]);
        }
        server.delete_with(&item("a"), options);
        for name in names {
            server.wait_until_gone(&item(name));
        }
    }
}

#[test]
fn custom_resources_can_be_owners_and_dependents() {
    let server = Server::living();
    let definition = r#"{"metadata":{"name":"widgets.example.com"},"spec":{"group":"example.com","scope":"Namespaced","names":{"plural":"widgets","kind":"Widget"},
        "versions":[{"name":"v1","served":true,"storage":true,"schema":{"openAPIV3Schema":{"type":"object","x-kubernetes-preserve-unknown-fields":true}}}]}}"#;
    let definitions = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
    server.create(definitions, definition);
    let widgets = "/apis/example.com/v1/namespaces/default/widgets";
    let widget = |name: &str, owners: &str| {
        let body = format!(
            r#"{{"apiVersion":"example.com/v1","kind":"Widget","metadata":{{"name":"{name}","ownerReferences":[{owners}]}}}}"#
        );
        server.create(widgets, &body)
    };
    let top = widget("top", "");
    map(&server, "of-a-widget", &[owner(&top, true)], "");
    let real = map(&server, "real", &[], "");
    widget("of-a-map", &owner(&real, true));
    server.delete_with(&format!("{widgets}/top"), FOREGROUND);
    server.wait_until_gone(&format!("{widgets}/top"));
    assert_eq!(server.get(&item("of-a-widget")).code, 404);
    server.delete(&item("real"));
    server.wait_until_gone(&format!("{widgets}/of-a-map"));
    // The deletion of a definition deletes its objects, and then their dependents.
    let last = widget("last", "");
    map(&server, "of-the-last", &[owner(&last, false)], "");
    server.delete(&format!("{definitions}/widgets.example.com"));
    server.wait_until_gone(&format!("{definitions}/widgets.example.com"));
    assert_eq!(server.get(widgets).code, 404);
}

#[test]
fn a_restart_keeps_pending_deletions() {
    let before = Server::start();
    let top = map(&before, "top", &[], "");
    map(&before, "child", &[owner(&top, true)], "");
    let gone = map(&before, "gone", &[], "");
    map(&before, "left-behind", &[owner(&gone, true)], "");
    let orphaner = map(&before, "orphaner", &[], "");
    map(&before, "orphan", &[owner(&orphaner, true)], "");
    before.create_namespace("short");
    before.create("/api/v1/namespaces/short/configmaps", r#"{"metadata":{"name":"c"}}"#);
    before.delete_with(&item("top"), FOREGROUND);
    before.delete_with(&item("gone"), BACKGROUND);
    before.delete_with(&item("orphaner"), ORPHAN);
    before.delete("/api/v1/namespaces/short");
    let store = before.store();
    drop(before);
    let after = Server::over(store, Administrator::Anyone).with_controllers();
    for path in
        [item("top"), item("child"), item("left-behind"), item("orphaner"), "/api/v1/namespaces/short".into()]
    {
        after.wait_until_gone(&path);
    }
    assert_eq!((after.get(&item("orphan")).code, owners_of(&after, &item("orphan"))), (200, 0));
}

#[test]
fn an_object_that_owns_itself_can_be_deleted_in_every_way() {
    let server = Server::living();
    server.create_namespace("loop");
    let maps = "/api/v1/namespaces/loop/configmaps";
    for (name, options) in [("foreground", FOREGROUND), ("background", BACKGROUND), ("orphan", ORPHAN)] {
        let path = format!("{maps}/{name}");
        let made = server.create(maps, &format!(r#"{{"metadata":{{"name":"{name}"}}}}"#));
        own(&server, &path, &[owner(&made, true)]);
        server.delete_with(&path, options);
        server.wait_until_gone(&path);
    }
    // Two objects that own each other, one of which also owns itself.
    let one = server.create(maps, r#"{"metadata":{"name":"one"}}"#);
    let two = server.create(maps, r#"{"metadata":{"name":"two"}}"#);
    own(&server, &format!("{maps}/one"), &[owner(&one, true), owner(&two, true)]);
    own(&server, &format!("{maps}/two"), &[owner(&one, true)]);
    server.delete_with(&format!("{maps}/one"), FOREGROUND);
    server.wait_until_gone(&format!("{maps}/one"));
    server.wait_until_gone(&format!("{maps}/two"));
    // No object is left to keep the namespace.
    let last = server.create(maps, r#"{"metadata":{"name":"last"}}"#);
    own(&server, &format!("{maps}/last"), &[owner(&last, true)]);
    server.delete("/api/v1/namespaces/loop");
    server.wait_until_gone("/api/v1/namespaces/loop");
}
