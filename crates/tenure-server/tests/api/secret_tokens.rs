//! Tokens that a controller keeps in secrets: they last as long as the secret and the account, and their use is recorded.

use crate::{
    http::{Request, Response},
    server::Server,
};
use std::sync::Arc;
use tenure_authentication::credentials::{SigningKey, sign};
use tenure_http::Administrator;
use tenure_server::{Clock, ClusterAuthentication, ServerOptions, TokenKeys};
use tenure_transport::Reloadable;
use tenure_value::{Value, base64, time::Precision};

const ADMIN: &str = "an-administrators-token";
const ACCOUNT: &str = "/api/v1/namespaces/default/serviceaccounts/robot";
const SECRETS: &str = "/api/v1/namespaces/default/secrets";
const WHO_AM_I: &str = "/apis/authentication.k8s.io/v1/selfsubjectreviews";
const WARNING: &str = "Use tokens from the TokenRequest API or manually created secret-based tokens instead of \
                       auto-generated secret-based tokens.";

fn send(server: &Server, token: &str, method: &str, path: &str, body: &str) -> Response {
    let request = Request::new(method, path).header("Authorization", &format!("Bearer {token}"));
    let kind = if method == "PATCH" { "application/merge-patch+json" } else { "application/json" };
    server.send(&if body.is_empty() { request } else { request.body(kind, body) })
}

#[track_caller]
fn admin(server: &Server, method: &str, path: &str, body: &str) -> Value {
    let response = send(server, ADMIN, method, path, body);
    assert!(response.code < 300, "{method} {path}: {}", response.text());
    response.document()
}

/// Who a token is, and the warning that came with the answer.
fn who(server: &Server, token: &str) -> (u16, String, String) {
    let response = send(server, token, "POST", WHO_AM_I, "{}");
    let warning = response.header("warning").unwrap_or_default().to_owned();
    let document = response.document();
    let name = document.at(["status", "userInfo", "username"]).and_then(Value::as_str).unwrap_or_default();
    (response.code, name.to_owned(), warning)
}

fn label(server: &Server, secret: &str) -> Option<String> {
    let secret = admin(server, "GET", &format!("{SECRETS}/{secret}"), "");
    let label = secret.at(["metadata", "labels", "kubernetes.io/legacy-token-last-used"])?;
    label.as_str().map(str::to_owned)
}

/// Creates a secret with a token of the account, as the controller of tokens does.
fn create(server: &Server, key: &SigningKey, secret: &str) -> String {
    let account = admin(server, "GET", ACCOUNT, "");
    let uid = account.at(["metadata", "uid"]).and_then(Value::as_str).unwrap();
    let claims = format!(
        r#"{{"iss":"kubernetes/serviceaccount","sub":"system:serviceaccount:default:robot",
            "kubernetes.io/serviceaccount/namespace":"default","kubernetes.io/serviceaccount/secret.name":"{secret}",
            "kubernetes.io/serviceaccount/service-account.name":"robot",
            "kubernetes.io/serviceaccount/service-account.uid":"{uid}"}}"#
    );
    let token = sign(key, &claims.parse().unwrap()).unwrap();
    let body = format!(
        r#"{{"metadata":{{"name":"{secret}","annotations":{{"kubernetes.io/service-account.name":"robot"}}}},
            "type":"kubernetes.io/service-account-token","data":{{"token":"{}"}}}}"#,
        base64::encode(&token)
    );
    admin(server, "POST", SECRETS, &body);
    token
}

#[test]
fn a_token_lasts_as_long_as_its_secret_and_its_account() {
    let key = Arc::new(SigningKey::generate().unwrap().0);
    let mut options = ServerOptions::new(Administrator::Token(ADMIN.into()));
    options.identity.tokens.keys =
        Reloadable::new(TokenKeys { signing: Some(key.clone()), verifying: Vec::new() });
    let authentication = ClusterAuthentication::default();
    options.identity.token_uses = Some(authentication.token_uses.clone());
    options.aggregation.authentication = Some(authentication);
    let server = Server::configured(options).with_controllers();
    let account = r#"{"metadata":{"name":"robot"},"secrets":[{"name":"generated"}]}"#;
    admin(&server, "POST", "/api/v1/namespaces/default/serviceaccounts", account);

    let name = "system:serviceaccount:default:robot".to_owned();
    let (manual, generated) = (create(&server, &key, "manual"), create(&server, &key, "generated"));
    let today = Clock::default().now().format(Precision::Seconds)[..10].to_owned();
    assert_eq!(label(&server, "manual"), None);
    assert_eq!(who(&server, &manual), (201, name.clone(), String::new()));
    let (code, user, warning) = who(&server, &generated);
    assert_eq!((code, user), (201, name));
    assert!(warning.contains(WARNING), "{warning}");
    assert!(label(&server, "manual").is_some_and(|day| day >= today));
    assert!(label(&server, "generated").is_some_and(|day| day >= today));

    let review = |token: &str| {
        let body = format!(r#"{{"spec":{{"token":"{token}"}}}}"#);
        let review = admin(&server, "POST", "/apis/authentication.k8s.io/v1/tokenreviews", &body);
        let error = review.at(["status", "error"]).and_then(Value::as_str).unwrap_or_default();
        (review.at(["status", "authenticated"]) == Some(&Value::Bool(true)), error.to_owned())
    };
    assert_eq!(review(&manual), (true, String::new()));
    // Another key, and a token that the secret does not hold.
    let (other, _) = SigningKey::generate().unwrap();
    let refused = |token: &str, why: &str| {
        assert_eq!(who(&server, token).0, 401, "{why}");
        let (is_authenticated, error) = review(token);
        assert!(!is_authenticated && error.contains(why), "{error}");
    };
    refused(&create(&server, &other, "forged"), "invalid signature");
    let replaced = create(&server, &key, "replaced");
    admin(&server, "PATCH", &format!("{SECRETS}/replaced"), r#"{"data":{"token":"YQ=="}}"#);
    refused(&replaced, "Token does not match server's copy");
    let mark = r#"{"metadata":{"labels":{"kubernetes.io/legacy-token-invalid-since":"2026-01-01"}}}"#;
    admin(&server, "PATCH", &format!("{SECRETS}/generated"), mark);
    refused(&generated, "has been marked invalid");

    let second = create(&server, &key, "second");
    admin(&server, "DELETE", &format!("{SECRETS}/manual"), "");
    refused(&manual, "Token has been invalidated");
    admin(&server, "DELETE", ACCOUNT, "");
    refused(&second, "not found");
    // A new account of the same name does not make old tokens valid.
    admin(&server, "POST", "/api/v1/namespaces/default/serviceaccounts", account);
    refused(&second, "does not match claim");
}
