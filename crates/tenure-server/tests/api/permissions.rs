//! Permissions per field: every way to write is limited by the change that it makes, and a refusal names path and rule.

use crate::{
    http::{Request, Response},
    server::{APPLY, JSON_PATCH, MERGE_PATCH, STRATEGIC_PATCH, Server},
};
use tenure_http::Administrator;
use tenure_value::Value;

const TOKEN: &str = "an-administrators-token";
const WEB: &str = "/apis/apps/v1/namespaces/default/deployments/web";
const DEPLOYMENTS: &str = "/apis/apps/v1/namespaces/default/deployments";
const RBAC: &str = "/apis/rbac.authorization.k8s.io/v1/namespaces/default";

fn request(method: &str, path: &str, media_type: &str, body: &str) -> Request {
    let request = Request::new(method, path).header("Authorization", &format!("Bearer {TOKEN}"));
    if body.is_empty() { request } else { request.body(media_type, body) }
}

/// Sends a request as a user.
fn send_as(server: &Server, user: &str, method: &str, path: &str, media_type: &str, body: &str) -> Response {
    server.send(&request(method, path, media_type, body).header("Impersonate-User", user))
}

/// Sends a request as the administrator; it must succeed.
#[track_caller]
fn admin(server: &Server, method: &str, path: &str, body: &str) -> Value {
    let media_type = if method == "PATCH" { MERGE_PATCH } else { "application/json" };
    let response = server.send(&request(method, path, media_type, body));
    assert!(response.code < 300, "{method} {path}: {}", response.text());
    response.document()
}

fn deployment(replicas: u32, image: &str) -> String {
    format!(
        r#"{{"apiVersion":"apps/v1","kind":"Deployment","metadata":{{"name":"web","namespace":"default"}},"spec":{{"replicas":{replicas},"selector":{{"matchLabels":{{"a":"b"}}}},"template":{{"metadata":{{"labels":{{"a":"b"}}}},"spec":{{"containers":[{{"name":"c","image":"{image}"}}]}}}}}}}}"#
    )
}

/// Starts a server with a deployment and a user `scaler` who may change only `.spec.replicas`.
fn server_with_scaler() -> Server {
    let server = Server::with(Administrator::Token(TOKEN.into()));
    admin(&server, "POST", DEPLOYMENTS, &deployment(1, "one"));
    let rules = r#"[{"apiGroups":["apps"],"resources":["deployments","deployments/scale","deployments/status"],"verbs":["*"]}]"#;
    let limits =
        "[{apiGroups: [apps], resources: ['*'], fields: [.spec.replicas], managers: [scaler, unknown]}]";
    let role = format!(
        r#"{{"metadata":{{"name":"scaler","annotations":{{"tenure.dev/field-rules":"{limits}"}}}},"rules":{rules}}}"#
    );
    admin(&server, "POST", &format!("{RBAC}/roles"), &role);
    let binding = r#"{"metadata":{"name":"scaler"},"roleRef":{"apiGroup":"rbac.authorization.k8s.io","kind":"Role","name":"scaler"},"subjects":[{"apiGroup":"rbac.authorization.k8s.io","kind":"User","name":"scaler"}]}"#;
    admin(&server, "POST", &format!("{RBAC}/rolebindings"), binding);
    server
}

#[test]
fn every_way_to_write_is_limited_to_the_permitted_fields() {
    let server = server_with_scaler();
    let scale = |replicas: u32| {
        format!(
            r#"{{"apiVersion":"autoscaling/v1","kind":"Scale","metadata":{{"name":"web","namespace":"default"}},"spec":{{"replicas":{replicas}}}}}"#
        )
    };
    let apply = |fields: &str| {
        format!(
            r#"{{"apiVersion":"apps/v1","kind":"Deployment","metadata":{{"name":"web"}},"spec":{{{fields}}}}}"#
        )
    };
    let template = r#""template":{"spec":{"containers":[{"name":"c","image":"one"}]}}"#;
    let manager = "fieldManager=scaler";
    let json = "application/json";
    let named = |name: &str| deployment(1, "one").replace(r#""name":"web""#, &format!(r#""name":"{name}""#));
    // Method, path, media type, body, and the field that is refused; none if the write is permitted.
    let cases: Vec<(&str, String, &str, String, &str)> = vec![
        ("PUT", format!("{WEB}?{manager}"), json, deployment(2, "one"), ""),
        ("PUT", format!("{WEB}?{manager}"), json, deployment(2, "two"), ".image"),
        ("PUT", format!("{WEB}?{manager}&dryRun=All"), json, deployment(2, "two"), ".image"),
        ("PATCH", format!("{WEB}?{manager}"), MERGE_PATCH, r#"{"spec":{"replicas":3}}"#.into(), ""),
        (
            "PATCH",
            format!("{WEB}?{manager}"),
            MERGE_PATCH,
            r#"{"spec":{"replicas":3,"paused":true}}"#.into(),
            ".spec.paused",
        ),
        (
            "PATCH",
            format!("{WEB}?{manager}"),
            MERGE_PATCH,
            r#"{"metadata":{"labels":{"a":"b"}}}"#.into(),
            ".metadata.labels.a",
        ),
        (
            "PATCH",
            format!("{WEB}?{manager}"),
            MERGE_PATCH,
            r#"{"metadata":{"managedFields":[{}]}}"#.into(),
            ".spec",
        ),
        ("PATCH", format!("{WEB}?{manager}"), STRATEGIC_PATCH, r#"{"spec":{"replicas":4}}"#.into(), ""),
        (
            "PATCH",
            format!("{WEB}?{manager}"),
            STRATEGIC_PATCH,
            r#"{"spec":{"template":{"spec":{"containers":[{"name":"c","image":"x"}]}}}}"#.into(),
            r#".spec.template.spec.containers[name="c"].image"#,
        ),
        (
            "PATCH",
            format!("{WEB}?{manager}"),
            JSON_PATCH,
            r#"[{"op":"replace","path":"/spec/replicas","value":5}]"#.into(),
            "",
        ),
        (
            "PATCH",
            format!("{WEB}?{manager}"),
            JSON_PATCH,
            r#"[{"op":"add","path":"/spec/paused","value":true}]"#.into(),
            ".spec.paused",
        ),
        ("PATCH", format!("{WEB}?{manager}"), APPLY, apply(r#""replicas":5"#), ""),
        (
            "PATCH",
            format!("{WEB}?{manager}"),
            APPLY,
            apply(&format!(r#""replicas":5,{template}"#)),
            ".spec.template",
        ),
        (
            "PATCH",
            format!("{WEB}?{manager}&force=true"),
            APPLY,
            apply(r#""replicas":5"#),
            "force is not permitted",
        ),
        (
            "PATCH",
            format!("{WEB}?fieldManager=other"),
            APPLY,
            apply(r#""replicas":5"#),
            "field manager \"other\"",
        ),
        ("PATCH", format!("{WEB}/scale?{manager}"), MERGE_PATCH, r#"{"spec":{"replicas":6}}"#.into(), ""),
        ("PUT", format!("{WEB}/scale?{manager}"), json, scale(7), ""),
        (
            "PATCH",
            format!("{WEB}/status?{manager}"),
            MERGE_PATCH,
            r#"{"status":{"replicas":9}}"#.into(),
            ".status.replicas",
        ),
        ("POST", format!("{DEPLOYMENTS}?{manager}"), json, named("other"), ".spec"),
        ("PATCH", format!("{DEPLOYMENTS}/other?{manager}"), APPLY, named("other"), ".spec"),
        ("DELETE", WEB.into(), json, String::new(), ".spec"),
        ("DELETE", format!("{WEB}?dryRun=All"), json, String::new(), ".spec"),
        ("DELETE", DEPLOYMENTS.into(), json, String::new(), ".spec"),
    ];
    for (method, path, media_type, body, refused) in cases {
        let before = admin(&server, "GET", WEB, "");
        let response = send_as(&server, "scaler", method, &path, media_type, &body);
        let described = format!("{method} {path} {body}: {} {}", response.code, response.text());
        if refused.is_empty() {
            assert_eq!(response.code, 200, "{described}");
        } else {
            assert_eq!((response.code, response.field("reason").as_str()), (403, "Forbidden"), "{described}");
            let message = response.field("message");
            assert!(message.contains(refused) && message.contains(r#"of Role "scaler""#), "{described}");
            assert_eq!(admin(&server, "GET", WEB, ""), before, "{described}");
        }
    }
}

#[test]
fn reviews_say_which_fields_a_user_may_write() {
    let server = server_with_scaler();
    let review = |annotations: &str| {
        let review = format!(
            r#"{{"metadata":{{"annotations":{{{annotations}}}}},"spec":{{"user":"scaler","resourceAttributes":{{"verb":"patch","group":"apps","resource":"deployments","namespace":"default"}}}}}}"#
        );
        admin(&server, "POST", "/apis/authorization.k8s.io/v1/subjectaccessreviews", &review)
    };
    for (annotations, allowed, reason) in [
        ("", true, "limited to fields .spec.replicas of *.apps"),
        (
            r#""tenure.dev/fields":".spec.replicas","tenure.dev/field-manager":"scaler""#,
            true,
            "RBAC: allowed by",
        ),
        (
            r#""tenure.dev/fields":".spec.replicas","tenure.dev/field-manager":"other""#,
            false,
            "field manager \"other\"",
        ),
        (
            r#""tenure.dev/fields":"[.spec.replicas, .spec.paused]","tenure.dev/field-manager":"scaler""#,
            false,
            ".spec.paused: may not change",
        ),
        (
            r#""tenure.dev/fields":".spec.replicas","tenure.dev/field-manager":"scaler","tenure.dev/force":"true""#,
            false,
            "force is not permitted",
        ),
    ] {
        let status = review(annotations).get("status").cloned().unwrap_or_default();
        assert_eq!(status.get("allowed"), Some(&Value::Bool(allowed)), "{annotations}: {status}");
        let given = status.get("reason").and_then(Value::as_str).unwrap_or_default();
        assert!(given.contains(reason), "{annotations}: {given}");
    }
    let wrong = r#"{"metadata":{"annotations":{"tenure.dev/fields":".spec["}},"spec":{"user":"x","resourceAttributes":{}}}"#;
    let path = "/apis/authorization.k8s.io/v1/subjectaccessreviews";
    let response = server.send(&request("POST", path, "application/json", wrong));
    assert_eq!(response.code, 422, "{}", response.text());
}

#[test]
fn a_role_whose_field_rules_cannot_be_read_grants_no_write() {
    let server = server_with_scaler();
    let broken = r#"{"metadata":{"annotations":{"tenure.dev/field-rules":"[{resource: [deployments]}]"}}}"#;
    admin(&server, "PATCH", &format!("{RBAC}/roles/scaler"), broken);
    let patch = r#"{"spec":{"replicas":9}}"#;
    let response = send_as(&server, "scaler", "PATCH", WEB, MERGE_PATCH, patch);
    assert_eq!(response.code, 403, "{}", response.text());
    assert_eq!(send_as(&server, "scaler", "GET", WEB, "", "").code, 200);
}
