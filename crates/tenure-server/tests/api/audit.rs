//! Audit through the server: the events of a request, who made it, what was decided, and which fields changed their owner.

use crate::{
    http::Request,
    server::{MERGE_PATCH, Server},
};
use std::path::Path;
use tenure_audit::{AuditOptions, LogOptions, Policy};
use tenure_http::Administrator;
use tenure_value::Value;

const TOKEN: &str = "an-administrators-token";
const MAPS: &str = "/api/v1/namespaces/default/configmaps";

fn request(method: &str, path: &str) -> Request {
    Request::new(method, path).header("Authorization", &format!("Bearer {TOKEN}"))
}

fn audited(directory: &Path, policy: &str) -> Server {
    let policy = Policy::parse(policy).expect("a policy");
    let log = Some(LogOptions::new(directory.join("audit.log")));
    Server::audited(Administrator::Token(TOKEN.into()), AuditOptions { policy, log, webhook: None })
}

/// Waits until the log has a number of events, and returns them.
#[track_caller]
fn events(server: &Server, directory: &Path, count: usize) -> Vec<Value> {
    let read = || std::fs::read_to_string(directory.join("audit.log")).unwrap_or_default();
    server.wait_until("the events are written", || read().lines().count() >= count);
    let events: Vec<Value> = read().lines().map(|line| line.parse().expect("an event")).collect();
    assert_eq!(events.len(), count, "{events:#?}");
    events
}

fn text<'v>(event: &'v Value, path: &[&str]) -> &'v str {
    event.at(path.iter().copied()).and_then(Value::as_str).unwrap_or_default()
}

#[test]
fn a_write_has_its_stages_bodies_decision_and_owner_changes() {
    let directory = tempfile::tempdir().expect("a directory");
    let policy = "{apiVersion: audit.k8s.io/v1, kind: Policy, omitManagedFields: true, rules: [{level: RequestResponse, resources: [{group: '', resources: [configmaps]}]}]}";
    let server = audited(directory.path(), policy);
    let body = r#"{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a"},"data":{"k":"v"}}"#;
    let create = request("POST", &format!("{MAPS}?fieldManager=alice"))
        .header("Audit-ID", "my-id")
        .body("application/json", body);
    let response = server.send(&create);
    assert_eq!((response.code, response.header("audit-id")), (201, Some("my-id")));
    let events = events(&server, directory.path(), 2);
    let stages: Vec<&str> = events.iter().map(|event| text(event, &["stage"])).collect();
    assert_eq!(stages, ["RequestReceived", "ResponseComplete"]);
    assert!(events[0].get("annotations").is_none() && events[0].get("requestObject").is_none());
    let done = &events[1];
    for (path, expected) in [
        (&["auditID"][..], "my-id"),
        (&["level"], "RequestResponse"),
        (&["verb"], "create"),
        (&["user", "username"], "admin"),
        (&["objectRef", "name"], "a"),
        (&["objectRef", "namespace"], "default"),
        (&["annotations", "authorization.k8s.io/decision"], "allow"),
        (&["annotations", "tenure.dev/owner-changes"], "alice: +.data.k"),
        (&["requestObject", "data", "k"], "v"),
        (&["responseObject", "data", "k"], "v"),
    ] {
        assert_eq!(text(done, path), expected, "{path:?} of {done}");
    }
    assert_eq!(done.at(["responseStatus", "code"]).and_then(Value::as_i64), Some(201));
    assert!(done.at(["responseObject", "metadata", "managedFields"]).is_none());
    assert_eq!(done.at(["sourceIPs"]).map(Value::to_string), Some(r#"["127.0.0.1"]"#.into()));
}

#[test]
fn the_writes_of_a_transaction_have_events_that_lead_to_it() {
    let directory = tempfile::tempdir().expect("a directory");
    let policy = "{apiVersion: audit.k8s.io/v1, kind: Policy, omitStages: [RequestReceived], rules: [{level: Metadata}]}";
    let server = audited(directory.path(), policy);
    let write = |name: &str| {
        format!(
            r#"{{"method":"POST","path":"{MAPS}","body":{{"apiVersion":"v1","kind":"ConfigMap","metadata":{{"name":"{name}"}},"data":{{"k":"v"}}}}}}"#
        )
    };
    let transact = |id: &str, writes: &[String]| {
        let body = format!(
            r#"{{"apiVersion":"tenure.dev/v1","kind":"Transaction","requests":[{}]}}"#,
            writes.join(",")
        );
        let request = request("POST", "/transactions").header("Audit-ID", id).header("User-Agent", "ci/1.0");
        server.send(&request.body("application/json", body)).code
    };
    assert_eq!(transact("first", &[write("a"), write("b")]), 200);
    assert_eq!(transact("second", &[write("c"), write("a")]), 409);
    let events = events(&server, directory.path(), 6);
    let told: Vec<_> = events
        .iter()
        .map(|event| {
            let code = event.at(["responseStatus", "code"]).and_then(Value::as_i64).unwrap_or_default();
            (
                text(event, &["annotations", "tenure.dev/transaction"]),
                text(event, &["objectRef", "name"]),
                code,
            )
        })
        .collect();
    // Of a transaction that was refused, no write took effect.
    assert_eq!(
        told,
        [
            ("first", "a", 201),
            ("first", "b", 201),
            ("", "", 200),
            ("second", "a", 409),
            ("second", "c", 409),
            ("", "", 409)
        ]
    );
    for event in &events {
        assert_eq!(text(event, &["userAgent"]), "ci/1.0");
        assert_eq!(event.at(["sourceIPs"]).map(Value::to_string), Some(r#"["127.0.0.1"]"#.into()));
    }
    // As for a request of its own, the name of the client is that of the manager.
    let object = server.send(&request("GET", &format!("{MAPS}/a"))).document();
    let managers = object.at(["metadata", "managedFields"]).and_then(Value::as_array).expect("managers");
    assert_eq!(text(&managers.items()[0], &["manager"]), "ci");
}

#[test]
fn refused_and_unauthenticated_requests_are_recorded() {
    let directory = tempfile::tempdir().expect("a directory");
    let policy = "{apiVersion: audit.k8s.io/v1, kind: Policy, omitStages: [RequestReceived], rules: [{level: Metadata}]}";
    let server = audited(directory.path(), policy);
    let patch =
        request("PATCH", &format!("{MAPS}/a")).header("Impersonate-User", "ann").body(MERGE_PATCH, "{}");
    assert_eq!(server.send(&patch).code, 403);
    let unknown = Request::new("GET", MAPS).header("Authorization", "Bearer unknown");
    assert_eq!(server.send(&unknown).code, 401);
    let events = events(&server, directory.path(), 2);
    assert_eq!(text(&events[0], &["annotations", "authorization.k8s.io/decision"]), "forbid");
    assert_eq!(text(&events[0], &["impersonatedUser", "username"]), "ann");
    assert_eq!(text(&events[0], &["user", "username"]), "admin");
    assert_eq!(text(&events[0], &["responseStatus", "reason"]), "Forbidden");
    assert_eq!(text(&events[1], &["stage"]), "ResponseStarted");
    assert_eq!(events[1].get("user").map(Value::to_string), Some("{}".into()));
    assert_eq!(events[1].at(["responseStatus", "code"]).and_then(Value::as_i64), Some(401));
}

#[test]
fn a_watch_has_three_events_and_none_is_recorded_where_the_policy_says_so() {
    let directory = tempfile::tempdir().expect("a directory");
    let policy = "{apiVersion: audit.k8s.io/v1, kind: Policy, rules: [{level: None, verbs: [get, list]}, {level: Metadata}]}";
    let server = audited(directory.path(), policy);
    assert_eq!(server.send(&request("GET", MAPS)).code, 200);
    assert_eq!(server.send(&request("GET", &format!("{MAPS}?watch=1&timeoutSeconds=1"))).code, 200);
    let events = events(&server, directory.path(), 3);
    let stages: Vec<&str> = events.iter().map(|event| text(event, &["stage"])).collect();
    assert_eq!(stages, ["RequestReceived", "ResponseStarted", "ResponseComplete"]);
}

#[test]
fn events_name_issued_tokens_deprecated_resources_and_refused_paths() {
    let directory = tempfile::tempdir().expect("a directory");
    let policy = "{apiVersion: audit.k8s.io/v1, kind: Policy, omitStages: [RequestReceived], rules: [{level: None, verbs: [create], resources: [{group: '', resources: [serviceaccounts]}]}, {level: RequestResponse}]}";
    let server = audited(directory.path(), policy);
    let accounts = "/api/v1/namespaces/default/serviceaccounts";
    let post = |path: &str, body: &str| {
        let response = server.send(&request("POST", path).body("application/json", body));
        assert_eq!(response.code, 201, "{}", response.text());
    };
    post(accounts, r#"{"metadata":{"name":"robot"}}"#);
    let asked = r#"{"apiVersion":"authentication.k8s.io/v1","kind":"TokenRequest","spec":{}}"#;
    post(&format!("{accounts}/robot/token"), asked);
    let listed = server.send(&request("GET", "/api/v1/namespaces/default/endpoints"));
    let warning = "299 - \"v1 Endpoints is deprecated in v1.33+; use discovery.k8s.io/v1 EndpointSlice\"";
    assert_eq!(listed.header("warning"), Some(warning));
    assert_eq!(server.send(&request("GET", "/metrics").header("Impersonate-User", "ann")).code, 403);
    let events = events(&server, directory.path(), 3);
    let credential = ["annotations", "authentication.kubernetes.io/issued-credential-id"];
    assert!(text(&events[0], &credential).starts_with("JTI="), "{}", events[0]);
    assert_eq!(text(&events[1], &["annotations", "k8s.io/deprecated"]), "true");
    assert_eq!(text(&events[2], &["responseObject", "reason"]), "Forbidden");
}
