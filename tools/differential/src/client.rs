//! A client of one server over plain HTTP. A server that needs TLS or credentials is reached through `kubectl proxy`.

use std::{
    io::{self, Read, Write},
    net::TcpStream,
    time::Duration,
};
use tenure_value::{Limits, Value, json};

/// How long a response may take.
const TIMEOUT: Duration = Duration::from_secs(30);

/// Why there is no response.
#[derive(Debug, thiserror::Error)]
pub enum ClientError {
    /// The address is not `http://host:port`.
    #[error(
        "{0:?} is not an address of the form http://host:port; reach a server with TLS through `kubectl proxy`"
    )]
    Address(String),
    /// The connection failed.
    #[error("{address}: {error}")]
    Connection {
        /// The server.
        address: String,
        /// What went wrong.
        error: io::Error,
    },
    /// The response is not HTTP.
    #[error("{0}: the answer is not HTTP")]
    Answer(String),
}

/// A response.
#[derive(Clone, Debug)]
pub(crate) struct Answer {
    pub code: u16,
    /// The document; null if the body is not JSON.
    pub body: Value,
    /// The warnings, sorted.
    pub warnings: Vec<String>,
}

/// A client of one server.
#[derive(Clone, Debug)]
pub struct Client {
    address: String,
}

impl Client {
    /// Creates a client of `http://host:port`.
    pub fn new(url: &str) -> Result<Client, ClientError> {
        let address = url.strip_prefix("http://").map(|rest| rest.trim_end_matches('/'));
        match address.filter(|address| address.contains(':') && !address.contains('/')) {
            Some(address) => Ok(Client { address: address.to_string() }),
            None => Err(ClientError::Address(url.to_string())),
        }
    }

    pub(crate) fn send(
        &self,
        method: &str,
        path: &str,
        body: Option<(&str, &str)>,
    ) -> Result<Answer, ClientError> {
        let failed = |error| ClientError::Connection { address: self.address.clone(), error };
        let bytes = self.exchange(method, path, body).map_err(failed)?;
        let broken = || ClientError::Answer(self.address.clone());
        let end = bytes.windows(4).position(|window| window == b"\r\n\r\n").ok_or_else(broken)?;
        let head = String::from_utf8_lossy(&bytes[..end]);
        let mut warnings: Vec<String> = head.lines().filter_map(warning).collect();
        warnings.sort();
        let head = head.to_lowercase();
        let code = head.split(' ').nth(1).and_then(|code| code.parse().ok()).ok_or_else(broken)?;
        let content = &bytes[end + 4..];
        let content = match head.contains("transfer-encoding: chunked") {
            true => joined(content).ok_or_else(broken)?,
            false => content.to_vec(),
        };
        Ok(Answer { code, body: json::parse(&content, &Limits::default()).unwrap_or_default(), warnings })
    }

    fn exchange(&self, method: &str, path: &str, body: Option<(&str, &str)>) -> io::Result<Vec<u8>> {
        let mut stream = TcpStream::connect(&self.address)?;
        stream.set_read_timeout(Some(TIMEOUT))?;
        let (media_type, body) = body.unwrap_or(("", ""));
        let mut request = format!(
            "{method} {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nUser-Agent: differential\r\n\
             Accept: application/json\r\nContent-Length: {}\r\n",
            body.len()
        );
        if !media_type.is_empty() {
            request += &format!("Content-Type: {media_type}\r\n");
        }
        stream.write_all(format!("{request}\r\n{body}").as_bytes())?;
        let mut bytes = Vec::new();
        stream.read_to_end(&mut bytes)?;
        Ok(bytes)
    }
}

/// Returns the warning of a line of the head.
fn warning(line: &str) -> Option<String> {
    let (name, text) = line.split_once(':')?;
    name.eq_ignore_ascii_case("warning").then(|| text.trim().to_string())
}

/// Joins the chunks of a body.
fn joined(mut rest: &[u8]) -> Option<Vec<u8>> {
    let mut whole = Vec::new();
    loop {
        let end = rest.windows(2).position(|window| window == b"\r\n")?;
        let size = std::str::from_utf8(&rest[..end]).ok()?.split(';').next()?.trim();
        let size = usize::from_str_radix(size, 16).ok()?;
        if size == 0 {
            return Some(whole);
        }
        whole.extend_from_slice(rest.get(end + 2..end + 2 + size)?);
        rest = rest.get(end + 4 + size..)?;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_and_chunks_are_read() {
        assert!(Client::new("http://127.0.0.1:8001/").is_ok());
        for url in ["https://127.0.0.1:6443", "127.0.0.1:8001", "http://host:1/path"] {
            assert!(Client::new(url).is_err(), "{url}");
        }
        assert_eq!(joined(b"3\r\nabc\r\n2;x=y\r\nde\r\n0\r\n\r\n").as_deref(), Some(&b"abcde"[..]));
        assert_eq!(joined(b"9\r\nabc"), None);
    }
}
