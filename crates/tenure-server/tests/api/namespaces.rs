//! Deletion of a namespace: all of its objects are deleted; remaining objects and finalizers are reported and awaited.

use crate::{
    facts::{items, text},
    server::{MERGE_PATCH, Server, metadata},
};
use std::time::{Duration, Instant};
use tenure_value::Value;

const NAMESPACE: &str = "/api/v1/namespaces/short";

fn server() -> Server {
    let server = Server::living();
    server.create_namespace("short");
    server
}

#[test]
fn a_namespace_is_deleted_after_its_objects() {
    let server = server();
    for at in 0..150 {
        server.create(&format!("{NAMESPACE}/configmaps"), &format!(r#"{{"metadata":{{"name":"c{at}"}}}}"#));
    }
    let pod = r#"{"metadata":{"name":"p"},"spec":{"containers":[{"name":"c","image":"i"}]}}"#;
    server.create(&format!("{NAMESPACE}/pods"), pod);
    let placed = pod
        .replace("\"p\"", "\"placed\"")
        .replace("\"spec\":{", "\"spec\":{\"nodeName\":\"n\",\"terminationGracePeriodSeconds\":1,");
    server.create(&format!("{NAMESPACE}/pods"), &placed);
    server.create("/api/v1/namespaces/default/configmaps", r#"{"metadata":{"name":"outside"}}"#);
    let start = Instant::now();
    server.delete(NAMESPACE);
    let refused = server.post(&format!("{NAMESPACE}/configmaps"), r#"{"metadata":{"name":"late"}}"#);
    assert_eq!((refused.code, refused.field("reason").as_str()), (403, "Forbidden"), "{}", refused.text());
    server.wait_until_gone(NAMESPACE);
    assert!(start.elapsed() < Duration::from_secs(20), "{:?}", start.elapsed());
    for resource in ["configmaps", "pods"] {
        let list = server.get(&format!("/api/v1/{resource}")).document();
        let inside = items(&list, "items")
            .iter()
            .filter(|object| metadata(object, "namespace").as_str() == Some("short"));
        assert_eq!(inside.count(), 0, "{resource}");
    }
    assert_eq!(server.get("/api/v1/namespaces/default/configmaps/outside").code, 200);
    // The name can be used again, and no earlier object exists.
    server.create_namespace("short");
    let again = server.get(&format!("{NAMESPACE}/configmaps")).document();
    assert!(items(&again, "items").is_empty());
}

#[test]
fn remaining_finalizers_are_named_and_awaited() {
    let server = server();
    let held = r#"{"metadata":{"name":"held","finalizers":["example.com/held"]}}"#;
    server.create(&format!("{NAMESPACE}/configmaps"), held);
    server.delete(NAMESPACE);
    let condition = |kind: &str| {
        let namespace = server.get(NAMESPACE).document();
        let conditions = namespace.get("status").map(|status| items(status, "conditions").to_vec());
        let found =
            conditions.unwrap_or_default().into_iter().find(|condition| text(condition, "type") == kind);
        found.map(|condition| text(&condition, "message").to_string()).unwrap_or_default()
    };
    server.wait_until("the namespace says what it waits for", || {
        condition("NamespaceFinalizersRemaining").contains("example.com/held in 1 resource instances")
    });
    assert!(condition("NamespaceContentRemaining").contains("configmaps has 1 resource instances"));
    assert_eq!(server.get(NAMESPACE).document().at(["status", "phase"]), Some(&Value::from("Terminating")));
    let start = Instant::now();
    server.patch(&format!("{NAMESPACE}/configmaps/held"), MERGE_PATCH, r#"{"metadata":{"finalizers":null}}"#);
    server.wait_until_gone(NAMESPACE);
    assert!(start.elapsed() < Duration::from_secs(10), "{:?}", start.elapsed());
}

#[test]
fn a_custom_finalizer_delays_the_deletion() {
    let server = server();
    let namespace = server.get(NAMESPACE).document();
    let spec = r#"{"finalizers":["kubernetes","example.com/mine"]}"#;
    let with = Value::Object(
        namespace.as_object().expect("an object").with("spec", spec.parse::<Value>().expect("JSON")),
    );
    let put = |body: &Value| {
        let request = crate::http::Request::new("PUT", &format!("{NAMESPACE}/finalize"));
        server.send(&request.body("application/json", body.to_string()))
    };
    assert_eq!(put(&with).code, 200);
    server.delete(NAMESPACE);
    let left = || server.get(NAMESPACE).document().at(["spec", "finalizers"]).cloned().unwrap_or_default();
    server.wait_until("the content is gone", || left().to_string() == r#"["example.com/mine"]"#);
    let namespace = server.get(NAMESPACE).document();
    let without =
        Value::Object(namespace.as_object().expect("an object").with("spec", Value::object::<&str>([])));
    let response = put(&without);
    assert_eq!(response.code, 200, "{}", response.text());
    server.wait_until_gone(NAMESPACE);
}
