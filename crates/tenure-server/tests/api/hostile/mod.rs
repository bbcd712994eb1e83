//! Malformed and malicious requests: each gets a 4xx with a status that says what is wrong, the server stays up, and nothing is
//! stored. The requests are tables, one per kind of defect.

mod bodies;
mod parameters;
mod patches;
mod sizes;
mod wire;

use crate::{http::Request, server::Server};

/// The collection that most requests aim at.
const PATH: &str = "/api/v1/namespaces/default/configmaps";
/// An object that exists.
const ITEM: &str = "/api/v1/namespaces/default/configmaps/live";
/// An object with lists.
const DEPLOYMENT: &str = "/apis/apps/v1/namespaces/default/deployments/live";
const JSON: &str = "application/json";
const YAML: &str = "application/yaml";

/// A bad request: what is wrong with it, the request, and a part of the message.
struct Bad {
    about: String,
    request: Request,
    says: &'static str,
}

fn bad(about: impl Into<String>, request: Request, says: &'static str) -> Bad {
    Bad { about: about.into(), request, says }
}

/// A request that would create an object, with a body of some type.
fn post(media_type: &str, body: impl Into<Vec<u8>>) -> Request {
    Request::new("POST", PATH).body(media_type, body)
}

/// Starts a server with the objects that the requests refer to.
fn prepared() -> Server {
    let server = Server::start();
    server.create(PATH, r#"{"metadata":{"name":"live"},"data":{"k":"v"}}"#);
    let deployment = r#"{"metadata":{"name":"live","finalizers":["example.com/f"]},"spec":{"selector":{"matchLabels":{"a":"b"}},
        "template":{"metadata":{"labels":{"a":"b"}},"spec":{"containers":[{"name":"c","image":"a"}]}}}}"#;
    server.create("/apis/apps/v1/namespaces/default/deployments", deployment);
    server
}

/// Checks that the server is up and serves requests.
fn assert_well(server: &Server, about: &str) {
    assert_eq!(server.get("/readyz").text(), "ok", "after {about}");
    let made = server.post(PATH, r#"{"metadata":{"generateName":"after-"}}"#);
    assert_eq!(made.code, 201, "after {about}: {}", made.text());
}

fn check(table: Vec<Bad>, at_least: usize) {
    let server = prepared();
    assert!(table.len() >= at_least, "{} requests", table.len());
    let before = server.revision();
    let mut failures = Vec::new();
    for Bad { about, request, says } in &table {
        let response = server.send(request);
        let short: String = response.text().chars().take(300).collect();
        let refused = (400..500).contains(&response.code);
        let status = response.field("kind") == "Status" && response.field("status") == "Failure";
        // A path outside of the API gets a plain 404.
        let nowhere = response.code == 404 && response.text().starts_with("404 page not found");
        let is_described = status && response.field("message").contains(says) || nowhere && says.is_empty();
        let revision = server.revision();
        if !(refused && is_described && revision == before) {
            failures.push(format!("{about}: {} {short}; stored: {}", response.code, revision != before));
        }
        if revision != before {
            break;
        }
    }
    assert!(failures.is_empty(), "{} of {}\n{}", failures.len(), table.len(), failures.join("\n"));
    assert_well(&server, "all of them");
}
