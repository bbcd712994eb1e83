//! The recorded errors. Clients must see the same class of error for a bad request, the same code and reason for every other error,
//! and for NotFound, AlreadyExists and Conflict also the same message.

use crate::{
    facts::{self, NAMESPACE, items, text},
    http::{Request, Response},
    server::{JSON_PATCH, Server, version},
};
use tenure_http::Administrator;
use tenure_server::{Improvement, Profile};
use tenure_value::Value;

/// Stands for the uid that a recorded request has.
const UID: &str = "3f0c8a3e-6f3a-4f5e-9d0b-2f4b7c1d8e90";
/// Stands for the time that a recorded request has.
const TIME: &str = "2026-01-01T00:00:00Z";

/// Requests without credentials, which are those of `system:anonymous`.
const ANONYMOUS: &str = "403 anonymous";

const DEPLOYMENT: &str = r#"{"metadata":{"name":"d"},"spec":{"replicas":1,"selector":{"matchLabels":{"a":"b"}},
    "template":{"metadata":{"labels":{"a":"b"}},"spec":{"containers":[{"name":"c","image":"a"}]}}}}"#;
const POD: &str = r#"{"metadata":{"name":"p"},"spec":{"containers":[{"name":"c","image":"a"}]}}"#;

/// Creates the objects that the recorded requests refer to.
fn prepare(server: &Server) {
    server.create_namespace(NAMESPACE);
    let core = format!("/api/v1/namespaces/{NAMESPACE}");
    let apps = format!("/apis/apps/v1/namespaces/{NAMESPACE}");
    server.create(&format!("{core}/configmaps"), r#"{"metadata":{"name":"a"},"data":{"k":"v"}}"#);
    server.create(&format!("{core}/pods"), POD);
    server.create(&format!("{core}/services"), r#"{"metadata":{"name":"s"},"spec":{"ports":[{"port":80}]}}"#);
    server.create(&format!("{apps}/deployments"), DEPLOYMENT);
    let replicas =
        r#"{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"d"},"spec":{"replicas":1}}"#;
    assert_eq!(server.apply(&format!("{apps}/deployments/d"), "m1", replicas).code, 200);
}

/// Generates a body whose size the recording gives.
fn sized(case: &str, size: usize) -> String {
    let (before, after) = match case {
        "annotations too big" => {
            (r#"{"kind":"ConfigMap","metadata":{"name":"x","annotations":{"k":""#, r#""}}}"#)
        }
        _ => (r#"{"kind":"ConfigMap","metadata":{"name":"x"},"data":{"k":""#, r#""}}"#),
    };
    format!("{before}{}{after}", "a".repeat(size - before.len() - after.len()))
}

fn request(case: &Value, live: &Value) -> Request {
    let recorded = case.get("request").expect("a request");
    let mut request = Request::new(text(recorded, "method"), text(recorded, "path"));
    if let Some(accept) = recorded.get("accept").and_then(Value::as_str) {
        request = request.header("Accept", accept);
    }
    let Some(body) = recorded.get("body").and_then(Value::as_str) else { return request };
    let size = body.strip_prefix('<').and_then(|rest| rest.strip_suffix(" bytes>"));
    let body = match size.and_then(|size| size.parse().ok()) {
        Some(size) => sized(text(case, "name"), size),
        None => {
            // One request sends the object back with another version.
            let uid = if text(case, "name") == "put stale resourceVersion" { uid(live) } else { UID };
            body.replace("<uid>", uid).replace("<time>", TIME).replace("<rv>", &version(live))
        }
    };
    request.body(text(recorded, "contentType"), body)
}

fn uid(value: &Value) -> &str {
    value.at(["metadata", "uid"]).and_then(Value::as_str).unwrap_or("?")
}

/// Replaces values that differ between runs with the recorded ones.
fn masked(message: &str, live: &Value) -> String {
    let uid = uid(live);
    let version = format!("record ({})", version(live));
    message.replace(UID, "<uid>").replace(uid, "<uid>").replace(&version, "record (<rv>)")
}

/// Returns the difference between a response and the recorded one.
fn difference(case: &Value, response: &Response, live: &Value) -> Option<String> {
    let code = case.get("code").and_then(Value::as_i64).unwrap_or_default() as u16;
    let reason = text(case, "reason");
    let fits = match code {
        400 | 422 | 500 => matches!(response.code, 400 | 422),
        _ => response.code == code,
    };
    if !fits {
        return Some(format!("code {} instead of {code}: {}", response.code, response.text()));
    }
    if let Some(raw) = case.get("rawBody").and_then(Value::as_str) {
        return (response.text() != raw).then(|| format!("{:?} instead of {raw:?}", response.text()));
    }
    if let Some(event) = case.get("event") {
        let frames = response.frames();
        let reason = |value: &Value| value.at(["object", "reason"]).cloned();
        let same = frames.len() == 1
            && frames[0].get("type") == event.get("type")
            && reason(&frames[0]) == reason(event);
        return (!same).then(|| format!("{frames:?} instead of {event}"));
    }
    if code < 400 {
        let kind = text(case, if case.get("kind").is_some() { "kind" } else { "bodyKind" });
        let warning = case.get("Warning").and_then(Value::as_str);
        if response.field("kind") != kind || response.header("warning") != warning {
            return Some(format!("{:?} and {:?}", response.field("kind"), response.header("warning")));
        }
        return None;
    }
    let is_status = response.field("kind") == "Status" && response.field("status") == "Failure";
    if !is_status || response.field("message").is_empty() {
        return Some(format!("no status that says why: {}", response.text()));
    }
    if matches!(code, 400 | 422 | 500) {
        return None;
    }
    if response.field("reason") != reason {
        return Some(format!("reason {} instead of {reason}", response.field("reason")));
    }
    let retry = case.get("Retry-After").and_then(Value::as_str);
    if response.header("retry-after") != retry {
        return Some(format!("Retry-After {:?} instead of {retry:?}", response.header("retry-after")));
    }
    let message = masked(&response.field("message"), live);
    let tells =
        matches!(reason, "NotFound" | "AlreadyExists" | "Conflict") && message != text(case, "message");
    tells.then(|| format!("{message:?} instead of {:?}", text(case, "message")))
}

/// Removes what a successful request created, so that the next one finds the recorded objects.
fn clean(server: &Server, request: &Request, response: &Response) {
    if response.code != 201 || request.path.contains("dryRun") {
        return;
    }
    let path = request.path.split('?').next().unwrap_or_default();
    let made = response.document();
    let name = made.at(["metadata", "name"]).and_then(Value::as_str).unwrap_or_default();
    let path = if request.method == "POST" { format!("{path}/{name}") } else { path.to_string() };
    assert_eq!(server.delete(&path).code, 200, "DELETE {path}");
}

#[test]
fn every_recorded_error_replays() {
    let facts = facts::read("errors.json");
    // The recorded server had CBOR off, as is the default of Kubernetes.
    let mut profile = Profile::tenure();
    profile.set(Improvement::ServeCbor, false);
    let (server, locked) = (Server::behaving(profile), Server::with(Administrator::Token("right".into())));
    prepare(&server);
    server.forget_history();
    let mut failures = Vec::new();
    let mut compared = 0;
    let due = |case: &&Value| case.get("request").is_some();
    for case in items(&facts, "cases").iter().filter(due) {
        let live = server.get(&format!("/api/v1/namespaces/{NAMESPACE}/configmaps/a")).document();
        let request = request(case, &live);
        let name = text(case, "name");
        let found = if name.starts_with(ANONYMOUS) {
            difference(case, &locked.send(&request), &live)
        } else if name == "401 bad token" {
            difference(case, &locked.send(&request.header("Authorization", "Bearer wrong")), &live)
        } else {
            let response = server.send(&request);
            clean(&server, &request, &response);
            difference(case, &response, &live)
        };
        compared += 1;
        failures.extend(found.map(|found| format!("{name}: {found}")));
    }
    assert_eq!(compared, 213);
    assert!(failures.is_empty(), "{} of {compared}\n{}", failures.len(), failures.join("\n"));
}

#[test]
fn a_terminating_namespace_refuses_new_objects() {
    let server = Server::start();
    server.create_namespace("going");
    // An object with a finalizer also keeps its namespace.
    let kept = r#"{"metadata":{"name":"kept","finalizers":["example.com/kept"]}}"#;
    server.create("/api/v1/namespaces/going/configmaps", kept);
    let first = server.delete("/api/v1/namespaces/going");
    assert_eq!((first.code, first.field("kind").as_str()), (200, "Namespace"), "{}", first.text());
    let response = server.post("/api/v1/namespaces/going/configmaps", r#"{"metadata":{"name":"x"}}"#);
    assert_eq!((response.code, response.field("reason").as_str()), (403, "Forbidden"), "{}", response.text());
    let why = "configmaps \"x\" is forbidden: unable to create new content in namespace going because it is being terminated";
    assert_eq!(response.field("message"), why);
    let cause = response.document().at(["details", "causes"]).and_then(|causes| causes.as_array().cloned());
    let cause = cause.and_then(|causes| causes.iter().next().cloned()).unwrap_or_default();
    assert_eq!(text(&cause, "reason"), "NamespaceTerminating");
    let again = server.delete("/api/v1/namespaces/going");
    assert!(matches!(again.code, 200 | 409), "{}", again.text());
}

#[test]
fn a_failed_test_of_a_patch_shows_no_value() {
    let server = Server::start();
    let secrets = "/api/v1/namespaces/default/secrets";
    server.create(secrets, r#"{"metadata":{"name":"s"},"stringData":{"k":"found-value"}}"#);
    let test = |path: &str| {
        let patch = format!(r#"[{{"op":"test","path":"{path}","value":"expected-value"}}]"#);
        let response = server.patch(&format!("{secrets}/s"), JSON_PATCH, &patch);
        assert_eq!(response.code, 422, "{}", response.text());
        response.field("message")
    };
    let start =
        "the server rejected our request due to an error in our request: operation 0: test failed at ";
    assert_eq!(test("/data/k"), format!(r#"{start}"/data/k": it has another value"#));
    assert_eq!(test("/data/none"), format!(r#"{start}"/data/none": it does not exist"#));
}
