//! Servers that are older than the commands: without OpenAPI v3 the types of custom resources come from version 2.

use crate::{harness::World, recorded::http};
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

/// Reads from a server on behalf of others, and knows nothing of OpenAPI v3. It ends with the process.
fn older(server: &str) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let address = format!("http://{}", listener.local_addr().expect("a bound address"));
    let server = server.to_owned();
    thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            pass_on(stream, &server);
        }
    });
    address
}

fn pass_on(mut stream: TcpStream, server: &str) {
    let lines = BufReader::new(&stream).lines().map_while(Result::ok).take_while(|line| !line.is_empty());
    let head: Vec<String> = lines.collect();
    let path = head.first().and_then(|line| line.split_whitespace().nth(1)).unwrap_or("/").to_owned();
    let (code, body) = match path.starts_with("/openapi/v3") {
        true => (404, "404 page not found".to_owned()),
        false => {
            let (code, value) = http::ask(server, "GET", &path, "", "application/json", "");
            (code, value.to_string())
        }
    };
    let answer =
        format!("HTTP/1.1 {code} .\r\nConnection: close\r\nContent-Length: {}\r\n\r\n{body}", body.len());
    // Whoever asked may have gone.
    let _ = stream.write_all(answer.as_bytes());
}

#[test]
fn the_items_of_a_custom_list_have_their_holders_without_openapi_v3() {
    let world = World::start();
    world.ask("POST", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", "application/json", WIDGETS);
    let file = world.file("widget.yaml", WIDGET);
    world.tenure(&["apply", "-f", &file, "--manager", "alice"]).ends(0);
    let server = older(&world.server.address);
    let blame = world.tenure(&["blame", "widget/w", "--server", &server]).ends(0);
    let line = blame.out.lines().find(|line| line.contains("v: \"1\"")).expect("the item is shown");
    assert!(line.contains("alice"), "{line}");
    assert!(!blame.out.contains("not in the object"), "{blame:#?}");
    let why = world.tenure(&["why", "widget/w", ".spec.parts[name=\"a\"].v", "--server", &server]).ends(0);
    why.mentions("string").mentions("apply by alice without it                     removes it");
    let audit = world.tenure(&["schema", "audit", "--live", "--server", &server]);
    assert!(audit.code.is_some_and(|code| code != 1), "{audit:#?}");
}
