//! One rule for the size of objects: whatever was accepted can be read and put back.

use crate::{
    http::Request,
    server::{APPLY, JSON_PATCH, MERGE_PATCH, Server},
};

const DEFINITIONS: &str = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
const BLOBS: &str = "/apis/example.com/v1/namespaces/default/blobs";

fn server() -> Server {
    let server = Server::start();
    server.create(
        DEFINITIONS,
        r#"{"apiVersion":"apiextensions.k8s.io/v1","kind":"CustomResourceDefinition","metadata":{"name":"blobs.example.com"},
        "spec":{"group":"example.com","scope":"Namespaced","names":{"plural":"blobs","kind":"Blob"},
        "versions":[{"name":"v1","served":true,"storage":true,"schema":{"openAPIV3Schema":{"type":"object","x-kubernetes-preserve-unknown-fields":true}}}]}}"#,
    );
    server
}

fn nested(depth: usize) -> String {
    format!("{}1{}", r#"{"a":"#.repeat(depth), "}".repeat(depth))
}

fn blob(name: &str, spec: &str) -> String {
    format!(r#"{{"apiVersion":"example.com/v1","kind":"Blob","metadata":{{"name":"{name}"}},"spec":{spec}}}"#)
}

/// Reads an object and puts it back, in both formats.
fn put_back(server: &Server, path: &str, about: &str) {
    for media_type in ["application/json", "application/yaml"] {
        let read = server.send(&Request::new("GET", path).header("accept", media_type));
        assert_eq!(read.code, 200, "{about}");
        let put = server.send(&Request::new("PUT", path).body(media_type, read.body.clone()));
        let shown: String = put.text().chars().take(300).collect();
        assert_eq!(put.code, 200, "{about} as {media_type}: {shown}");
    }
}

#[test]
fn what_is_accepted_by_any_write_can_be_put_back() {
    let server = server();
    let mut accepted = Vec::new();
    for depth in [100, 190, 195, 198, 199, 200, 201, 205, 240, 250, 254] {
        let path = format!("{BLOBS}/d{depth}");
        let spec = nested(depth);
        let deep = format!(r#"{{"spec":{spec}}}"#);
        // An object that is half as deep, into which the other half is patched.
        let (half, rest) = (nested(depth / 2), nested(depth - depth / 2));
        let pointer = format!("/spec{}", "/a".repeat(depth / 2));
        let operation = format!(r#"[{{"op":"replace","path":"{pointer}","value":{rest}}}]"#);
        let writes: [(&str, String, &str, String); 4] = [
            ("create", String::new(), "", String::new()),
            ("merge", blob(&format!("d{depth}"), "{}"), MERGE_PATCH, deep),
            ("patch", blob(&format!("d{depth}"), &half), JSON_PATCH, operation),
            ("apply", String::new(), APPLY, blob(&format!("d{depth}"), &spec)),
        ];
        for (kind, first, media_type, body) in writes {
            let about = format!("{kind} of {depth} levels");
            if !first.is_empty() {
                server.create(BLOBS, &first);
            }
            let response = match kind {
                "create" => server.post(BLOBS, &blob(&format!("d{depth}"), &spec)),
                "apply" => server.apply(&path, "tester", &body),
                _ => server.patch(&path, media_type, &body),
            };
            // The field `spec` and the object itself are two levels more.
            let fits = depth < 200;
            assert_eq!(
                response.code < 300,
                fits,
                "{about}: {}",
                response.text().chars().take(300).collect::<String>()
            );
            if fits {
                put_back(&server, &path, &about);
                accepted.push(about);
            } else {
                assert!(matches!(response.code, 400 | 413), "{about}: {}", response.code);
                assert!(
                    response.field("message").contains("level"),
                    "{about}: {}",
                    response.field("message")
                );
            }
            server.delete(&path);
        }
    }
    assert!(accepted.len() >= 12, "{accepted:?}");
}

#[test]
fn an_object_does_not_grow_beyond_what_can_be_put_back() {
    let server = server();
    let path = format!("{BLOBS}/large");
    let numbers = vec!["0"; 150_000].join(",");
    let text = "x".repeat(1_100_000);
    for (what, part) in [("values", format!("[{numbers}]")), ("bytes", format!("{text:?}"))] {
        server.create(BLOBS, &blob("large", "{}"));
        for (at, fits) in [(1, true), (2, true), (3, false)] {
            let response = server.patch(&path, MERGE_PATCH, &format!(r#"{{"spec":{{"p{at}":{part}}}}}"#));
            assert_eq!(
                response.code,
                if fits { 200 } else { 413 },
                "part {at}: {}",
                response.field("message")
            );
            if !fits {
                assert!(response.field("message").contains(what), "{}", response.field("message"));
            }
        }
        put_back(&server, &path, what);
        server.delete(&path);
    }
}

#[test]
fn managers_do_not_make_an_object_larger_than_what_can_be_put_back() {
    let server = server();
    let path = format!("{BLOBS}/managed");
    let fields: Vec<String> = (0..4_000).map(|at| format!(r#""{at}-{}":1"#, "k".repeat(120))).collect();
    let config = blob("managed", &format!("{{{}}}", fields.join(",")));
    let mut refused = 0;
    for manager in 0..8 {
        let response = server.apply(&path, &format!("manager-{manager}"), &config);
        match response.code {
            200 | 201 => {}
            413 => refused += 1,
            code => panic!("{code}: {}", response.field("message")),
        }
    }
    assert!(refused > 0 && refused < 8, "{refused}");
    put_back(&server, &path, "managers");
}
