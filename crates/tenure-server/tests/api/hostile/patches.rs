//! Invalid patches and applied configurations, and those that would grow without bound.

use super::{DEPLOYMENT, ITEM, JSON, bad, check};
use crate::{
    http::Request,
    server::{APPLY, JSON_PATCH, MERGE_PATCH, STRATEGIC_PATCH},
};

fn patch(path: &str, media_type: &str, body: impl Into<Vec<u8>>) -> Request {
    Request::new("PATCH", path).body(media_type, body)
}

/// Copies a field into itself repeatedly: each step doubles it.
fn doubling() -> String {
    let mut operations = vec![r#"{"op":"add","path":"/data/x","value":["aaaaaaaaaaaaaaaa"]}"#.to_string()];
    for _ in 0..60 {
        operations.push(r#"{"op":"copy","from":"/data/x","path":"/data/y"}"#.into());
        operations.push(r#"{"op":"add","path":"/data/x","value":[]}"#.into());
        operations.push(r#"{"op":"copy","from":"/data/y","path":"/data/x/-"}"#.into());
        operations.push(r#"{"op":"copy","from":"/data/y","path":"/data/x/-"}"#.into());
    }
    format!("[{}]", operations.join(","))
}

#[test]
fn invalid_patches_are_refused() {
    let mut table = Vec::new();
    for body in [
        "{",
        "{}",
        "7",
        "[7]",
        "[{}]",
        r#"[{"op":"nope","path":"/x"}]"#,
        r#"[{"op":7,"path":"/x"}]"#,
        r#"[{"op":"add","path":"data","value":1}]"#,
        r#"[{"op":"add","path":7,"value":1}]"#,
        r#"[{"op":"add","path":"/data/~2","value":"x"}]"#,
        r#"[{"op":"remove","path":"/data/nope"}]"#,
        r#"[{"op":"replace","path":"/nope/x","value":1}]"#,
        r#"[{"op":"test","path":"/data/k","value":"w"}]"#,
        r#"[{"op":"move","from":"/data","path":"/data/k"}]"#,
        r#"[{"op":"copy","from":"/nope/x","path":"/data/x"}]"#,
        r#"[{"op":"replace","path":"","value":7}]"#,
        r#"[{"op":"remove","path":"/metadata/name"}]"#,
        r#"[{"op":"replace","path":"/metadata/name","value":"other"}]"#,
        r#"[{"op":"replace","path":"/metadata/uid","value":"x"}]"#,
        r#"[{"op":"replace","path":"/kind","value":"Secret"}]"#,
    ] {
        table.push(bad(body, patch(ITEM, JSON_PATCH, body), ""));
    }
    let many = vec![r#"{"op":"test","path":"/data/k","value":"v"}"#; 20_000].join(",");
    table.push(bad("20,000 operations", patch(ITEM, JSON_PATCH, format!("[{many}]")), ""));
    table.push(bad("a field that doubles 60 times", patch(ITEM, JSON_PATCH, doubling()), ""));
    for at in ["-1", "01", "5", "x"] {
        let body =
            format!(r#"[{{"op":"replace","path":"/spec/template/spec/containers/{at}","value":{{}}}}]"#);
        table.push(bad(format!("the container at {at}"), patch(DEPLOYMENT, JSON_PATCH, body), ""));
    }
    for body in [
        "{",
        "[]",
        "7",
        "null",
        r#"{"data":7}"#,
        r#"{"data":{"k":{}}}"#,
        r#"{"metadata":7}"#,
        r#"{"metadata":null}"#,
        r#"{"metadata":{"name":null}}"#,
        r#"{"metadata":{"name":"other"}}"#,
        r#"{"metadata":{"namespace":"other"}}"#,
        r#"{"metadata":{"resourceVersion":"1"}}"#,
        r#"{"metadata":{"resourceVersion":"x"}}"#,
        r#"{"metadata":{"labels":{"a b":"c"}}}"#,
        r#"{"kind":"Secret"}"#,
    ] {
        table.push(bad(body, patch(ITEM, MERGE_PATCH, body), ""));
    }
    for body in [
        "{",
        "[]",
        r#"{"spec":{"$patch":"nope"}}"#,
        r#"{"spec":{"$patch":7}}"#,
        r#"{"spec":{"template":{"spec":{"containers":[{"image":"x"}]}}}}"#,
        r#"{"spec":{"template":{"spec":{"containers":[7]}}}}"#,
        r#"{"spec":{"template":{"spec":{"containers":"x"}}}}"#,
        r#"{"spec":{"template":{"spec":{"containers":[{"name":null,"image":"x"}]}}}}"#,
        r#"{"spec":{"template":{"spec":{"$setElementOrder/containers":7}}}}"#,
        r#"{"spec":{"template":{"spec":{"$setElementOrder/containers":[{"name":"x"}],"containers":[{"name":"y","image":"z"}]}}}}"#,
        r#"{"spec":{"strategy":{"$retainKeys":7}}}"#,
        r#"{"spec":{"strategy":{"$retainKeys":["type"],"rollingUpdate":{}}}}"#,
        r#"{"spec":{"replicas":"x"}}"#,
        r#"{"spec":{"replicas":-1}}"#,
    ] {
        table.push(bad(body, patch(DEPLOYMENT, STRATEGIC_PATCH, body), ""));
    }
    for media_type in [JSON, "application/nope+json", "application/merge-patch+cbor", "text/plain", ""] {
        table.push(bad(format!("type {media_type}"), patch(ITEM, media_type, "{}"), "patch"));
    }
    check(table, 60);
}

#[test]
fn invalid_configurations_are_refused() {
    let mut table = Vec::new();
    let apply = |path: &str, body: &str| patch(&format!("{path}?fieldManager=m"), APPLY, body);
    let map = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: live}\n";
    for tail in [
        "data: x",
        "data: {k: 1}",
        "data: {k: {}}",
        "data: [a]",
        "nope: 1",
        "metadata: {name: other}",
        "data: {k: w}",
        "data: *nowhere",
        "data: {k: !!binary x}",
        "data: [",
        "\tdata: {}",
    ] {
        table.push(bad(tail, apply(ITEM, &format!("{map}{tail}")), ""));
    }
    for body in [
        "",
        "7",
        "[]",
        "kind: ConfigMap",
        "{}",
        "apiVersion: v1\nkind: Secret\nmetadata: {name: live}",
        "apiVersion: v9\nkind: ConfigMap\nmetadata: {name: live}",
        "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: live, managedFields: [{manager: m}]}",
        "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: live, resourceVersion: \"1\"}",
        "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: live, uid: nope}",
        "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: live, namespace: other}",
        "apiVersion: v1\nkind: ConfigMap\nmetadata: live",
    ] {
        table.push(bad(body, apply(ITEM, body), ""));
    }
    let deployment = "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: live}\nspec:\n";
    for tail in [
        "  replicas: x",
        "  replicas: 1.5",
        "  replicas: -1",
        "  template: {spec: {containers: [{image: x}]}}",
        "  template: {spec: {containers: [{name: c}, {name: c}]}}",
        "  template: {spec: {containers: [{name: 7, image: x}]}}",
        "  template: {spec: {containers: x}}",
        "  template: {spec: {containers: [{name: n, image: x, ports: [{containerPort: 1}, {containerPort: 1}]}]}}",
        "  template: {spec: {containers: [{name: n, image: x, ports: [{protocol: TCP}]}]}}",
    ] {
        table.push(bad(tail, apply(DEPLOYMENT, &format!("{deployment}{tail}")), ""));
    }
    let force = |path: &str| {
        patch(&format!("{ITEM}?fieldManager=m&force-path={path}"), APPLY, format!("{map}data: {{k: w}}"))
    };
    for path in ["x", "%5B", ".data.%5Bname", ".nope", "%ff"] {
        table.push(bad(format!("force-path {path}"), force(path), ""));
    }
    table.push(bad("no manager", patch(ITEM, APPLY, map), "fieldManager"));
    check(table, 38);
}
