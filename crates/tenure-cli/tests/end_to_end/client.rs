//! A client over plain HTTP that tolerates a server that is killed: requests that may stay unanswered, and a watch
//! that is read event by event.

use crate::process::TIMEOUT;
use std::{
    io::{BufRead, BufReader, Read, Write},
    net::TcpStream,
    thread,
    time::{Duration, Instant},
};
use tenure_value::{Limits, Value, json};

/// A body of a request: its media type and its text.
pub type Body<'a> = Option<(&'a str, &'a str)>;

/// Sends a request; `None` if no complete response arrives.
pub fn send(address: &str, method: &str, path: &str, body: Body<'_>) -> Option<(u16, Value)> {
    let (media_type, body) = body.unwrap_or(("application/json", ""));
    let headers = format!("Content-Type: {media_type}\r\nContent-Length: {}\r\n", body.len());
    exchange(address, method, path, &headers, body)
}

/// Sends until a response arrives; an earlier request may have been carried out all the same.
pub fn request(address: &str, method: &str, path: &str, body: Body<'_>) -> (u16, Value) {
    let start = Instant::now();
    loop {
        if let Some(response) = send(address, method, path, body) {
            return response;
        }
        assert!(start.elapsed() < TIMEOUT, "no response to {method} {path}");
        thread::sleep(Duration::from_millis(3));
    }
}

/// Sends a request with a token and without a body; `None` if no complete response arrives.
pub fn send_with_token(address: &str, method: &str, path: &str, token: &str) -> Option<(u16, Value)> {
    exchange(address, method, path, &format!("Authorization: Bearer {token}\r\n"), "")
}

fn exchange(address: &str, method: &str, path: &str, headers: &str, body: &str) -> Option<(u16, Value)> {
    let mut stream = connect(address)?;
    let head = format!("{method} {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n{headers}");
    write!(stream, "{head}\r\n{body}").ok()?;
    let mut response = Vec::new();
    stream.read_to_end(&mut response).ok()?;
    let end = response.windows(4).position(|window| window == b"\r\n\r\n")?;
    let head = String::from_utf8_lossy(&response[..end]).into_owned();
    let code = head.split(' ').nth(1)?.parse().ok()?;
    Some((code, json::parse(&response[end + 4..], &Limits::default()).ok()?))
}

fn connect(address: &str) -> Option<TcpStream> {
    let stream = TcpStream::connect(address.strip_prefix("http://").unwrap_or(address)).ok()?;
    stream.set_read_timeout(Some(Duration::from_secs(30))).ok()?;
    Some(stream)
}

/// A watch under way.
pub struct Watch {
    from: BufReader<TcpStream>,
    rest: Vec<u8>,
}

impl Watch {
    /// Opens a watch; `None` if no server responds with one.
    pub fn open(address: &str, path: &str) -> Option<Watch> {
        let mut stream = connect(address)?;
        write!(stream, "GET {path} HTTP/1.1\r\nHost: localhost\r\n\r\n").ok()?;
        let mut from = BufReader::new(stream);
        let mut head = String::new();
        while !head.ends_with("\r\n\r\n") {
            from.read_line(&mut head).ok().filter(|count| *count > 0)?;
        }
        head.starts_with("HTTP/1.1 200").then_some(Watch { from, rest: Vec::new() })
    }

    /// Returns the next event; `None` when the watch has ended.
    pub fn next(&mut self) -> Option<Value> {
        loop {
            if let Some(end) = self.rest.iter().position(|byte| *byte == b'\n') {
                let line: Vec<u8> = self.rest.drain(..=end).collect();
                return json::parse(&line, &Limits::default()).ok();
            }
            let mut size = String::new();
            self.from.read_line(&mut size).ok().filter(|count| *count > 0)?;
            let size = usize::from_str_radix(size.trim_end(), 16).ok().filter(|size| *size > 0)?;
            let mut chunk = vec![0; size + 2];
            self.from.read_exact(&mut chunk).ok()?;
            self.rest.extend_from_slice(&chunk[..size]);
        }
    }
}

/// Returns a text inside a document; empty if there is none.
pub fn text<'v>(value: &'v Value, path: &[&str]) -> &'v str {
    value.at(path.iter().copied()).and_then(Value::as_str).unwrap_or_default()
}
