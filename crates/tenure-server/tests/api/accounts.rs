//! Service account tokens: they authenticate as the account until they expire or the account is deleted.

use crate::{
    http::{Request, Response},
    server::Server,
};
use tenure_http::Administrator;
use tenure_value::Value;

const ACCOUNTS: &str = "/api/v1/namespaces/default/serviceaccounts";

fn send(server: &Server, token: &str, method: &str, path: &str, body: &str) -> Response {
    let request = Request::new(method, path).header("Authorization", &format!("Bearer {token}"));
    server.send(&if body.is_empty() { request } else { request.body("application/json", body) })
}

fn locked() -> Server {
    let server = Server::with(Administrator::Token("right".into()));
    let made = send(&server, "right", "POST", ACCOUNTS, r#"{"metadata":{"name":"robot"}}"#);
    assert_eq!(made.code, 201, "{}", made.text());
    // The account has all permissions, so that only authentication is tested.
    let bindings = "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings";
    let binding = r#"{"metadata":{"name":"robot"},"roleRef":{"apiGroup":"rbac.authorization.k8s.io","kind":"ClusterRole","name":"cluster-admin"},
        "subjects":[{"kind":"ServiceAccount","name":"robot","namespace":"default"}]}"#;
    let bound = send(&server, "right", "POST", bindings, binding);
    assert_eq!(bound.code, 201, "{}", bound.text());
    server
}

fn request_token(server: &Server, spec: &str) -> Response {
    let body = format!(r#"{{"apiVersion":"authentication.k8s.io/v1","kind":"TokenRequest","spec":{spec}}}"#);
    send(server, "right", "POST", &format!("{ACCOUNTS}/robot/token"), &body)
}

fn token(response: &Response) -> String {
    assert_eq!(response.code, 201, "{}", response.text());
    response.document().at(["status", "token"]).and_then(Value::as_str).expect("a token").to_owned()
}

fn review(server: &Server, token: &str, audiences: &str) -> Value {
    let body = format!(r#"{{"spec":{{"token":"{token}","audiences":{audiences}}}}}"#);
    let path = "/apis/authentication.k8s.io/v1/tokenreviews";
    let response = send(server, "right", "POST", path, &body);
    response.document().get("status").cloned().unwrap_or_default()
}

#[test]
fn a_token_authenticates_while_its_account_exists() {
    let server = locked();
    let response = request_token(&server, "{}");
    let token = token(&response);
    let document = response.document();
    assert_eq!(document.at(["spec", "expirationSeconds"]).and_then(Value::as_i64), Some(3600));
    assert_eq!(document.at(["metadata", "name"]).and_then(Value::as_str), Some("robot"));
    assert!(document.at(["status", "expirationTimestamp"]).is_some());

    assert_eq!(send(&server, &token, "GET", ACCOUNTS, "").code, 200);
    let path = "/apis/authentication.k8s.io/v1/selfsubjectreviews";
    let user = |token: &str| {
        let response = send(&server, token, "POST", path, "{}").document();
        response.at(["status", "userInfo", "username"]).and_then(Value::as_str).map(str::to_owned)
    };
    assert_eq!(user(&token).as_deref(), Some("system:serviceaccount:default:robot"));
    assert_eq!(user("right").as_deref(), Some("admin"));
    assert_eq!(send(&server, &format!("{token}x"), "GET", ACCOUNTS, "").code, 401);
    let other = Server::with(Administrator::Token("other".into()));
    assert_eq!(send(&other, &token, "GET", ACCOUNTS, "").code, 401, "another control plane's");

    let status = review(&server, &token, "[]");
    assert_eq!(status.get("authenticated"), Some(&Value::Bool(true)), "{status:?}");
    send(&server, "right", "DELETE", &format!("{ACCOUNTS}/robot"), "");
    send(&server, "right", "POST", ACCOUNTS, r#"{"metadata":{"name":"robot"}}"#);
    assert_eq!(send(&server, &token, "GET", ACCOUNTS, "").code, 401, "this robot is another");
    let status = review(&server, &token, "[]");
    assert_eq!(status.get("authenticated"), None, "{status:?}");
}

#[test]
fn a_token_for_another_audience_is_valid_but_does_not_authenticate() {
    let server = locked();
    let token = token(&request_token(&server, r#"{"audiences":["vault"],"expirationSeconds":600}"#));
    assert_eq!(send(&server, &token, "GET", ACCOUNTS, "").code, 401);
    let known = |audiences| review(&server, &token, audiences).get("authenticated").cloned();
    assert_eq!(known(r#"["vault","other"]"#), Some(Value::Bool(true)));
    assert_eq!(known("[]"), None, "the server itself is not meant");
}

#[test]
fn unavailable_resources_are_refused_with_a_reason() {
    let server = locked();
    let cases = [
        (r#"{"expirationSeconds":599}"#, "less than 10 minutes"),
        (r#"{"expirationSeconds":4294967297}"#, "larger than 2^32 seconds"),
    ];
    for (spec, why) in cases {
        let response = request_token(&server, spec);
        assert!(response.code == 422 && response.text().contains(why), "{spec}: {}", response.text());
    }
    let missing = send(&server, "right", "POST", &format!("{ACCOUNTS}/nobody/token"), "{}");
    assert!(missing.code == 404 && missing.text().contains("nobody"), "{}", missing.text());
    assert_eq!(send(&server, "right", "GET", &format!("{ACCOUNTS}/robot/token"), "").code, 405);
}
