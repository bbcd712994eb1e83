//! A small HTTP client that keeps one connection and times out: complete responses, and watches.

use std::{
    io::{self, BufRead, BufReader, Read, Write},
    net::{SocketAddr, TcpStream},
    time::Duration,
};

/// How long a response may take: longer than the server's own deadline.
const TIMEOUT: Duration = Duration::from_secs(30);

pub struct Client {
    address: SocketAddr,
    connection: Option<BufReader<TcpStream>>,
}

#[derive(Debug)]
pub struct Response {
    pub code: u16,
    pub retry_after: bool,
    pub body: String,
}

impl Client {
    pub fn new(address: SocketAddr) -> Client {
        Client { address, connection: None }
    }

    /// Sends a request; an error says nothing about whether it was carried out.
    pub fn request(&mut self, method: &str, path: &str, kind: &str, body: &str) -> io::Result<Response> {
        let connection = match self.connection.take() {
            Some(connection) => connection,
            None => connect(self.address, TIMEOUT)?,
        };
        let mut connection = send(connection, method, path, kind, body)?;
        let head = Head::read(&mut connection)?;
        let mut body = String::new();
        match head.length {
            Some(length) => {
                let mut bytes = vec![0; length];
                connection.read_exact(&mut bytes)?;
                body = String::from_utf8_lossy(&bytes).into_owned();
            }
            None => while chunk(&mut connection, &mut body)? {},
        }
        self.connection = Some(connection);
        Ok(Response { code: head.code, retry_after: head.retry_after, body })
    }
}

fn connect(address: SocketAddr, patience: Duration) -> io::Result<BufReader<TcpStream>> {
    let stream = TcpStream::connect_timeout(&address, Duration::from_secs(2))?;
    stream.set_read_timeout(Some(patience))?;
    stream.set_nodelay(true)?;
    Ok(BufReader::new(stream))
}

fn send(
    mut connection: BufReader<TcpStream>,
    method: &str,
    path: &str,
    kind: &str,
    body: &str,
) -> io::Result<BufReader<TcpStream>> {
    let length = body.len();
    let head = format!(
        "{method} {path} HTTP/1.1\r\nhost: localhost\r\ncontent-type: {kind}\r\ncontent-length: {length}\r\n\r\n{body}"
    );
    connection.get_mut().write_all(head.as_bytes())?;
    Ok(connection)
}

struct Head {
    code: u16,
    length: Option<usize>,
    retry_after: bool,
}

impl Head {
    fn read(connection: &mut impl BufRead) -> io::Result<Head> {
        let mut line = String::new();
        connection.read_line(&mut line)?;
        let code = line.split(' ').nth(1).and_then(|code| code.parse().ok());
        let code = code.ok_or_else(|| io::Error::other(format!("not a response: {line:?}")))?;
        let mut head = Head { code, length: None, retry_after: false };
        loop {
            line.clear();
            connection.read_line(&mut line)?;
            match line.trim_end().to_ascii_lowercase().split_once(": ") {
                Some(("content-length", length)) => head.length = length.parse().ok(),
                Some(("retry-after", _)) => head.retry_after = true,
                Some(_) => {}
                None => return Ok(head),
            }
        }
    }
}

/// Reads one chunk; returns whether there may be more.
fn chunk(connection: &mut impl BufRead, to: &mut String) -> io::Result<bool> {
    let mut line = String::new();
    connection.read_line(&mut line)?;
    let wrong = |_| io::Error::other(format!("not a chunk: {line:?}"));
    let length = usize::from_str_radix(line.trim_end(), 16).map_err(wrong)?;
    let mut bytes = vec![0; length + 2];
    connection.read_exact(&mut bytes)?;
    to.push_str(&String::from_utf8_lossy(&bytes[..length]));
    Ok(length > 0)
}

/// A watch whose events are read line by line.
pub struct Watch {
    connection: BufReader<TcpStream>,
    received: String,
}

impl Watch {
    pub fn open(address: SocketAddr, path: &str) -> io::Result<Watch> {
        let connection = connect(address, Duration::from_millis(200))?;
        let mut connection = send(connection, "GET", path, "application/json", "")?;
        connection.get_mut().set_read_timeout(Some(TIMEOUT))?;
        let head = Head::read(&mut connection)?;
        if head.code != 200 {
            return Err(io::Error::other(format!("a watch answered {}", head.code)));
        }
        Ok(Watch { connection, received: String::new() })
    }

    /// Waits a moment for the next line; `None` if there is none yet.
    pub fn next(&mut self) -> io::Result<Option<String>> {
        loop {
            if let Some(end) = self.received.find('\n') {
                let line = self.received[..end].to_owned();
                self.received.drain(..=end);
                return Ok(Some(line));
            }
            // Only the beginning of a chunk may time out; the rest follows at once.
            self.connection.get_mut().set_read_timeout(Some(Duration::from_millis(200)))?;
            match self.connection.fill_buf() {
                Ok([]) => return Err(io::ErrorKind::UnexpectedEof.into()),
                Ok(_) => {}
                Err(error) if matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut) => {
                    return Ok(None);
                }
                Err(error) => return Err(error),
            }
            self.connection.get_mut().set_read_timeout(Some(TIMEOUT))?;
            if !chunk(&mut self.connection, &mut self.received)? {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
        }
    }
}
