//! Ownership after a definition has changed how its lists merge, with a restart in between.

use crate::{
    http::Request,
    server::{JSON_PATCH, MERGE_PATCH, Server, metadata, version},
};
use tenure_http::Administrator;
use tenure_value::Value;

const DEFINITIONS: &str = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
const WIDGETS: &str = "/apis/example.com/v1/namespaces/default/widgets";

/// A definition with a list, and the extensions that say how it merges.
fn definition(list: &str, version: &str) -> String {
    format!(
        r#"{{"apiVersion":"apiextensions.k8s.io/v1","kind":"CustomResourceDefinition","metadata":{{"name":"widgets.example.com"{version}}},
        "spec":{{"group":"example.com","scope":"Namespaced","names":{{"plural":"widgets","singular":"widget","kind":"Widget","listKind":"WidgetList"}},
        "versions":[{{"name":"v1","served":true,"storage":true,"schema":{{"openAPIV3Schema":{{"type":"object","properties":{{"spec":{{"type":"object","properties":{{
          "l":{{"type":"array","items":{{"type":"string"}}{list}}},"n":{{"type":"integer"}}}}}}}}}}}}}}]}}}}"#
    )
}

/// Starts another server over the same store, as after a restart.
fn started_again(server: &Server) -> Server {
    Server::over(server.store.clone(), Administrator::Anyone)
}

const ATOMIC: &str = "";
const SET: &str = r#","x-kubernetes-list-type":"set""#;

/// Changes the definition, and returns the warnings.
fn change(server: &Server, list: &str) -> String {
    let path = format!("{DEFINITIONS}/widgets.example.com");
    let at = version(&server.get(&path).document());
    let body = definition(list, &format!(r#","resourceVersion":"{at}""#));
    let response = server.send(&Request::new("PUT", &path).body("application/json", body));
    assert_eq!(response.code, 200, "{}", response.text());
    response.header("warning").unwrap_or_default().to_string()
}

fn apply(server: &Server, manager: &str, name: &str, spec: &str) -> Value {
    let config = format!(
        r#"{{"apiVersion":"example.com/v1","kind":"Widget","metadata":{{"name":"{name}"}},"spec":{spec}}}"#
    );
    let response = server.apply(&format!("{WIDGETS}/{name}"), manager, &config);
    assert!(matches!(response.code, 200 | 201), "{}", response.text());
    response.document()
}

fn held(object: &Value, manager: &str) -> String {
    let managers = metadata(object, "managedFields");
    let entries = managers.as_array().cloned().unwrap_or_default();
    let entry = entries.iter().find(|entry| entry.get("manager") == Some(&manager.into()));
    entry.and_then(|entry| entry.get("fieldsV1")).map(Value::to_string).unwrap_or_default()
}

#[test]
fn the_owner_of_an_atomic_value_owns_its_parts_after_a_schema_change() {
    let first = Server::start();
    first.create(DEFINITIONS, &definition(ATOMIC, ""));
    let object = apply(&first, "alice", "w", r#"{"l":["a","b"]}"#);
    assert_eq!(held(&object, "alice"), r#"{"f:spec":{"f:l":{}}}"#);
    let warned = change(&first, SET);
    assert!(warned.contains("spec.l was replaced as a whole and is merged as a set from now on"), "{warned}");
    // An unrelated change and two restarts lose nothing.
    let second = started_again(&first);
    change(&second, r#","x-kubernetes-list-type":"set","maxItems":9"#);
    let third = started_again(&second);
    let object = apply(&third, "bob", "w", r#"{"l":["c"]}"#);
    assert_eq!(object.at(["spec", "l"]).map(Value::to_string).unwrap_or_default(), r#"["a","b","c"]"#);
    assert_eq!(held(&object, "alice"), r#"{"f:spec":{"f:l":{"v:\"a\"":{},"v:\"b\"":{}}}}"#);
    assert_eq!(held(&object, "bob"), r#"{"f:spec":{"f:l":{"v:\"c\"":{}}}}"#);
    // Fields that alice omits are removed; those that bob added stay.
    let object = apply(&third, "alice", "w", r#"{"l":["b"]}"#);
    assert_eq!(object.at(["spec", "l"]).map(Value::to_string).unwrap_or_default(), r#"["b","c"]"#);
}

#[test]
fn a_writer_after_the_schema_change_owns_what_it_declares() {
    let server = Server::start();
    server.create(DEFINITIONS, &definition(ATOMIC, ""));
    apply(&server, "carol", "w", r#"{"n":1}"#);
    change(&server, SET);
    apply(&server, "alice", "w", r#"{"l":["a"]}"#);
    apply(&server, "bob", "w", r#"{"l":["b"]}"#);
    let object = apply(&started_again(&server), "carol", "w", r#"{"n":2}"#);
    assert_eq!(held(&object, "alice"), r#"{"f:spec":{"f:l":{"v:\"a\"":{}}}}"#);
    assert_eq!(held(&object, "bob"), r#"{"f:spec":{"f:l":{"v:\"b\"":{}}}}"#);
}

#[test]
fn schema_changes_and_reverts_are_distinguished_by_revision() {
    let server = Server::start();
    server.create(DEFINITIONS, &definition(SET, ""));
    apply(&server, "alice", "early", r#"{"l":["a"]}"#);
    change(&server, ATOMIC);
    apply(&server, "alice", "late", r#"{"l":["a"]}"#);
    change(&server, SET);
    let server = started_again(&server);
    for name in ["early", "late"] {
        let object = apply(&server, "bob", name, r#"{"l":["b"]}"#);
        assert_eq!(held(&object, "alice"), r#"{"f:spec":{"f:l":{"v:\"a\"":{}}}}"#, "{name}");
    }
}

/// A definition with two versions and no conversion.
fn two_versions() -> String {
    let version = |name: &str, storage: bool| {
        format!(
            r#"{{"name":"{name}","served":true,"storage":{storage},"subresources":{{"status":{{}}}},"schema":{{"openAPIV3Schema":{{"type":"object","properties":{{
            "spec":{{"type":"object","properties":{{"n":{{"type":"integer"}},"s":{{"type":"string"}}}}}},"status":{{"type":"object","properties":{{"phase":{{"type":"string"}}}}}}}}}}}}}}"#
        )
    };
    format!(
        r#"{{"apiVersion":"apiextensions.k8s.io/v1","kind":"CustomResourceDefinition","metadata":{{"name":"widgets.example.com"}},
        "spec":{{"group":"example.com","scope":"Namespaced","names":{{"plural":"widgets","singular":"widget","kind":"Widget","listKind":"WidgetList"}},
        "versions":[{},{}]}}}}"#,
        version("v1", true),
        version("v2", false)
    )
}

#[test]
fn a_status_written_at_another_version_leaves_the_managers_as_they_are() {
    let server = Server::start();
    server.create(DEFINITIONS, &two_versions());
    apply(&server, "alice", "w", r#"{"n":1}"#);
    let path = format!("{}/w/status?fieldManager=controller", WIDGETS.replace("/v1/", "/v2/"));
    let response = server.patch(&path, MERGE_PATCH, r#"{"status":{"phase":"On"}}"#);
    assert_eq!(response.code, 200, "{}", response.text());
    let object = server.get(&format!("{WIDGETS}/w")).document();
    assert_eq!(held(&object, "alice"), r#"{"f:spec":{"f:n":{}}}"#);
    assert_eq!(held(&object, "controller"), r#"{"f:status":{".":{},"f:phase":{}}}"#);
}

#[test]
fn a_removed_version_does_not_prevent_an_apply() {
    let server = Server::start();
    server.create(DEFINITIONS, &two_versions());
    let at_v2 = r#"{"apiVersion":"example.com/v2","kind":"Widget","metadata":{"name":"w"},"spec":{"s":"x"}}"#;
    let made = server.apply(&format!("{}/w", WIDGETS.replace("/v1/", "/v2/")), "bob", at_v2);
    assert_eq!(made.code, 201, "{}", made.text());
    apply(&server, "alice", "w", r#"{"n":1}"#);
    let path = format!("{DEFINITIONS}/widgets.example.com");
    let removed = server.patch(&path, JSON_PATCH, r#"[{"op":"remove","path":"/spec/versions/1"}]"#);
    assert_eq!(removed.code, 200, "{}", removed.text());
    for server in [&server, &started_again(&server)] {
        let object = apply(server, "alice", "w", r#"{"n":2}"#);
        assert_eq!(held(&object, "alice"), r#"{"f:spec":{"f:n":{}}}"#);
        assert_eq!(held(&object, "bob"), "", "fields of a removed version have no paths");
        assert_eq!(object.at(["spec", "s"]), Some(&"x".into()), "what it set stays");
    }
}

#[test]
fn a_list_that_could_never_be_applied_refuses_its_definition_with_the_fix() {
    let server = Server::start();
    let body = definition(SET, "").replace(
        r#""items":{"type":"string"}"#,
        r#""items":{"type":"object","properties":{"a":{"type":"string"}}}"#,
    );
    let response = server.post(DEFINITIONS, &body);
    assert_eq!(response.code, 422, "{}", response.text());
    assert!(response.field("message").contains("x-kubernetes-map-type"), "{}", response.text());
    let keyed = r#","x-kubernetes-list-type":"map","x-kubernetes-list-map-keys":["a"]"#;
    let body = definition(keyed, "").replace(
        r#""items":{"type":"string"}"#,
        r#""items":{"type":"object","properties":{"a":{"type":"string"}}}"#,
    );
    let response = server.post(DEFINITIONS, &body);
    assert_eq!(response.code, 422, "{}", response.text());
    assert!(
        response.field("message").contains("default") && response.field("message").contains("required"),
        "{}",
        response.text()
    );
}
