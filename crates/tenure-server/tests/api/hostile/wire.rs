//! Bytes that are not HTTP, bodies that never arrive, and too many managers.

use super::{ITEM, JSON, PATH, assert_well, prepared};
use crate::{
    http::{Request, read_response, send_bytes},
    server::Server,
};
use std::{
    io::{Read, Write},
    net::{Shutdown, TcpStream},
    thread,
    time::Duration,
};
use tenure_value::Value;

#[test]
fn bytes_that_are_not_http_are_refused() {
    let server = prepared();
    let before = server.revision();
    let many: String = (0..2000).map(|at| format!("x-{at}: {at}\r\n")).collect();
    let long = "a".repeat(200_000);
    let post = format!("POST {PATH} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n");
    for (about, bytes) in [
        ("no HTTP at all", "hello\r\n\r\n".to_string()),
        ("an invalid version", format!("GET {PATH} HTTP/9.9\r\nHost: localhost\r\n\r\n")),
        ("a method with signs", format!("G(T {PATH} HTTP/1.1\r\nHost: localhost\r\n\r\n")),
        ("a path without end", format!("GET /{long} HTTP/1.1\r\nHost: localhost\r\n\r\n")),
        ("a header without end", format!("GET {PATH} HTTP/1.1\r\nHost: localhost\r\nx: {long}\r\n\r\n")),
        ("thousands of headers", format!("GET {PATH} HTTP/1.1\r\nHost: localhost\r\n{many}\r\n")),
        ("a header without a name", format!("GET {PATH} HTTP/1.1\r\n: x\r\n\r\n")),
        ("a zero in a header", format!("GET {PATH} HTTP/1.1\r\nHost: localhost\r\nx: a\0b\r\n\r\n")),
        ("an invalid length", format!("{post}Content-Length: x\r\n\r\n{{}}")),
        ("a negative length", format!("{post}Content-Length: -1\r\n\r\n{{}}")),
        ("two lengths", format!("{post}Content-Length: 1\r\nContent-Length: 2\r\n\r\n{{}}")),
        ("an invalid coding", format!("{post}Transfer-Encoding: nope\r\n\r\n{{}}")),
        ("a chunk of no size", format!("{post}Transfer-Encoding: chunked\r\n\r\nzz\r\n{{}}\r\n0\r\n\r\n")),
        ("a chunk beyond all", format!("{post}Transfer-Encoding: chunked\r\n\r\nffffffffffffffffff\r\n{{}}")),
    ] {
        let response = read_response(&send_bytes(server.address, bytes.as_bytes()));
        let code = response.as_ref().map_or(0, |response| response.code);
        // Bytes that are not HTTP of a known version get no response: the server closes the connection.
        assert!((400..500).contains(&code) || code == 0, "{about}: {code}");
        assert_eq!(server.revision(), before, "{about}");
    }
    assert_well(&server, "bytes that are not HTTP");
}

/// Sends a request whose body is shorter than its Content-Length, and returns the code of the response.
fn unfinished(server: &Server, ending: impl FnOnce(&TcpStream)) -> u16 {
    let mut stream = TcpStream::connect(server.address).expect("the server listens");
    let head = format!(
        "POST {PATH} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n"
    );
    stream.write_all(head.as_bytes()).expect("the head is sent");
    stream.write_all(br#"{"metadata":{"name":"half"}"#).expect("half of the body is sent");
    ending(&stream);
    let mut bytes = Vec::new();
    let _ = stream.read_to_end(&mut bytes);
    read_response(&bytes).map_or(0, |response| response.code)
}

#[test]
fn a_body_that_never_arrives_times_out() {
    let server = prepared();
    let before = server.revision();
    thread::scope(|scope| {
        let slow = scope.spawn(|| {
            unfinished(&server, |stream| {
                stream.set_read_timeout(Some(Duration::from_secs(45))).expect("a time is set");
            })
        });
        let cut = unfinished(&server, |stream| stream.shutdown(Shutdown::Write).expect("half a connection"));
        assert!(matches!(cut, 0 | 400), "a connection that ends in a body: {cut}");
        assert!(matches!(slow.join(), Ok(400 | 408)), "a body that does not come");
    });
    assert_eq!(server.revision(), before);
    assert_well(&server, "bodies that do not come");
}

#[test]
fn a_disconnected_client_leaves_no_watch_behind() {
    let server = prepared();
    for _ in 0..50 {
        let mut stream = TcpStream::connect(server.address).expect("the server listens");
        let watch = format!("GET {PATH}?watch=1 HTTP/1.1\r\nHost: localhost\r\n\r\n");
        stream.write_all(watch.as_bytes()).expect("the request is sent");
        stream.read_exact(&mut [0; 1]).expect("the response begins");
    }
    let watches = || {
        let text = server.get("/metrics").text();
        let line = text
            .lines()
            .find(|line| line.contains("watch") && !line.starts_with('#') && line.ends_with(" 0"));
        line.map(str::to_string)
    };
    let gone = (0..100).any(|_| {
        thread::sleep(Duration::from_millis(50));
        watches().is_some()
    });
    assert!(gone, "{}", server.get("/metrics").text());
    assert_well(&server, "clients that went away");
}

#[test]
fn thousands_of_managers_are_refused_or_kept_within_bounds() {
    let server = prepared();
    let entry = |at: usize| {
        format!(
            r#"{{"manager":"m{at}","operation":"Apply","apiVersion":"v1","time":"2026-01-01T00:00:00Z","fieldsType":"FieldsV1","fieldsV1":{{"f:data":{{"f:k{at}":{{}}}}}}}}"#
        )
    };
    let entries: Vec<String> = (0..5000).map(entry).collect();
    let body = format!(
        r#"{{"apiVersion":"v1","kind":"ConfigMap","metadata":{{"name":"live","managedFields":[{}]}},"data":{{"k":"v"}}}}"#,
        entries.join(",")
    );
    let before = server.revision();
    let put = server.send(&Request::new("PUT", ITEM).body(JSON, body));
    assert!((400..500).contains(&put.code), "{}: {} bytes", put.code, put.body.len());
    assert!(put.field("message").contains("managedFields"), "{}", put.text());
    assert_eq!(server.revision(), before);
    // Many updates, each by another manager: the oldest entries are merged, as recorded.
    for at in 0..40 {
        let body = format!(r#"{{"data":{{"k{at}":"v"}}}}"#);
        let path = format!("{ITEM}?fieldManager=m{at}");
        assert_eq!(server.patch(&path, crate::server::MERGE_PATCH, &body).code, 200);
    }
    let live = server.get(ITEM).document();
    let managers =
        live.at(["metadata", "managedFields"]).and_then(Value::as_array).map_or(0, |list| list.len());
    assert!(managers <= 12, "{managers} managers");
    assert_well(&server, "thousands of managers");
}

/// curl sends `labelSelector=a>1` as it is given, and so do libraries that do not escape.
#[test]
fn selectors_need_no_escapes() {
    let server = prepared();
    for number in 0..3 {
        let map = format!(r#"{{"metadata":{{"name":"n{number}","labels":{{"n":"{number}"}}}}}}"#);
        server.create(PATH, &map);
    }
    let get = |query: &str, last: &str| {
        format!("GET {PATH}?labelSelector={query} HTTP/1.1\r\nHost: localhost\r\n{last}\r\n")
    };
    let mut stream = TcpStream::connect(server.address).expect("the server listens");
    // The second request on the connection comes when the first has been answered; what follows a body is left as it is.
    let body = r#"{"metadata":{"name":"raw"},"data":{"line":"GET /?a>b HTTP/1.1\r\n\r\n"}}"#;
    let length = body.len();
    let post = format!(
        "POST {PATH} HTTP/1.1\r\nHost: localhost\r\nContent-Type: {JSON}\r\nContent-Length: {length}\r\n\r\n{body}"
    );
    let mut read = Vec::new();
    for (request, expected) in [
        (get("n>0", ""), "\"n2\""),
        (get("n<1,n", ""), "\"n0\""),
        (post, "a\\u003eb HTTP"),
        (get("n%3E1", "Connection: close\r\n"), "\"n2\""),
    ] {
        stream.write_all(request.as_bytes()).expect("the server reads");
        let start = read.len();
        loop {
            let mut bytes = [0; 4096];
            let count = stream.read(&mut bytes).expect("the server answers");
            read.extend_from_slice(&bytes[..count]);
            let text = String::from_utf8_lossy(&read[start..]).into_owned();
            if text.contains(expected) || count == 0 {
                assert!(text.contains(expected), "{request}: {text}");
                break;
            }
        }
        let text = String::from_utf8_lossy(&read[start..]);
        assert!(text.starts_with("HTTP/1.1 20") || start > 0, "{text}");
    }
}
