//! Requests that are not valid HTTP: each is answered or closed, and the next client is served.

use super::server::{Target, is_live};

#[test]
fn malformed_requests_are_refused() {
    let target = Target::in_memory();
    let long = "x".repeat(200_000);
    let body = "Content-Type: application/json\r\nHost: localhost\r\n";
    let path = "/api/v1/namespaces/default/configmaps";
    let requests: Vec<(&str, String)> = vec![
        ("nothing but spaces", "   \r\n\r\n".into()),
        ("no version", "GET /livez\r\n\r\n".into()),
        ("unknown version", "GET /livez HTTP/9.9\r\nHost: localhost\r\n\r\n".into()),
        ("unknown method", "BREW /livez HTTP/1.1\r\nHost: localhost\r\n\r\n".into()),
        ("long method", format!("{long} / HTTP/1.1\r\n\r\n")),
        ("long path", format!("GET /{long} HTTP/1.1\r\nHost: localhost\r\n\r\n")),
        ("long header", format!("GET /livez HTTP/1.1\r\nHost: localhost\r\nX: {long}\r\n\r\n")),
        (
            "many headers",
            format!("GET /livez HTTP/1.1\r\nHost: localhost\r\n{}\r\n", "X: y\r\n".repeat(5_000)),
        ),
        ("header with a NUL", "GET /livez HTTP/1.1\r\nHost: localhost\r\nX: \0\r\n\r\n".into()),
        ("folded header", "GET /livez HTTP/1.1\r\nHost: localhost\r\nX: a\r\n b\r\n\r\n".into()),
        (
            "two lengths",
            format!("POST {path} HTTP/1.1\r\n{body}Content-Length: 2\r\nContent-Length: 3\r\n\r\n{{}}"),
        ),
        (
            "length and chunks",
            format!(
                "POST {path} HTTP/1.1\r\n{body}Content-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"
            ),
        ),
        ("negative length", format!("POST {path} HTTP/1.1\r\n{body}Content-Length: -1\r\n\r\n")),
        (
            "large length",
            format!("POST {path} HTTP/1.1\r\n{body}Content-Length: 99999999999999999999\r\n\r\n"),
        ),
        (
            "length beyond the limit",
            format!("POST {path} HTTP/1.1\r\n{body}Content-Length: 999999999\r\n\r\n"),
        ),
        (
            "chunk that is too large",
            format!("POST {path} HTTP/1.1\r\n{body}Transfer-Encoding: chunked\r\n\r\nFFFFFFFFFFFFFFFF\r\n"),
        ),
        (
            "chunk that is not a number",
            format!("POST {path} HTTP/1.1\r\n{body}Transfer-Encoding: chunked\r\n\r\nxyz\r\n"),
        ),
        (
            "many small chunks",
            format!(
                "POST {path} HTTP/1.1\r\n{body}Connection: close\r\nTransfer-Encoding: chunked\r\n\r\n{}0\r\n\r\n",
                "1\r\nx\r\n".repeat(50_000)
            ),
        ),
        ("unknown encoding", format!("POST {path} HTTP/1.1\r\n{body}Transfer-Encoding: magic\r\n\r\n")),
        (
            "many accepted types",
            format!(
                "GET /api HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nAccept: {}\r\n\r\n",
                "application/x;q=0.1,".repeat(2_000)
            ),
        ),
        ("broken HTTP/2", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\nxxxxxxxxxxxxxxxxxxxxxxxx".into()),
        ("TLS", "\u{16}\u{3}\u{1}\u{2}\0\u{1}\0\u{1}\u{fc}\u{3}\u{3}".into()),
    ];
    for (name, request) in requests {
        let mut request = request.into_bytes();
        request.truncate(1 << 20);
        if let Some((code, text)) = target.send_and_close(&request) {
            assert!(code < 500, "{name}: {text}");
        }
        assert!(is_live(&target.address), "after {name}");
    }
}
