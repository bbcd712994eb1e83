//! A proxy that translates JSON requests to protobuf, to replay recorded conversations in protobuf: bodies of
//! built-in kinds are sent to the server as protobuf, and responses are requested in protobuf and returned as
//! JSON.
//!
//! `cargo run -p tenure-codec --example carry_protobuf -- 127.0.0.1:8081 127.0.0.1:8080` listens on the
//! first address and forwards to the server at the second. A body that protobuf cannot represent completely
//! (an unknown field, a value of a wrong type, an empty list) is sent as is.

use std::{
    env,
    error::Error,
    io::{self, Read, Write},
    net::{TcpListener, TcpStream},
    sync::atomic::{AtomicUsize, Ordering::Relaxed},
    thread,
};
use tenure_codec::protobuf;
use tenure_value::{Limits, Value, json};

const PROTOBUF: &str = "application/vnd.kubernetes.protobuf";
const JSON: &str = "application/json";
/// The number of requests, and of bodies and responses that were sent as protobuf.
pub static COUNTS: [AtomicUsize; 3] = [const { AtomicUsize::new(0) }; 3];

/// A request or a response.
pub struct Message {
    /// The first line.
    pub first: String,
    headers: Vec<(String, String)>,
    /// The body.
    pub body: Vec<u8>,
}

impl Message {
    /// Returns the value of a header.
    pub fn header(&self, name: &str) -> &str {
        self.headers.iter().find(|(header, _)| header == name).map_or("", |(_, value)| value)
    }

    /// Sets a header.
    pub fn set(&mut self, name: &str, value: impl Into<String>) {
        self.headers.retain(|(header, _)| header != name);
        self.headers.push((name.into(), value.into()));
    }

    fn bytes(&mut self) -> Vec<u8> {
        self.headers.retain(|(name, _)| name != "transfer-encoding");
        self.set("content-length", self.body.len().to_string());
        self.set("connection", "close");
        let lines = self.headers.iter().map(|(name, value)| format!("{name}: {value}\r\n"));
        let head = format!("{}\r\n{}\r\n", self.first, lines.collect::<String>());
        [head.into_bytes(), self.body.clone()].concat()
    }

    /// Whether the body has a media type.
    pub fn is(&self, essence: &str) -> bool {
        self.header("content-type").split(';').next().is_some_and(|part| part.trim() == essence)
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = env::args().skip(1);
    let (Some(listen), Some(server)) = (arguments.next(), arguments.next()) else {
        return Err("expected two addresses: the one to listen on, and that of the server".into());
    };
    for stream in TcpListener::bind(listen)?.incoming() {
        let (stream, server) = (stream?, server.clone());
        thread::spawn(move || {
            if let Err(error) = carry(stream, &server) {
                eprintln!("{error}");
            }
            let [seen, bodies, answers] = COUNTS.each_ref().map(|count| count.load(Relaxed));
            println!("{seen} requests, {bodies} bodies and {answers} responses in protobuf");
        });
    }
    Ok(())
}

/// Forwards one request and its response as protobuf.
pub fn carry(client: TcpStream, server: &str) -> io::Result<()> {
    forward(client, server, request_as_protobuf, response_from_protobuf)
}

/// Forwards one request and its response, both translated.
pub fn forward(
    mut client: TcpStream,
    server: &str,
    translate_request: fn(&mut Message),
    translate_response: fn(&mut Message),
) -> io::Result<()> {
    let mut request = read(&mut client)?;
    translate_request(&mut request);
    request.set("accept-encoding", "identity");
    let mut upstream = TcpStream::connect(server)?;
    upstream.write_all(&request.bytes())?;
    let mut answer = read(&mut upstream)?;
    translate_response(&mut answer);
    client.write_all(&answer.bytes())
}

fn request_as_protobuf(request: &mut Message) {
    COUNTS[0].fetch_add(1, Relaxed);
    let method = request.first.split(' ').next().unwrap_or_default().to_string();
    if matches!(method.as_str(), "POST" | "PUT" | "DELETE")
        && (request.is(JSON) || request.header("content-type").is_empty())
        && let Some(body) = as_protobuf(&request.body)
    {
        request.body = body;
        request.set("content-type", PROTOBUF);
        COUNTS[1].fetch_add(1, Relaxed);
    }
    let accept = request.header("accept");
    if matches!(accept, "" | "*/*" | JSON) && !request.first.contains("watch") {
        request.set("accept", format!("{PROTOBUF},{JSON}"));
    }
}

fn response_from_protobuf(answer: &mut Message) {
    if answer.is(PROTOBUF)
        && let Ok(value) = protobuf::decode(&answer.body, &Limits::TRUSTED)
    {
        answer.body = json::to_vec(&with_items(value));
        answer.set("content-type", JSON);
        COUNTS[2].fetch_add(1, Relaxed);
    }
}

/// Returns a list with its items, since protobuf does not distinguish an empty list from none.
fn with_items(value: Value) -> Value {
    let kind = value.get("kind").and_then(Value::as_str).unwrap_or_default();
    match value.as_object() {
        Some(fields) if kind.ends_with("List") && !kind.starts_with("API") && !fields.contains("items") => {
            fields.with("items", Value::array([])).into()
        }
        _ => value,
    }
}

/// Returns a body as protobuf if that is lossless.
fn as_protobuf(body: &[u8]) -> Option<Vec<u8>> {
    let (value, duplicates) = json::parse_checked(body, &Limits::default()).ok()?;
    let bytes = protobuf::encode(&value).ok()?;
    let again = protobuf::decode(&bytes, &Limits::default()).ok()?;
    (duplicates.is_empty() && is_within(&value, &again)).then(|| bytes.to_vec())
}

/// Whether one value contains everything of the other.
fn is_within(value: &Value, other: &Value) -> bool {
    match (value, other) {
        (Value::Object(fields), Value::Object(_)) => {
            fields.iter().all(|(name, value)| other.get(name).is_some_and(|other| is_within(value, other)))
        }
        (Value::Array(items), Value::Array(others)) => {
            items.len() == others.len()
                && items.iter().zip(others).all(|(item, other)| is_within(item, other))
        }
        _ => value == other,
    }
}

fn read(stream: &mut TcpStream) -> io::Result<Message> {
    let mut bytes = Vec::new();
    let end = loop {
        if let Some(end) = bytes.windows(4).position(|four| four == b"\r\n\r\n") {
            break end;
        }
        more(stream, &mut bytes)?;
    };
    let head = String::from_utf8_lossy(&bytes[..end]).into_owned();
    let mut lines = head.split("\r\n");
    let first = lines.next().unwrap_or_default().to_string();
    let headers = lines.filter_map(|line| line.split_once(':'));
    let headers =
        headers.map(|(name, value)| (name.to_ascii_lowercase(), value.trim().to_string())).collect();
    let mut message = Message { first, headers, body: Vec::new() };
    let mut body = bytes.split_off(end + 4);
    if message.header("transfer-encoding") == "chunked" {
        while !body.ends_with(b"0\r\n\r\n") {
            more(stream, &mut body)?;
        }
        message.body = unchunked(&body);
    } else {
        let length = message.header("content-length").parse().unwrap_or(0);
        while body.len() < length {
            more(stream, &mut body)?;
        }
        message.body = body;
    }
    Ok(message)
}

fn more(stream: &mut TcpStream, bytes: &mut Vec<u8>) -> io::Result<()> {
    let mut buffer = [0; 16 * 1024];
    match stream.read(&mut buffer)? {
        0 => Err(io::ErrorKind::UnexpectedEof.into()),
        length => {
            bytes.extend_from_slice(&buffer[..length]);
            Ok(())
        }
    }
}

fn unchunked(mut rest: &[u8]) -> Vec<u8> {
    let mut content = Vec::new();
    while let Some(end) = rest.windows(2).position(|two| two == b"\r\n") {
        let length =
            std::str::from_utf8(&rest[..end]).ok().and_then(|text| usize::from_str_radix(text, 16).ok());
        let Some(chunk) = length.and_then(|length| rest.get(end + 2..end + 2 + length)) else { break };
        content.extend_from_slice(chunk);
        rest = rest.get(end + 2 + chunk.len() + 2..).unwrap_or_default();
    }
    content
}
