//! Invalid parameters, paths, methods and headers.

use super::{DEPLOYMENT, ITEM, JSON, PATH, bad, check, post};
use crate::{
    http::Request,
    server::{MERGE_PATCH, Server},
};
use tenure_value::Value;

#[test]
fn invalid_parameters_are_refused() {
    let mut table = Vec::new();
    for query in [
        "limit=x",
        "limit=1.5",
        "limit=99999999999999999999",
        "continue=zzz&limit=1",
        "continue=e30&limit=1",
        "continue=%00&limit=1",
        "resourceVersion=x",
        "resourceVersion=-1",
        "resourceVersion=1.0",
        "resourceVersion=99999999999999999999999",
        "resourceVersionMatch=Exact",
        "resourceVersion=1&resourceVersionMatch=Nope",
        "resourceVersion=0&resourceVersionMatch=Exact",
        "sendInitialEvents=true",
        "watch=1&sendInitialEvents=true&timeoutSeconds=1",
        "watch=1&resourceVersionMatch=NotOlderThan&timeoutSeconds=1",
        "watch=1&resourceVersion=x&timeoutSeconds=1",
        "watch=1&timeoutSeconds=x",
        "watch=1&timeoutSeconds=1&labelSelector=%3D%3D",
        "labelSelector=a%3D%3D%3Db",
        "labelSelector=a%20in%20b",
        "labelSelector=a%20in%20(",
        "labelSelector=!!a",
        "labelSelector=a,,b",
        "labelSelector=a%3Db%20c",
        "labelSelector=a%20b",
        "labelSelector=-a%3Db",
        "fieldSelector=x",
        "fieldSelector=spec.nope%3Dy",
        "fieldSelector=metadata.name",
        "fieldSelector=metadata.name%3Da,,b",
        "labelSelector=%ff%fe",
        "%ff=1",
        "limit=%zz",
    ] {
        table.push(bad(query, Request::new("GET", &format!("{PATH}?{query}")), ""));
    }
    let long = format!("fieldManager={}", "m".repeat(129));
    for query in [
        "dryRun=Nope",
        "dryRun=",
        "dryRun=All&dryRun=Some",
        "fieldManager=a%07b",
        "fieldManager=%ff",
        "fieldValidation=Nope",
        &long,
    ] {
        let body = r#"{"metadata":{"name":"bad"}}"#;
        table.push(bad(query, Request::new("POST", &format!("{PATH}?{query}")).body(JSON, body), ""));
    }
    for query in [
        "propagationPolicy=Nope",
        "propagationPolicy=Orphan&orphanDependents=true",
        "gracePeriodSeconds=x",
        "dryRun=x",
    ] {
        table.push(bad(query, Request::new("DELETE", &format!("{ITEM}?{query}")), ""));
    }
    for body in [
        "{",
        "[]",
        r#"{"kind":"Nope"}"#,
        r#"{"gracePeriodSeconds":"x"}"#,
        r#"{"dryRun":["x"]}"#,
        r#"{"propagationPolicy":"x"}"#,
        r#"{"preconditions":{"uid":"x"}}"#,
        r#"{"preconditions":{"resourceVersion":"1"}}"#,
        r#"{"dryRun":"All"}"#,
        r#"{"preconditions":"x"}"#,
        r#"{"preconditions":{"uid":7}}"#,
        r#"{"propagationPolicy":7}"#,
    ] {
        table.push(bad(format!("DELETE with {body}"), Request::new("DELETE", ITEM).body(JSON, body), ""));
    }
    let merge = |query: &str| Request::new("PATCH", &format!("{ITEM}?{query}")).body(MERGE_PATCH, "{}");
    table.push(bad("force on a merge patch", merge("force=true"), "force"));
    table.push(bad("force-path on a merge patch", merge("force-path=.data"), "force"));
    for replicas in ["-1", "\"x\"", "1.5", "99999999999"] {
        let body = format!(r#"{{"spec":{{"replicas":{replicas}}}}}"#);
        let request = Request::new("PATCH", &format!("{DEPLOYMENT}/scale")).body(MERGE_PATCH, body);
        table.push(bad(format!("scale to {replicas}"), request, "replicas"));
    }
    check(table, 60);
}

#[test]
fn unknown_paths_and_methods_are_refused() {
    let mut table = Vec::new();
    let long = format!("{PATH}/{}", "a".repeat(50_000));
    for path in [
        "/api/v1/namespaces/default/configmaps/..%2f..%2fsecrets",
        "/api/v1/namespaces/default/configmaps/%2e%2e/x",
        "/api/v1/namespaces/default/../../../etc/passwd",
        "/api/v1/namespaces/../configmaps/live",
        "/api/v1/namespaces/default%2fconfigmaps/live",
        "/api/v1/namespaces/default/configmaps/%00",
        "/api/v1/namespaces/default/configmaps/live%00",
        "/api/v1/namespaces/default/configmaps/%ff",
        "/api/v1/namespaces/default/configmaps/%zz",
        "/api/v1/namespaces/default/configmaps/%",
        "/api/v1/namespaces/default/configmaps/live/status",
        "/api/v1/namespaces/default/configmaps/live/nope/nope/nope",
        "/api/v1/namespaces/default/nopes/live",
        "/api/v1/nodes/live/nope",
        "/api/v9/namespaces/default/configmaps/live",
        "/apis/apps/v9/namespaces/default/deployments/live",
        "/apis/nope.example/v1/things",
        "/api/v1/watch/namespaces/default/nopes",
        "/apis/apps/v1/namespaces/default/deployments/live/scale/x",
        "/%2e%2e/%2e%2e/etc/passwd",
        "/nope",
        &long,
    ] {
        table.push(bad(&path[..path.len().min(80)], Request::new("GET", path), ""));
    }
    for (method, path) in [
        ("PUT", PATH),
        ("PATCH", PATH),
        ("POST", ITEM),
        ("FOO", PATH),
        ("TRACE", ITEM),
        ("OPTIONS", ITEM),
        ("DELETE", "/api/v1/configmaps"),
        ("DELETE", "/api/v1/namespaces"),
        ("POST", "/version"),
        ("DELETE", "/version"),
        ("POST", "/nope"),
    ] {
        table.push(bad(format!("{method} {path}"), Request::new(method, path).body(JSON, "{}"), ""));
    }
    for accept in [
        "text/html",
        "application/nope",
        "application/json;as=Nope;v=v1;g=meta.k8s.io",
        "application/json;as=Table;v=v9;g=meta.k8s.io",
        "image/png;q=0.5",
    ] {
        table.push(bad(format!("Accept {accept}"), Request::new("GET", PATH).header("Accept", accept), ""));
        let request = post(JSON, r#"{"metadata":{"name":"bad"}}"#).header("Accept", accept);
        table.push(bad(format!("POST, Accept {accept}"), request, ""));
    }
    check(table, 43);
}

/// Bytes that are not UTF-8 name a namespace that does not exist: its collections are empty, and nothing can be created in it.
#[test]
fn a_namespace_that_is_not_text_has_no_objects() {
    let server = Server::start();
    let path = "/api/v1/namespaces/%ff/configmaps";
    let list = server.get(path);
    assert_eq!(list.code, 200, "{}", list.text());
    assert_eq!(list.document().get("items"), Some(&Value::array([])));
    assert_eq!(server.get(&format!("{path}/live")).code, 404);
    let created = server.post(path, r#"{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"new"}}"#);
    assert!((400..500).contains(&created.code), "{}", created.text());
}
