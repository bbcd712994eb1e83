//! Requests that a server refuses before it looks at their path.

use crate::{http::Request, server::Server};
use tenure_server::Access;

const MAPS: &str = "/api/v1/namespaces/default/configmaps";
const MAP: &str = r#"{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a"}}"#;

#[test]
fn a_server_without_authentication_refuses_what_a_web_page_could_send() {
    let server = Server::start();
    let post = |media_type: &str| Request::new("POST", MAPS).body(media_type, MAP);
    let json = || post("application/json");
    for (request, code) in [
        (post(""), 415),
        (post("text/plain"), 415),
        (post("application/x-www-form-urlencoded"), 415),
        (json().header("Origin", "https://evil.example.com"), 403),
        (json().header("Origin", "null"), 403),
        (json().header("Sec-Fetch-Site", "cross-site"), 403),
        (Request::new("GET", MAPS).header("Sec-Fetch-Site", "cross-site"), 403),
        (Request::new("GET", MAPS).host("rebind.example.com"), 403),
    ] {
        let refused = server.send(&request);
        assert_eq!(refused.code, code, "{:?}: {}", request.headers, refused.text());
    }
    assert_eq!(server.get(&format!("{MAPS}/a")).code, 404);
    let own = json().header("Origin", "http://localhost").header("Sec-Fetch-Site", "same-origin");
    assert_eq!(server.send(&own).code, 201);
}

#[test]
fn impersonation_is_refused_not_ignored() {
    let server = Server::with(Access::Token("a token of the administrator".into()));
    let get = || Request::new("GET", MAPS).header("Authorization", "Bearer a token of the administrator");
    assert_eq!(server.send(&get()).code, 200);
    for name in ["Impersonate-User", "impersonate-group", "Impersonate-Extra-scopes"] {
        let refused = server.send(&get().header(name, "jane"));
        assert_eq!(refused.code, 403, "{}", refused.text());
        assert!(refused.says("message").contains("impersonation is not supported"), "{}", refused.text());
    }
}
