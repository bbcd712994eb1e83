//! Discovery in both formats, OpenAPI, health, version, and the tables of every resource.

use crate::{
    facts::{self, text},
    http::{Request, Response},
    server::Server,
};
use tenure_profile::KubernetesVersion;
use tenure_server::{Improvement, Profile};
use tenure_value::Value;

const AGGREGATED: &str = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,\
    application/json;g=apidiscovery.k8s.io;v=v2beta1;as=APIGroupDiscoveryList,application/json";
const TABLE: &str = "application/json;as=Table;v=v1;g=meta.k8s.io";

fn get(server: &Server, path: &str, accept: &str) -> Response {
    let request = Request::new("GET", path);
    server.send(&if accept.is_empty() { request } else { request.header("Accept", accept) })
}

/// Returns a server of the version that the facts are of.
fn recorded() -> Server {
    Server::behaving(Profile::tenure().at(KubernetesVersion::V1_36))
}

/// Checks that a response has the recorded headers.
fn assert_headers(response: &Response, recorded: &Value, about: &str) {
    let headers = recorded.get("headers").and_then(Value::as_object).cloned().unwrap_or_default();
    for (name, value) in headers.iter().filter(|(name, _)| name.as_str() != "Expires") {
        assert_eq!(response.header(name), value.as_str(), "{about}: {name}");
    }
}

#[test]
fn discovery_documents_are_the_recorded_ones() {
    let facts = facts::read("discovery.json");
    let server = recorded();
    let documents = facts.as_object().cloned().expect("an object");
    let mut compared = 0;
    for (about, recorded) in &documents {
        let Some(body) = recorded.get("body").filter(|body| body.as_object().is_some()) else { continue };
        let path = about.split(' ').next().unwrap_or_default();
        let response = get(&server, path, text(recorded, "accept"));
        // The recorded address is that of the recorded server; here it is the requested one.
        let body: Value =
            body.to_string().replace("\\u003chost:port\\u003e", "localhost").parse().expect("a document");
        assert_eq!((response.code, response.document()), (200, body), "{about}");
        assert_headers(&response, recorded, about);
        compared += 1;
    }
    assert_eq!(compared, 10);
}

#[test]
fn aggregated_discovery_is_cached_by_its_entity_tag() {
    let server = Server::start();
    for path in ["/api", "/apis"] {
        let first = get(&server, path, AGGREGATED);
        let mark = first.header("etag").expect("a mark").to_string();
        let hex = mark.trim_matches('"');
        assert!(hex.len() == 128 && hex.bytes().all(|byte| byte.is_ascii_hexdigit()), "{mark}");
        let again = Request::new("GET", path).header("Accept", AGGREGATED).header("If-None-Match", &mark);
        let again = server.send(&again);
        assert_eq!((again.code, again.body.len()), (304, 0), "{path}");
        for (accept, code, media_type) in [
            ("*/*", 200, "application/json"),
            ("", 200, "application/json"),
            ("application/yaml", 200, "application/yaml"),
            ("text/html", 406, "application/json"),
            (
                "application/json;g=apidiscovery.k8s.io;v=v2beta1;as=APIGroupDiscoveryList",
                406,
                "application/json",
            ),
        ] {
            let response = get(&server, path, accept);
            assert_eq!(
                (response.code, response.header("content-type")),
                (code, Some(media_type)),
                "{path} {accept}"
            );
        }
    }
}

#[test]
fn health_and_version_are_as_recorded() {
    let facts = facts::read("discovery.json");
    let server = recorded();
    for path in ["/healthz", "/healthz/nope", "/healthz/ping", "/livez", "/livez/ping", "/readyz"] {
        let recorded = facts.get(path).expect("a recorded response");
        let response = server.get(path);
        let code = recorded.get("code").and_then(Value::as_i64).unwrap_or_default();
        assert_eq!(
            (i64::from(response.code), response.text().as_str()),
            (code, text(recorded, "body")),
            "{path}"
        );
        assert_eq!(response.header("content-type"), Some(text(recorded, "contentType")), "{path}");
    }
    let verbose = server.get("/readyz?verbose").text();
    assert!(verbose.starts_with("[+]ping ok\n") && verbose.contains("readyz check passed"), "{verbose}");
    let (version, recorded) =
        (server.get("/version").document(), facts.get("/version").cloned().unwrap_or_default());
    for name in ["major", "minor", "gitVersion", "emulationMajor", "emulationMinor"] {
        assert_eq!(version.get(name), recorded.get(name), "{name}");
    }
}

#[test]
fn a_server_with_improvements_publishes_them_and_no_other_does() {
    let facts = facts::read("discovery.json");
    let names = |version: &Value| -> Vec<String> {
        version.as_object().into_iter().flatten().map(|(name, _)| name.to_string()).collect()
    };
    let kubernetes = Server::behaving(Profile::kubernetes()).get("/version").document();
    let recorded = facts.get("/version").cloned().unwrap_or_default();
    if recorded.as_object().is_some() {
        assert_eq!(names(&kubernetes), names(&recorded));
    }
    let profile = Profile::kubernetes().with(Improvement::SharedZeros).with(Improvement::ForcePaths);
    let version = Server::behaving(profile).get("/version").document();
    assert_eq!(
        version.at(["tenure", "improvements"]).map(ToString::to_string).as_deref(),
        Some(r#"["SharedZeros","ForcePaths"]"#)
    );
    let all = names(&version);
    assert_eq!(all.into_iter().filter(|name| name != "tenure").collect::<Vec<_>>(), names(&kubernetes));
}

#[test]
fn openapi_documents_are_at_the_addresses_of_the_index_and_immutable() {
    let facts = facts::read("discovery.json");
    let server = Server::start();
    let second = server.get("/openapi/v2");
    let names: Vec<Value> = second
        .document()
        .as_object()
        .expect("a document")
        .iter()
        .map(|(name, _)| Value::from(name.clone()))
        .collect();
    for name in ["definitions", "info", "paths", "swagger"] {
        assert!(names.contains(&Value::from(name)), "/openapi/v2 has {name}");
    }
    let index = server.get("/openapi/v3").document();
    let links = index.get("paths").and_then(Value::as_object).cloned().expect("paths");
    let recorded = facts.at(["/openapi/v3", "paths"]).and_then(Value::as_object).cloned().expect("paths");
    let versions = recorded.iter().filter(|(name, _)| {
        name.as_str() == "api/v1" || name.starts_with("apis/") && name.matches('/').count() == 2
    });
    for (name, _) in versions {
        assert!(links.contains(name), "/openapi/v3 has {name}");
    }
    let link =
        index.at(["paths", "apis/apps/v1", "serverRelativeURL"]).and_then(Value::as_str).expect("a link");
    let response = server.get(link);
    assert_eq!(response.code, 200, "{link}");
    assert_eq!(response.header("cache-control"), Some("public, immutable"));
    for name in ["components", "info", "openapi", "paths"] {
        assert!(response.document().get(name).is_some(), "{link} has {name}");
    }
    let plain = server.get("/openapi/v3/apis/apps/v1");
    assert_eq!((plain.code, plain.header("cache-control")), (200, Some("no-cache, private")));
    assert_eq!(plain.document(), response.document());
    let wrong = server.get("/openapi/v3/apis/apps/v1?hash=0");
    assert_eq!((wrong.code, wrong.header("location")), (301, Some("/openapi/v3/apis/apps/v1?")));
    // Clients accept protobuf by either media type, and JSON as the second choice.
    let protobuf = "application/com.github.proto-openapi.spec.v3.v1.0+protobuf";
    for accept in
        [protobuf, "application/com.github.proto-openapi.spec.v3@v1.0+protobuf, application/json;q=0.5"]
    {
        let binary = get(&server, link, accept);
        assert_eq!((binary.code, binary.header("content-type")), (200, Some(protobuf)));
        assert_eq!(binary.header("etag"), response.header("etag"));
        assert!(binary.body.starts_with(b"\x0a\x053.0.0"), "{accept}");
    }
    let other = "application/com.github.proto-openapi.spec.v2.v1.0+protobuf";
    assert_eq!(get(&server, link, other).code, 406);
    let either = get(&server, link, &format!("{other}, application/json;q=0.5"));
    assert_eq!(either.document(), response.document());
}

#[test]
fn every_resource_is_a_table_of_the_recorded_columns() {
    let facts = facts::read("tables.json");
    let server = Server::start();
    let columns = facts.get("columns").and_then(Value::as_object).cloned().expect("columns");
    for (name, recorded) in &columns {
        let (api_version, resource) = name.split_once(' ').expect("a version and a resource");
        let root = if api_version.contains('/') { "/apis" } else { "/api" };
        let response = get(&server, &format!("{root}/{api_version}/{resource}"), TABLE);
        assert_eq!(
            (response.code, response.field("kind").as_str()),
            (200, "Table"),
            "{name}: {}",
            response.text()
        );
        let document = response.document();
        let is = facts::items(&document, "columnDefinitions").iter().map(|column| {
            Value::Object(column.as_object().cloned().unwrap_or_default().without("description"))
        });
        assert_eq!(Value::array(is), *recorded, "{name}");
    }
}

#[test]
fn a_table_has_cells_and_the_requested_part_of_the_object() {
    let server = Server::start();
    let path = "/api/v1/namespaces/default/configmaps";
    server.create(path, r#"{"metadata":{"name":"a"},"data":{"k":"v","l":"w"}}"#);
    for (query, kind) in
        [("", "PartialObjectMetadata"), ("?includeObject=Object", "ConfigMap"), ("?includeObject=None", "")]
    {
        for path in [format!("{path}{query}"), format!("{path}/a{query}")] {
            let table = get(&server, &path, TABLE).document();
            let rows = facts::items(&table, "rows");
            let cells = facts::items(&rows[0], "cells");
            assert_eq!((cells[0].as_str(), cells[1].as_i64()), (Some("a"), Some(2)), "{path}");
            let object = rows[0].get("object").cloned().unwrap_or_default();
            assert_eq!(text(&object, "kind"), kind, "{path}");
        }
    }
    let refused = get(&server, &format!("{path}?includeObject=Some"), TABLE);
    assert!(matches!(refused.code, 400 | 422), "{}", refused.text());
}
