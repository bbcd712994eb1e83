//! The recorded deletions: the responses, and the objects that remain.

use crate::{
    facts::{self, NAMESPACE, items, text},
    http::{Request, Response},
    server::{Server, metadata},
};
use tenure_value::Value;

fn collection(resource: &str) -> String {
    let group = match resource {
        "deployments" => "/apis/apps/v1",
        "jobs" => "/apis/batch/v1",
        _ => "/api/v1",
    };
    format!("{group}/namespaces/{NAMESPACE}/{resource}")
}

/// Writes the object of a scenario, as described by its name.
fn object(resource: &str, name: &str, scenario: &str) -> String {
    let containers = r#""containers":[{"name":"c","image":"a"}]"#;
    let template = format!(r#""template":{{"metadata":{{"labels":{{"a":"b"}}}},"spec":{{{containers}}}}}"#);
    let spec = match resource {
        "deployments" => format!(r#"{{"selector":{{"matchLabels":{{"a":"b"}}}},{template}}}"#),
        "replicationcontrollers" => format!(r#"{{"selector":{{"a":"b"}},{template}}}"#),
        "jobs" => format!(r#"{{"template":{{"spec":{{"restartPolicy":"Never",{containers}}}}}}}"#),
        "pods" => {
            let node = if scenario.contains("without node") { "" } else { r#""nodeName":"n","# };
            let grace =
                if scenario.contains("own grace 5") { r#""terminationGracePeriodSeconds":5,"# } else { "" };
            format!("{{{node}{grace}{containers}}}")
        }
        _ => "null".into(),
    };
    let finalizers = if scenario == "with finalizer" { r#","finalizers":["facts.example/f"]"# } else { "" };
    let spec = if spec == "null" { String::new() } else { format!(r#","spec":{spec}"#) };
    format!(r#"{{"metadata":{{"name":"{name}"{finalizers}}}{spec}}}"#)
}

/// Returns the recorded parts of a response.
fn summary(response: &Response) -> Value {
    let document = response.document();
    if response.field("kind") == "Status" {
        let details = document.get("details").and_then(Value::as_object).cloned().unwrap_or_default();
        return Value::object([
            ("details", Value::Object(details.without("name").without("uid"))),
            ("kind", Value::from("Status")),
            ("status", document.get("status").cloned().unwrap_or_default()),
        ]);
    }
    let mut fields = vec![
        ("deletionGracePeriodSeconds", metadata(&document, "deletionGracePeriodSeconds")),
        ("deletionTimestamp", Value::Bool(!metadata(&document, "deletionTimestamp").is_null())),
        ("finalizers", metadata(&document, "finalizers")),
        ("generation", metadata(&document, "generation")),
        ("kind", document.get("kind").cloned().unwrap_or_default()),
    ];
    if let Some(items) = document.get("items").and_then(Value::as_array) {
        fields.push(("items", Value::Int(items.len() as i64)));
    }
    Value::object(fields)
}

/// Whether the remaining object is the recorded one. The recorded server had no garbage collector: an object that waited
/// for it alone may be gone.
fn agrees(left: &Value, recorded: &Value) -> bool {
    let waiting = items(recorded, "finalizers");
    let collected = !waiting.is_empty()
        && waiting.iter().all(|name| matches!(name.as_str(), Some("orphan" | "foregroundDeletion")));
    left == recorded || (collected && left.is_null())
}

/// Deletes as one step of a scenario does, and returns the differences.
fn delete(server: &Server, step: &Value, resource: &str, name: &str, whole: bool) -> Option<String> {
    let item = format!("{}/{name}", collection(resource));
    let path = if whole { collection(resource) } else { item.clone() };
    let mut request = Request::new("DELETE", &format!("{path}{}", text(step, "query")));
    if let Some(body) = step.get("body").filter(|body| !body.is_null()) {
        request = request.body("application/json", body.to_string());
    }
    let response = server.send(&request);
    let code = step.get("code").and_then(Value::as_i64).unwrap_or_default();
    let returned = step.get("returned").cloned().unwrap_or_default();
    let found = server.get(&item);
    let left = if found.code == 404 { Value::Null } else { summary(&found) };
    let recorded = step.get("left").cloned().unwrap_or_default();
    let same = i64::from(response.code) == code && summary(&response) == returned && agrees(&left, &recorded);
    (!same).then(|| {
        format!(
            "{} {}\n  left {left}\n  should {code} {returned}\n  left {recorded}",
            response.code,
            summary(&response)
        )
    })
}

#[test]
fn every_recorded_deletion_replays() {
    let facts = facts::read("strategies.json");
    let server = Server::start();
    server.create_namespace(NAMESPACE);
    let scenarios = items(&facts, "deletion");
    assert_eq!(scenarios.len(), 27);
    let mut failures = Vec::new();
    for (at, scenario) in scenarios.iter().enumerate() {
        let (resource, about) = (text(scenario, "resource"), text(scenario, "name"));
        let whole = about.starts_with("collection");
        // One scenario selects its object by the name that it had when it was recorded.
        let selected = text(scenario, "query").split("name%3D").nth(1);
        let name = selected.map_or_else(|| format!("d{at}"), str::to_string);
        server.delete(&format!("{}/{name}", collection(resource)));
        server.create(&collection(resource), &object(resource, &name, about));
        let steps = [Some(scenario), scenario.get("second")];
        let found =
            steps.into_iter().flatten().filter_map(|step| delete(&server, step, resource, &name, whole));
        failures.extend(found.map(|found| format!("{about}: {found}")));
    }
    assert!(failures.is_empty(), "{}\n{}", failures.len(), failures.join("\n"));
}

#[test]
fn dry_run_and_preconditions_are_read_from_query_and_body() {
    let server = Server::start();
    let path = "/api/v1/namespaces/default/configmaps";
    let made = server.create(path, r#"{"metadata":{"name":"kept"}}"#);
    let item = format!("{path}/kept");
    let uid = metadata(&made, "uid");
    let right = format!(r#"{{"preconditions":{{"uid":{uid}}}}}"#);
    let wrong = r#"{"preconditions":{"uid":"3f0c8a3e-6f3a-4f5e-9d0b-2f4b7c1d8e90"}}"#;
    let both = format!(r#"{{"preconditions":{{"uid":{uid}}},"dryRun":["All"]}}"#);
    let cases = [
        ("?dryRun=All", "", 200),
        ("?dryRun=All", "{}", 200),
        ("?dryRun=All", right.as_str(), 200),
        ("", r#"{"dryRun":["All"]}"#, 200),
        ("?gracePeriodSeconds=0", r#"{"dryRun":["All"]}"#, 200),
        ("", both.as_str(), 200),
        ("?dryRun=All", wrong, 409),
        ("", wrong, 409),
        ("?gracePeriodSeconds=0&propagationPolicy=Background", wrong, 409),
    ];
    for (query, body, code) in cases {
        let mut request = Request::new("DELETE", &format!("{item}{query}"));
        if !body.is_empty() {
            request = request.body("application/json", body);
        }
        assert_eq!(server.send(&request).code, code, "DELETE {query} {body}");
        assert_eq!(server.get(&item).document(), made, "{query} {body} left the object alone");
    }
    assert_eq!(server.send(&Request::new("DELETE", &item).body("application/json", right)).code, 200);
    assert_eq!(server.get(&item).code, 404);
}

#[test]
fn an_event_is_deleted_at_once_with_any_propagation_policy() {
    let server = Server::start();
    let events = "/api/v1/namespaces/default/events";
    for policy in ["Orphan", "Foreground", "Background"] {
        server.create(events, r#"{"metadata":{"name":"e"},"involvedObject":{"namespace":"default"}}"#);
        let response = server.delete(&format!("{events}/e?propagationPolicy={policy}"));
        assert_eq!((response.code, response.field("kind").as_str()), (200, "Status"), "{}", response.text());
        assert_eq!(server.get(&format!("{events}/e")).code, 404, "{policy}");
    }
}
