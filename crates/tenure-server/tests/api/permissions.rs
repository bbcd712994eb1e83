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
        // Who asks what to let through would let every field through.
        ("", false, "limited to fields .spec.replicas of *.apps"),
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
    let own = r#"{"spec":{"resourceAttributes":{"verb":"patch","group":"apps","resource":"deployments","namespace":"default"}}}"#;
    let path = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews";
    let status = send_as(&server, "scaler", "POST", path, "application/json", own).document();
    assert_eq!(status.at(["status", "allowed"]), Some(&Value::Bool(true)), "{status}");
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

#[test]
fn a_user_makes_so_many_changes_a_minute() {
    let server = server_with_granting_scaler();
    // Labels may change as often as wanted, which permits nothing else.
    let limits = "[{apiGroups: [apps], resources: [deployments], fields: [.spec.replicas], changesPerMinute: 3}, \
         {apiGroups: [apps], resources: [deployments], fields: [.metadata.labels]}]";
    let role = format!(r#"{{"metadata":{{"annotations":{{"tenure.dev/field-rules":"{limits}"}}}}}}"#);
    admin(&server, "PATCH", &format!("{RBAC}/roles/scaler"), &role);
    let scale = |replicas: u32, query: &str| {
        let patch = format!(r#"{{"spec":{{"replicas":{replicas}}}}}"#);
        send_as(&server, "scaler", "PATCH", &format!("{WEB}?fieldManager=scaler{query}"), MERGE_PATCH, &patch)
    };
    assert_eq!([scale(2, ""), scale(3, "")].map(|response| response.code), [200, 200]);
    // Neither dry runs nor writes that change nothing count; one that has no permission does not either.
    assert_eq!(scale(9, "&dryRun=All").code, 200);
    assert_eq!(scale(3, "").code, 200);
    let paused = r#"{"spec":{"paused":true}}"#;
    assert_eq!(send_as(&server, "scaler", "PATCH", WEB, MERGE_PATCH, paused).code, 403);
    // What is part of a transaction counts.
    let post = r#"{"metadata":{"name":"transactor"},"rules":[{"nonResourceURLs":["/transactions"],"verbs":["post"]}]}"#;
    let cluster = "/apis/rbac.authorization.k8s.io/v1";
    admin(&server, "POST", &format!("{cluster}/clusterroles"), post);
    let bound = binding("transactor", "ClusterRole", "transactor");
    admin(&server, "POST", &format!("{cluster}/clusterrolebindings"), &bound);
    let write = format!(
        r#"{{"method":"PATCH","path":"{WEB}?fieldManager=scaler","contentType":"{MERGE_PATCH}","body":{{"spec":{{"replicas":4}}}}}}"#
    );
    let transaction =
        format!(r#"{{"apiVersion":"tenure.dev/v1","kind":"Transaction","requests":[{write}]}}"#);
    let json = "application/json";
    let response = send_as(&server, "scaler", "POST", "/transactions", json, &transaction);
    assert_eq!(response.code, 200, "{}", response.text());
    let refused = scale(5, "");
    assert_eq!(refused.code, 429, "{}", refused.text());
    assert!(refused.text().contains("may make 3 changes a minute"), "{}", refused.text());
    assert_eq!(scale(4, "").code, 200, "nothing changes");
    let labelled = |body: &str| send_as(&server, "scaler", "PATCH", WEB, MERGE_PATCH, body).code;
    assert_eq!(labelled(r#"{"metadata":{"labels":{"tier":"front"}}}"#), 200);
    assert_eq!(labelled(r#"{"metadata":{"labels":{"tier":"back"}},"spec":{"replicas":6}}"#), 429);
    let web = server.send(&request("GET", WEB, "", "")).document();
    assert_eq!(web.at(["spec", "replicas"]).and_then(Value::as_i64), Some(4));
    // Nobody grants more than they have.
    for (most, code) in [("changesPerMinute: 4", 403), ("force: false", 403), ("changesPerMinute: 2", 201)] {
        let limits =
            format!("[{{apiGroups: [apps], resources: [deployments], fields: [.spec.replicas], {most}}}]");
        let role = patching_role(&format!("r{code}"), &limits);
        let response = send_as(&server, "scaler", "POST", &format!("{RBAC}/roles"), json, &role);
        assert_eq!(response.code, code, "{most}: {}", response.text());
    }
}

/// Lets the scaler write roles and bindings, without `escalate` and `bind`.
fn server_with_granting_scaler() -> Server {
    let server = server_with_scaler();
    let rules = r#"[{"apiGroups":["rbac.authorization.k8s.io"],"resources":["*"],"verbs":["get","create","update","patch","delete"]}]"#;
    let role = format!(r#"{{"metadata":{{"name":"granter"}},"rules":{rules}}}"#);
    admin(&server, "POST", &format!("{RBAC}/roles"), &role);
    admin(&server, "POST", &format!("{RBAC}/rolebindings"), &binding("granter", "Role", "granter"));
    server
}

fn binding(name: &str, kind: &str, role: &str) -> String {
    format!(
        r#"{{"metadata":{{"name":"{name}"}},"roleRef":{{"apiGroup":"rbac.authorization.k8s.io","kind":"{kind}","name":"{role}"}},"subjects":[{{"apiGroup":"rbac.authorization.k8s.io","kind":"User","name":"scaler"}}]}}"#
    )
}

fn patching_role(name: &str, limits: &str) -> String {
    let rules = r#"[{"apiGroups":["apps"],"resources":["deployments"],"verbs":["patch"]}]"#;
    format!(
        r#"{{"metadata":{{"name":"{name}","annotations":{{"tenure.dev/field-rules":"{limits}"}}}},"rules":{rules}}}"#
    )
}

#[test]
fn limits_are_not_escaped_by_writing_roles() {
    let server = server_with_granting_scaler();
    let limited = |fields: &str, managers: &str| {
        format!(
            "[{{apiGroups: [apps], resources: [deployments], fields: [{fields}], managers: [{managers}]}}]"
        )
    };
    admin(&server, "POST", &format!("{RBAC}/roles"), &patching_role("free", ""));
    let json = "application/json";
    let (roles, bindings) = (format!("{RBAC}/roles"), format!("{RBAC}/rolebindings"));
    let scaler = format!("{roles}/scaler");
    // Method, path, media type, body, and the code.
    let cases: Vec<(&str, &str, &str, String, u16)> = vec![
        (
            "POST",
            &roles,
            json,
            patching_role("a", "")
                .replace(r#""annotations""#, r#""labels""#)
                .replace(r#"{"tenure.dev/field-rules":""}"#, "{}"),
            403,
        ),
        ("POST", &roles, json, patching_role("a", "[]"), 403),
        ("POST", &roles, json, patching_role("a", &limited(".spec", "scaler")), 403),
        ("POST", &roles, json, patching_role("a", &limited(".spec.replicas", "")), 403),
        ("POST", &roles, json, patching_role("a", &limited(".spec.replicas", "scaler")), 201),
        (
            "PATCH",
            &scaler,
            MERGE_PATCH,
            r#"{"metadata":{"annotations":{"tenure.dev/field-rules":null}}}"#.into(),
            403,
        ),
        (
            "PATCH",
            &scaler,
            MERGE_PATCH,
            r#"{"metadata":{"annotations":{"tenure.dev/field-rules":"[]"}}}"#.into(),
            403,
        ),
        ("PATCH", &scaler, JSON_PATCH, r#"[{"op":"remove","path":"/metadata/annotations"}]"#.into(), 403),
        ("PATCH", &scaler, MERGE_PATCH, r#"{"metadata":{"labels":{"seen":"yes"}}}"#.into(), 200),
        ("POST", &bindings, json, binding("b", "Role", "free"), 403),
        ("POST", &bindings, json, binding("b", "ClusterRole", "edit"), 403),
        ("POST", &bindings, json, binding("b", "Role", "a"), 201),
    ];
    for (method, path, media_type, body, code) in cases {
        let response = send_as(&server, "scaler", method, path, media_type, &body);
        assert_eq!(response.code, code, "{method} {path} {body}: {}", response.text());
        if code == 403 && !body.contains("edit") {
            let message = response.field("message");
            assert!(message.contains("held only for fields .spec.replicas of *.apps"), "{message}");
        }
    }
    let paused = r#"{"spec":{"paused":true}}"#;
    let response =
        send_as(&server, "scaler", "PATCH", &format!("{WEB}?fieldManager=scaler"), MERGE_PATCH, paused);
    assert_eq!(response.code, 403, "{}", response.text());
}

#[test]
fn aggregated_roles_do_not_drop_limits() {
    let server = Server::with(Administrator::Token(TOKEN.into())).with_controllers();
    admin(&server, "POST", DEPLOYMENTS, &deployment(1, "one"));
    let cluster_roles = "/apis/rbac.authorization.k8s.io/v1/clusterroles";
    let limits = "[{apiGroups: [apps], resources: [deployments], fields: [.spec.replicas]}]";
    let part =
        patching_role("part", limits).replace(r#""annotations""#, r#""labels":{"sum":"yes"},"annotations""#);
    admin(&server, "POST", cluster_roles, &part);
    let sum = r#"{"metadata":{"name":"sum"},"aggregationRule":{"clusterRoleSelectors":[{"matchLabels":{"sum":"yes"}}]},"rules":[]}"#;
    admin(&server, "POST", cluster_roles, sum);
    admin(&server, "POST", &format!("{RBAC}/rolebindings"), &binding("sum", "ClusterRole", "sum"));
    let patch = |body: &str| send_as(&server, "scaler", "PATCH", WEB, MERGE_PATCH, body).code;
    server.wait_until("the rules are collected", || patch(r#"{"spec":{"replicas":2}}"#) == 200);
    assert_eq!(patch(r#"{"spec":{"paused":true}}"#), 403);
    let free =
        patching_role("free", "").replace(r#""annotations""#, r#""labels":{"sum":"yes"},"annotations""#);
    let free = free.replace(r#""tenure.dev/field-rules":"""#, "");
    admin(&server, "POST", cluster_roles, &free);
    assert_eq!(patch(r#"{"spec":{"paused":true}}"#), 200, "the same rule without limits is collected, too");
}

#[test]
fn a_rules_review_tells_of_limits() {
    let server = server_with_scaler();
    let path = "/apis/authorization.k8s.io/v1/selfsubjectrulesreviews";
    let review =
        send_as(&server, "scaler", "POST", path, "application/json", r#"{"spec":{"namespace":"default"}}"#);
    let status = review.document().get("status").cloned().unwrap_or_default();
    assert_eq!(status.get("incomplete"), Some(&Value::Bool(true)), "{status}");
    let error = status.get("evaluationError").and_then(Value::as_str).unwrap_or_default();
    assert_eq!(error, "RBAC: writes are limited to fields .spec.replicas of *.apps");
    let rules = status.get("resourceRules").map(Value::to_string).unwrap_or_default();
    assert!(rules.contains(r#""deployments/scale""#), "{rules}");
}

#[test]
fn the_order_of_containers_and_variables_is_a_field() {
    let server = server_with_scaler();
    let pod = |containers: &str, first: &str, variables: &str| {
        let list = |names: &str, rest: &str| {
            let item = |name: char| format!(r#"{{"name":"{name}"{rest}}}"#);
            names.chars().map(item).collect::<Vec<_>>().join(",")
        };
        let env = list(variables, r#","value":"v""#);
        let containers = list(containers, &format!(r#","image":"one","env":[{env}]"#));
        format!(r#""containers":[{containers}],"initContainers":[{}]"#, list(first, r#","image":"one""#))
    };
    let whole = |replicas: u32, spec: &str| {
        deployment(replicas, "one").replace(r#""containers":[{"name":"c","image":"one"}]"#, spec)
    };
    let usual = pod("cd", "ij", "xy");
    admin(&server, "PUT", WEB, &whole(1, &usual));
    let manager = "fieldManager=scaler";
    let place = |spec: &str| format!(r#"{{"spec":{{"template":{{"spec":{{{spec}}}}}}}}}"#);
    let moved = |path: &str| {
        format!(
            r#"[{{"op":"move","from":"/spec/template/spec/{path}/0","path":"/spec/template/spec/{path}/1"}}]"#
        )
    };
    let ordered = |list: &str| {
        place(&format!(
            r#""$setElementOrder/{list}":[{{"name":"j"}},{{"name":"i"}},{{"name":"d"}},{{"name":"c"}}]"#
        ))
    };
    let applied = |spec: &str| {
        format!(
            r#"{{"apiVersion":"apps/v1","kind":"Deployment","metadata":{{"name":"web"}},{}"#,
            &place(spec)[1..]
        )
    };
    let json = "application/json";
    let web = format!("{WEB}?{manager}");
    let (containers, first, variables) =
        (".spec.template.spec.containers: ", ".spec.template.spec.initContainers: ", "[name=\"c\"].env: ");
    let cases = [
        ("PUT", json, whole(2, &pod("dc", "ij", "xy")), containers),
        ("PUT", json, whole(2, &pod("cd", "ji", "xy")), first),
        ("PUT", json, whole(2, &pod("cd", "ij", "yx")), variables),
        ("PATCH", JSON_PATCH, moved("containers"), containers),
        ("PATCH", JSON_PATCH, moved("initContainers"), first),
        ("PATCH", JSON_PATCH, moved("containers/0/env"), variables),
        ("PATCH", MERGE_PATCH, place(&pod("dc", "ij", "xy")), containers),
        ("PATCH", STRATEGIC_PATCH, ordered("containers"), containers),
        ("PATCH", STRATEGIC_PATCH, ordered("initContainers"), first),
        ("PATCH", APPLY, applied(&pod("dc", "ij", "xy")), ".spec.template.spec.containers"),
        ("PUT", json, whole(3, &usual), ""),
    ];
    for (method, media_type, body, refused) in cases {
        let before = admin(&server, "GET", WEB, "");
        let response = send_as(&server, "scaler", method, &web, media_type, &body);
        let described = format!("{method} {media_type} {body}: {} {}", response.code, response.text());
        if refused.is_empty() {
            assert_eq!(response.code, 200, "{described}");
            continue;
        }
        assert_eq!(response.code, 403, "{described}");
        assert!(response.field("message").contains(refused), "{described}");
        assert_eq!(admin(&server, "GET", WEB, ""), before, "{described}");
    }
}
