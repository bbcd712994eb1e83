//! A minimal HTTP client that sends recorded requests byte for byte.

use std::{
    io::{Read, Write},
    net::TcpStream,
};
use tenure_value::{Limits, Value, json};

/// Sends a request and returns the code and the response, as text if it is not JSON.
pub fn request(
    address: &str,
    method: &str,
    path: &str,
    kind: &str,
    accept: &str,
    body: &str,
) -> (u16, Value) {
    let host = address.strip_prefix("http://").expect("plain HTTP");
    let mut stream = TcpStream::connect(host).expect("the server listens");
    let kind = if kind.is_empty() { String::new() } else { format!("Content-Type: {kind}\r\n") };
    let head = format!(
        "{method} {path} HTTP/1.1\r\nHost: {host}\r\nAccept: {accept}\r\nConnection: close\r\n{kind}Content-Length: {}\r\n\r\n",
        body.len()
    );
    stream.write_all(head.as_bytes()).expect("a request");
    // A server that refuses early need not read all of it.
    let _ = stream.write_all(body.as_bytes());
    let mut response = Vec::new();
    let _ = stream.read_to_end(&mut response);
    let end = response.windows(4).position(|four| four == b"\r\n\r\n").expect("a response");
    let head = String::from_utf8_lossy(&response[..end]).to_lowercase();
    let code = head.split_whitespace().nth(1).and_then(|code| code.parse().ok()).expect("a code");
    let mut content = response[end + 4..].to_vec();
    if head.contains("transfer-encoding: chunked") {
        content = joined(&content);
    }
    let text = || Value::from(String::from_utf8_lossy(&content).into_owned());
    (code, json::parse(&content, &Limits::TRUSTED).unwrap_or_else(|_| text()))
}

fn joined(mut chunks: &[u8]) -> Vec<u8> {
    let mut content = Vec::new();
    while let Some(end) = chunks.windows(2).position(|two| two == b"\r\n") {
        let size = usize::from_str_radix(&String::from_utf8_lossy(&chunks[..end]), 16).expect("a size");
        if size == 0 {
            break;
        }
        content.extend_from_slice(&chunks[end + 2..end + 2 + size]);
        chunks = &chunks[end + 4 + size..];
    }
    content
}
