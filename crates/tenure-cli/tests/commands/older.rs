//! Older servers: without OpenAPI v3 the types of custom resources come from v2, and without server-side apply the commands say so.

use crate::{harness::TestCluster, recorded::http};
use std::{
    io::{BufRead, BufReader, Write},
    net::{TcpListener, TcpStream},
    thread,
};

const WIDGETS: &str = r#"{"apiVersion":"apiextensions.k8s.io/v1","kind":"CustomResourceDefinition","metadata":{"name":"widgets.example.com"},
    "spec":{"group":"example.com","scope":"Namespaced","names":{"plural":"widgets","singular":"widget","kind":"Widget"},
    "versions":[{"name":"v1","served":true,"storage":true,"schema":{"openAPIV3Schema":{"type":"object","properties":{"spec":{"type":"object","properties":{
    "parts":{"type":"array","x-kubernetes-list-type":"map","x-kubernetes-list-map-keys":["name"],
    "items":{"type":"object","required":["name"],"properties":{"name":{"type":"string"},"v":{"type":"string"}}}}}}}}}}]}}"#;

const WIDGET: &str = "\
apiVersion: example.com/v1
kind: Widget
metadata: {name: w}
spec: {parts: [{name: a, v: '1'}]}
";

/// A proxy for reads that has no OpenAPI v3 and no server-side apply. It ends with the process.
fn older(server: &str) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let address = format!("http://{}", listener.local_addr().expect("a bound address"));
    let server = server.to_owned();
    thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            forward(stream, &server);
        }
    });
    address
}

fn forward(mut stream: TcpStream, server: &str) {
    let lines = BufReader::new(&stream).lines().map_while(Result::ok).take_while(|line| !line.is_empty());
    let head: Vec<String> = lines.collect();
    let path = head.first().and_then(|line| line.split_whitespace().nth(1)).unwrap_or("/").to_owned();
    let patch = head.first().is_some_and(|line| line.starts_with("PATCH"));
    let (code, body) = match path.starts_with("/openapi/v3") {
        _ if patch => (415, r#"{"kind":"Status","code":415,"message":"unknown format"}"#.to_owned()),
        true => (404, "404 page not found".to_owned()),
        false => {
            let (code, value) = http::request(server, "GET", &path, "", "application/json", "");
            (code, value.to_string())
        }
    };
    let response =
        format!("HTTP/1.1 {code} .\r\nConnection: close\r\nContent-Length: {}\r\n\r\n{body}", body.len());
    // The client may have disconnected.
    let _ = stream.write_all(response.as_bytes());
}

#[test]
fn items_of_a_custom_list_have_owners_without_openapi_v3() {
    let cluster = TestCluster::start();
    cluster.request(
        "POST",
        "/apis/apiextensions.k8s.io/v1/customresourcedefinitions",
        "application/json",
        WIDGETS,
    );
    let file = cluster.file("widget.yaml", WIDGET);
    cluster.tenure(&["apply", "-f", &file, "--manager", "alice"]).exits_with(0);
    let server = older(&cluster.server.address);
    let blame = cluster.tenure(&["blame", "widget/w", "--server", &server]).exits_with(0);
    let line = blame.out.lines().find(|line| line.contains("v: \"1\"")).expect("the item is shown");
    assert!(line.contains("alice"), "{line}");
    assert!(!blame.out.contains("not in the object"), "{blame:#?}");
    let why =
        cluster.tenure(&["why", "widget/w", ".spec.parts[name=\"a\"].v", "--server", &server]).exits_with(0);
    why.prints("string").prints("removes it; the server may set a default");
    let audit = cluster.tenure(&["schema", "audit", "--live", "--server", &server]);
    assert!(audit.code.is_some_and(|code| code != 1), "{audit:#?}");
}

#[test]
fn apply_says_that_a_server_has_no_server_side_apply() {
    let cluster = TestCluster::start();
    let server = older(&cluster.server.address);
    let file = cluster.file("map.yaml", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c}\n");
    for command in ["apply", "plan"] {
        let output = cluster.tenure(&[command, "-f", &file, "--server", &server]).exits_with(1);
        output.fails_with(&format!("{server} does not support server-side apply"));
    }
}
