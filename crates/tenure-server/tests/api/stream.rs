//! A watch as a client reads it: event by event.

use std::{
    io::{BufRead, BufReader, Read, Write},
    net::{SocketAddr, TcpStream},
    time::Duration,
};
use tenure_value::{Limits, Value, json};

/// An open watch.
pub struct Stream {
    from: BufReader<TcpStream>,
    /// The part of the body that is not a complete line yet.
    rest: Vec<u8>,
}

impl Stream {
    /// Opens a watch; `None` if no server responds.
    pub fn open(to: SocketAddr, path: &str) -> Option<Stream> {
        Stream::open_with(to, path, "")
    }

    /// Opens a watch with a bearer token.
    pub fn open_as(to: SocketAddr, path: &str, token: &str) -> Option<Stream> {
        Stream::open_with(to, path, &format!("Authorization: Bearer {token}\r\n"))
    }

    fn open_with(to: SocketAddr, path: &str, headers: &str) -> Option<Stream> {
        let mut stream = TcpStream::connect(to).ok()?;
        stream.set_read_timeout(Some(Duration::from_secs(30))).ok()?;
        write!(stream, "GET {path} HTTP/1.1\r\nHost: localhost\r\n{headers}\r\n").ok()?;
        let mut from = BufReader::new(stream);
        let mut head = String::new();
        while !head.ends_with("\r\n\r\n") {
            if from.read_line(&mut head).ok()? == 0 {
                return None;
            }
        }
        head.starts_with("HTTP/1.1 200").then_some(Stream { from, rest: Vec::new() })
    }

    /// Returns the next event; `None` when the watch has ended.
    pub fn next(&mut self) -> Option<Value> {
        loop {
            if let Some(end) = self.rest.iter().position(|byte| *byte == b'\n') {
                let line: Vec<u8> = self.rest.drain(..=end).collect();
                return json::parse(&line, &Limits::default()).ok();
            }
            self.read_chunk()?;
        }
    }

    /// Returns the next event that is not a bookmark.
    pub fn next_change(&mut self) -> Option<(String, Value)> {
        loop {
            let event = self.next()?;
            let kind = event.get("type").and_then(Value::as_str).unwrap_or_default().to_string();
            if kind != "BOOKMARK" {
                return Some((kind, event.get("object").cloned().unwrap_or_default()));
            }
        }
    }

    fn read_chunk(&mut self) -> Option<()> {
        let mut line = String::new();
        self.from.read_line(&mut line).ok().filter(|count| *count > 0)?;
        let size = usize::from_str_radix(line.trim_end(), 16).ok().filter(|size| *size > 0)?;
        let mut chunk = vec![0; size + 2];
        self.from.read_exact(&mut chunk).ok()?;
        self.rest.extend_from_slice(&chunk[..size]);
        Some(())
    }
}
