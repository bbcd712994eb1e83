//! A client that sends one request per connection, exactly as given: tests need requests that no well-behaved client would send.

use std::{
    io::{Read, Write},
    net::{SocketAddr, TcpStream},
    time::Duration,
};
use tenure_value::{Limits, Value, json};

/// How long a response may take; a watch of the recordings lasts four seconds.
const TIMEOUT: Duration = Duration::from_secs(50);

/// A request to be sent.
#[derive(Clone, Debug)]
pub struct Request {
    pub method: String,
    pub path: String,
    pub host: String,
    pub headers: Vec<(String, String)>,
    pub body: Option<Vec<u8>>,
}

impl Request {
    pub fn new(method: &str, path: &str) -> Request {
        Request {
            method: method.into(),
            path: path.into(),
            host: "localhost".into(),
            headers: Vec::new(),
            body: None,
        }
    }

    /// Sets the `Host` header.
    pub fn host(mut self, host: &str) -> Request {
        self.host = host.into();
        self
    }

    pub fn header(mut self, name: &str, value: &str) -> Request {
        self.headers.push((name.into(), value.into()));
        self
    }

    pub fn body(mut self, media_type: &str, body: impl Into<Vec<u8>>) -> Request {
        self.body = Some(body.into());
        if media_type.is_empty() { self } else { self.header("Content-Type", media_type) }
    }

    fn bytes(&self) -> Vec<u8> {
        let mut head =
            format!("{} {} HTTP/1.1\r\nHost: {}\r\nConnection: close\r\n", self.method, self.path, self.host);
        for (name, value) in &self.headers {
            head += &format!("{name}: {value}\r\n");
        }
        let empty = Vec::new();
        let body = self.body.as_ref().unwrap_or(&empty);
        if self.body.is_some() {
            head += &format!("Content-Length: {}\r\n", body.len());
        }
        let mut bytes = (head + "\r\n").into_bytes();
        bytes.extend_from_slice(body);
        bytes
    }
}

/// A response.
#[derive(Clone, Debug)]
pub struct Response {
    pub code: u16,
    pub headers: Vec<(String, String)>,
    pub body: Vec<u8>,
}

impl Response {
    pub fn header(&self, name: &str) -> Option<&str> {
        let mut values = self.headers.iter().filter(|(header, _)| header.eq_ignore_ascii_case(name));
        values.next().map(|(_, value)| value.as_str())
    }

    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }

    /// Returns the body as a document; `null` if it is not JSON.
    pub fn document(&self) -> Value {
        match self.header("content-type") {
            Some("application/cbor") => {
                tenure_codec::cbor::decode(&self.body, &Limits::default()).expect("CBOR")
            }
            _ => json::parse(&self.body, &Limits::default()).unwrap_or_default(),
        }
    }

    /// Returns the documents of a stream, one per line.
    pub fn frames(&self) -> Vec<Value> {
        let lines = self.body.split(|byte| *byte == b'\n').filter(|line| !line.is_empty());
        lines.map(|line| json::parse(line, &Limits::default()).unwrap_or_default()).collect()
    }

    /// Returns a text of the body's top level, such as `reason` or `message` of a status.
    pub fn field(&self, name: &str) -> String {
        self.document().get(name).and_then(Value::as_str).unwrap_or_default().to_string()
    }
}

/// Sends a request and reads the whole response.
pub fn send(to: SocketAddr, request: &Request) -> Response {
    let bytes = send_bytes(to, &request.bytes());
    read_response(&bytes).unwrap_or_else(|| {
        panic!("{} {}: no response in {:?}", request.method, request.path, String::from_utf8_lossy(&bytes))
    })
}

/// Sends a request to a server that may be down; `None` if no complete response arrives.
pub fn try_send(to: SocketAddr, request: &Request) -> Option<Response> {
    let mut stream = TcpStream::connect(to).ok()?;
    stream.set_read_timeout(Some(TIMEOUT)).ok()?;
    stream.write_all(&request.bytes()).ok()?;
    let mut bytes = Vec::new();
    stream.read_to_end(&mut bytes).ok()?;
    read_response(&bytes)
}

/// Sends bytes and returns everything until the server closes the connection.
pub fn send_bytes(to: SocketAddr, bytes: &[u8]) -> Vec<u8> {
    let mut stream = TcpStream::connect(to).expect("the server listens");
    stream.set_read_timeout(Some(TIMEOUT)).expect("a time is set");
    // A server that refuses early stops reading, and its response is what counts.
    let _ = stream.write_all(bytes);
    let mut response = Vec::new();
    let _ = stream.read_to_end(&mut response);
    response
}

/// Parses a response; `None` if the bytes are not one.
pub fn read_response(bytes: &[u8]) -> Option<Response> {
    let end = bytes.windows(4).position(|window| window == b"\r\n\r\n")?;
    let head = String::from_utf8_lossy(&bytes[..end]).into_owned();
    let mut lines = head.split("\r\n");
    let code = lines.next()?.split(' ').nth(1)?.parse().ok()?;
    let headers: Vec<(String, String)> = lines
        .filter_map(|line| line.split_once(':'))
        .map(|(name, value)| (name.to_string(), value.trim().to_string()))
        .collect();
    let mut response = Response { code, headers, body: bytes[end + 4..].to_vec() };
    if response.header("transfer-encoding") == Some("chunked") {
        response.body = unchunked(&response.body);
    }
    Some(response)
}

fn unchunked(mut rest: &[u8]) -> Vec<u8> {
    let mut body = Vec::new();
    while let Some(end) = rest.windows(2).position(|window| window == b"\r\n") {
        let size =
            std::str::from_utf8(&rest[..end]).ok().and_then(|text| usize::from_str_radix(text, 16).ok());
        let (Some(size), start) = (size, end + 2) else { break };
        if size == 0 || rest.len() < start + size + 2 {
            break;
        }
        body.extend_from_slice(&rest[start..start + size]);
        rest = &rest[start + size + 2..];
    }
    body
}
