//! Requests that a server refuses before it looks at their path.

use crate::{http::Request, server::Server};
use tenure_http::Administrator;

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
fn an_impersonated_request_has_the_permissions_of_its_user() {
    let server = Server::with(Administrator::Token("administrators-token".into()));
    let get = || Request::new("GET", MAPS).header("Authorization", "Bearer administrators-token");
    assert_eq!(server.send(&get()).code, 200);
    let jane = server.send(&get().header("Impersonate-User", "jane"));
    assert_eq!(jane.code, 403, "{}", jane.text());
    assert!(jane.field("message").contains("User \"jane\" cannot list resource"), "{}", jane.text());
    let master = get().header("Impersonate-User", "jane").header("Impersonate-Group", "system:masters");
    assert_eq!(server.send(&master).code, 200);
    let nameless = server.send(&get().header("Impersonate-Group", "devs"));
    assert_eq!(nameless.code, 400, "{}", nameless.text());
}
