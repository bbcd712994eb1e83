//! The two profiles, side by side: the conversations of `tests/data/profiles.yaml` are held with a server of each. A conversation
//! about a documented difference gives the response of each; any other gives the response of both, which is that of Kubernetes.

use crate::{
    http::{Request, Response},
    server::{APPLY, JSON_PATCH, MERGE_PATCH, STRATEGIC_PATCH, Server, version},
};
use std::collections::BTreeSet;
use tenure_server::{Improvement, Profile};
use tenure_value::{Limits, Value, yaml};

const PROFILES: [(&str, Profile); 2] = [("kubernetes", Profile::kubernetes()), ("tenure", Profile::tenure())];

fn conversations() -> Vec<Value> {
    let text = include_bytes!("../data/profiles.yaml");
    yaml::parse_all(text, &Limits::default()).expect("the conversations are YAML")
}

fn text<'v>(value: &'v Value, name: &str) -> &'v str {
    value.get(name).and_then(Value::as_str).unwrap_or_default()
}

fn items<'v>(value: &'v Value, name: &str) -> &'v [Value] {
    value.get(name).and_then(Value::as_array).map(|items| items.items()).unwrap_or_default()
}

#[test]
fn every_conversation_matches_its_profile() {
    let mut failures = Vec::new();
    for (name, profile) in PROFILES {
        let server = Server::behaving(profile);
        for conversation in conversations() {
            let title = text(&conversation, "name");
            for (number, step) in items(&conversation, "steps").iter().enumerate() {
                let response = send(&server, step);
                let place = format!("{name}: {title}, step {number}");
                for key in ["both", name] {
                    if let Some(expected) = step.get(key) {
                        let found = differences(&response, expected).into_iter();
                        failures.extend(found.map(|found| format!("{place}: {found}: {}", response.text())));
                    }
                }
            }
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

/// Every improvement that a client of the server can see has a conversation, named by the heading of its entry in the documentation.
#[test]
fn every_improvement_that_a_client_can_see_has_a_conversation() {
    // Only calculated patches show these, and the library's tests cover them; or an error that stays the same.
    const CALCULATED: [Improvement; 10] = [
        Improvement::DropDirectives,
        Improvement::RejectAmbiguousNullKeys,
        Improvement::IgnoreEmptyOrders,
        Improvement::WriteSetReorders,
        Improvement::UniteRepeatedSetItems,
        Improvement::ExcludeUnionMembers,
        Improvement::AllowEqualDeletions,
        Improvement::KeepAdditionsToRemovedMaps,
        Improvement::KeepOrderInConflictChecks,
        Improvement::KeepRepeatedEntries,
    ];
    let all = conversations();
    let listed: BTreeSet<&str> =
        all.iter().map(|waiver| text(waiver, "difference")).filter(|name| !name.is_empty()).collect();
    let headings: BTreeSet<&str> = Improvement::ALL.iter().map(|improvement| improvement.heading()).collect();
    let unknown: Vec<_> = listed.difference(&headings).collect();
    assert!(unknown.is_empty(), "no entry is called {unknown:?}");
    let visible = Profile::tenure().improvements().filter(|improvement| !CALCULATED.contains(improvement));
    let missing: Vec<_> = visible.filter(|improvement| !listed.contains(improvement.heading())).collect();
    assert!(missing.is_empty(), "no conversation shows {missing:?}");
}

/// Storage migration relies on this: an unchanged object is written again after the storage version has changed.
#[test]
fn a_write_that_changes_nothing_moves_an_object_to_the_version_of_storage() {
    for (name, profile) in PROFILES {
        let server = Server::behaving(profile);
        let step = |storage: &str, key: &str| -> Value {
            format!(r#"{{"{key}":"moving","storage":"{storage}","versions":{{"v1":{{"type":"object"}},"v2":{{"type":"object"}}}}}}"#)
                .parse()
                .expect("a step")
        };
        assert_eq!(send(&server, &step("v1", "define")).code, 201);
        let path = "/apis/moving.test/v1/namespaces/default/widgets";
        let created =
            server.create(path, r#"{"apiVersion":"moving.test/v1","kind":"Widget","metadata":{"name":"w"}}"#);
        let touch = || version(&server.patch(&format!("{path}/w"), MERGE_PATCH, "{}").document());
        assert_eq!(touch(), version(&created), "{name}");
        let redefined = send(&server, &step("v2", "redefine"));
        assert_eq!(redefined.code, 200, "{name}: {}", redefined.text());
        let moved = touch();
        assert_ne!(moved, version(&created), "{name}");
        assert_eq!(touch(), moved, "{name}");
    }
}

/// Sends a step and returns the response.
fn send(server: &Server, step: &Value) -> Response {
    if let Some(group) = step.get("define").and_then(Value::as_str) {
        return server
            .post("/apis/apiextensions.k8s.io/v1/customresourcedefinitions", &definition(group, step));
    }
    if let Some(group) = step.get("redefine").and_then(Value::as_str) {
        let path = format!("/apis/apiextensions.k8s.io/v1/customresourcedefinitions/widgets.{group}.test");
        return server.patch(&path, MERGE_PATCH, &definition(group, step));
    }
    const KINDS: [(&str, &str, &str); 9] = [
        ("apply", "PATCH", APPLY),
        ("merge", "PATCH", MERGE_PATCH),
        ("strategic", "PATCH", STRATEGIC_PATCH),
        ("json", "PATCH", JSON_PATCH),
        ("post", "POST", "application/json"),
        ("put", "PUT", "application/json"),
        ("yaml", "POST", "application/yaml"),
        ("get", "GET", ""),
        ("delete", "DELETE", "application/json"),
    ];
    let (kind, method, media_type) =
        KINDS.into_iter().find(|(kind, ..)| step.get(kind).is_some()).expect("a step says what it does");
    let path = text(step, kind);
    let mut request = Request::new(method, path).header("User-Agent", "test");
    if let Some(accept) = step.get("accept").and_then(Value::as_str) {
        request = request.header("Accept", accept);
    }
    match step.get("body") {
        Some(Value::String(body)) => request = request.body(media_type, body.as_str()),
        Some(body) => request = request.body(media_type, body.to_string()),
        None => {}
    }
    server.send(&request)
}

/// Returns the definition of `widgets.GROUP.test`, with a schema for `spec` by version.
fn definition(group: &str, step: &Value) -> String {
    let versions = step.get("versions").and_then(Value::as_object).cloned().unwrap_or_default();
    let storage = step.get("storage").and_then(Value::as_str).unwrap_or("v1");
    let versions = versions.iter().map(|(name, spec)| {
        let schema = format!(
            r#"{{"type":"object","properties":{{"spec":{spec},"status":{{"type":"object","x-kubernetes-preserve-unknown-fields":true}}}}}}"#
        );
        let is_storage = name == storage;
        format!(
            r#"{{"name":"{name}","served":true,"storage":{is_storage},"schema":{{"openAPIV3Schema":{schema}}},"subresources":{{"status":{{}}}}}}"#
        )
    });
    let versions: Vec<String> = versions.collect();
    format!(
        r#"{{"apiVersion":"apiextensions.k8s.io/v1","kind":"CustomResourceDefinition","metadata":{{"name":"widgets.{group}.test"}},
        "spec":{{"group":"{group}.test","scope":"Namespaced","names":{{"plural":"widgets","singular":"widget","kind":"Widget","listKind":"WidgetList"}},
        "versions":[{}]}}}}"#,
        versions.join(",")
    )
}

/// Returns how a response differs from the expectation of a step: the code, values at paths, parts of the message, the warnings.
fn differences(response: &Response, expected: &Value) -> Vec<String> {
    let mut found = Vec::new();
    let code = expected.as_i64().or_else(|| expected.get("code")?.as_i64());
    if let Some(code) = code.filter(|code| *code != i64::from(response.code)) {
        found.push(format!("expected {code}, got {}", response.code));
    }
    let places = expected.get("at").and_then(Value::as_object).cloned().unwrap_or_default();
    for (pointer, wanted) in &places {
        let value = at(&response.document(), pointer).unwrap_or_default();
        if value != *wanted {
            found.push(format!("{pointer}: expected {wanted}, got {value}"));
        }
    }
    if let Some(message) = expected.get("message").and_then(Value::as_str)
        && !text(&response.document(), "message").contains(message)
    {
        found.push(format!("the message does not contain {message:?}"));
    }
    if let Some(Value::Array(wanted)) = expected.get("warnings") {
        let given = response.headers.iter().filter(|(name, _)| name.eq_ignore_ascii_case("warning"));
        let given: Vec<&str> = given.map(|(_, value)| value.as_str()).collect();
        let is_given = |wanted: &str| given.iter().any(|value| value.contains(&wanted.replace('"', "\\\"")));
        if given.len() != wanted.len() || !wanted.iter().filter_map(Value::as_str).all(is_given) {
            found.push(format!("expected warnings {wanted:?}, got {given:?}"));
        }
    }
    found
}

/// Returns the value at a path of names and indexes: `spec.ports.0.name`. A name may be quoted by `'`.
fn at(document: &Value, path: &str) -> Option<Value> {
    let mut names = Vec::new();
    for (number, part) in path.split('\'').enumerate() {
        match number % 2 {
            1 => names.push(part),
            _ => names.extend(part.split('.').filter(|name| !name.is_empty())),
        }
    }
    names.iter().try_fold(document.clone(), |value, name| match value {
        Value::Array(items) => items.get(name.parse::<usize>().ok()?).cloned(),
        value => value.get(name).cloned(),
    })
}
