//! One connection to one member of etcd: unary calls and streams of gRPC over HTTP/2. It frames messages and evaluates the
//! status of calls; it does not interpret the messages.

use super::call_error::{CallError, Refusal};
use super::wire::Method;
use bytes::{Buf, BufMut, Bytes, BytesMut};
use http_body::{Body, Frame};
use hyper::body::Incoming;
use hyper::client::conn::http2::{Builder, SendRequest};
use hyper::header::{CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue, TE};
use hyper::{Request, Response};
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use prost::Message;
use std::convert::Infallible;
use std::future::poll_fn;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::rustls::pki_types::ServerName;

/// The interval of keep-alive pings; etcd closes connections that ping more often than every five seconds.
const KEEP_ALIVE: Duration = Duration::from_secs(6);
/// How long a ping may be unanswered before the connection is closed.
const KEEP_ALIVE_TIMEOUT: Duration = Duration::from_secs(2);
/// The flow-control windows of a stream and of the connection, large enough for a large list or a burst of changes.
const STREAM_WINDOW: u32 = 8 << 20;
const CONNECTION_WINDOW: u32 = 32 << 20;
/// The largest message accepted: one message may contain many changes of large values.
const MAX_MESSAGE: usize = 1 << 30;

const TOKEN: HeaderName = HeaderName::from_static("token");
const HAS_LEADER: HeaderName = HeaderName::from_static("hasleader");

/// The address of a member.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Endpoint {
    pub(super) host: String,
    pub(super) port: u16,
    pub(super) secure: bool,
}

impl Endpoint {
    /// Parses `https://host:port`, `http://host:port` or `host:port`.
    pub(super) fn parse(text: &str) -> Result<Endpoint, String> {
        let wrong = || format!("{text:?} is not an endpoint; write https://host:2379 or http://host:2379");
        let (secure, rest) = match text.split_once("://") {
            Some(("https", rest)) => (true, rest),
            Some(("http", rest)) => (false, rest),
            Some(_) => return Err(wrong()),
            None => (false, text),
        };
        let rest = rest.trim_end_matches('/');
        let (host, port) = match rest.rsplit_once(':') {
            Some((host, port)) if !port.ends_with(']') => (host, port.parse().map_err(|_| wrong())?),
            _ => (rest, 2379),
        };
        if host.is_empty() || host.contains(['/', '@', ' ']) {
            return Err(wrong());
        }
        Ok(Endpoint { host: host.to_owned(), port, secure })
    }

    pub(super) fn authority(&self) -> String {
        format!("{}:{}", self.host, self.port)
    }
}

/// An open connection; clones share it.
#[derive(Clone, Debug)]
pub(super) struct Channel {
    sender: SendRequest<Outgoing>,
    origin: String,
}

impl Channel {
    /// Connects to a member.
    pub(super) async fn open(endpoint: &Endpoint, tls: Option<&TlsConnector>) -> Result<Channel, CallError> {
        let unreachable = |error: &dyn std::fmt::Display| {
            CallError::Unreachable(format!("cannot connect to {}: {error}", endpoint.authority()))
        };
        let host = endpoint.host.trim_start_matches('[').trim_end_matches(']');
        let stream = TcpStream::connect((host, endpoint.port)).await.map_err(|error| unreachable(&error))?;
        stream.set_nodelay(true).map_err(|error| unreachable(&error))?;
        let mut builder = Builder::new(TokioExecutor::new());
        builder
            .timer(TokioTimer::new())
            .initial_stream_window_size(STREAM_WINDOW)
            .initial_connection_window_size(CONNECTION_WINDOW)
            .max_frame_size(1 << 20)
            .keep_alive_interval(KEEP_ALIVE)
            .keep_alive_timeout(KEEP_ALIVE_TIMEOUT)
            .keep_alive_while_idle(true);
        let scheme = if endpoint.secure { "https" } else { "http" };
        let sender = match tls.filter(|_| endpoint.secure) {
            Some(tls) => {
                let name = ServerName::try_from(host.to_owned()).map_err(|error| unreachable(&error))?;
                let stream = tls.connect(name, stream).await.map_err(|error| unreachable(&error))?;
                let (sender, connection) =
                    builder.handshake(TokioIo::new(stream)).await.map_err(|error| unreachable(&error))?;
                tokio::spawn(connection);
                sender
            }
            None => {
                let (sender, connection) =
                    builder.handshake(TokioIo::new(stream)).await.map_err(|error| unreachable(&error))?;
                tokio::spawn(connection);
                sender
            }
        };
        Ok(Channel { sender, origin: format!("{scheme}://{}", endpoint.authority()) })
    }

    /// Tells whether the connection is open.
    pub(super) fn is_open(&self) -> bool {
        !self.sender.is_closed()
    }

    /// Makes a unary call.
    pub(super) async fn call<A: Message + Default>(
        &self,
        method: Method,
        message: &impl Message,
        token: Option<HeaderValue>,
    ) -> Result<A, CallError> {
        let request = self.request(method, message, token, Ending::AtOnce)?;
        let mut answers = Answers::of(self.send(request).await?)?;
        let answer = answers.next::<A>().await?;
        let answer = answer.ok_or_else(|| CallError::Unclear("a call ended without an answer".to_owned()))?;
        // The call has succeeded only if its status says so.
        match answers.next::<A>().await? {
            None => Ok(answer),
            Some(_) => Err(CallError::Unclear("two answers to one call".to_owned())),
        }
    }

    /// Sends one message and returns the stream of answers, which is cancelled when it is dropped. A member that is cut off from
    /// the others ends it too.
    pub(super) async fn stream(
        &self,
        method: Method,
        message: &impl Message,
        token: Option<HeaderValue>,
    ) -> Result<Answers, CallError> {
        let mut request = self.request(method, message, token, Ending::Never)?;
        request.headers_mut().insert(HAS_LEADER, HeaderValue::from_static("true"));
        Answers::of(self.send(request).await?)
    }

    fn request(
        &self,
        method: Method,
        message: &impl Message,
        token: Option<HeaderValue>,
        ending: Ending,
    ) -> Result<Request<Outgoing>, CallError> {
        let length = message.encoded_len();
        let mut bytes = BytesMut::with_capacity(5 + length);
        bytes.put_u8(0);
        let invalid = |error: &dyn std::fmt::Display| CallError::Refused(Refusal::Invalid, error.to_string());
        bytes.put_u32(u32::try_from(length).map_err(|error| invalid(&error))?);
        message.encode(&mut bytes).map_err(|error| invalid(&error))?;
        let mut request = Request::post(format!("{}{}", self.origin, method.0))
            .header(CONTENT_TYPE, "application/grpc")
            .header(TE, "trailers")
            .body(Outgoing { message: Some(bytes.freeze()), ending })
            .map_err(|error| invalid(&error))?;
        if let Some(token) = token {
            request.headers_mut().insert(TOKEN, token);
        }
        Ok(request)
    }

    async fn send(&self, request: Request<Outgoing>) -> Result<Response<Incoming>, CallError> {
        let mut sender = self.sender.clone();
        sender.ready().await.map_err(|error| CallError::Unreachable(described(&error)))?;
        sender.send_request(request).await.map_err(|error| CallError::Unclear(described(&error)))
    }
}

/// The body of a request: one message, after which the client's side is closed or kept open.
#[derive(Debug)]
pub(super) struct Outgoing {
    message: Option<Bytes>,
    ending: Ending,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Ending {
    AtOnce,
    Never,
}

impl Body for Outgoing {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        match (self.message.take(), self.ending) {
            (Some(message), _) => Poll::Ready(Some(Ok(Frame::data(message)))),
            (None, Ending::AtOnce) => Poll::Ready(None),
            // The client's side is closed by resetting the stream, when the answers are dropped.
            (None, Ending::Never) => Poll::Pending,
        }
    }

    fn is_end_stream(&self) -> bool {
        self.message.is_none() && self.ending == Ending::AtOnce
    }
}

/// The messages of an answer.
#[derive(Debug)]
pub(super) struct Answers {
    body: Incoming,
    received: BytesMut,
}

impl Answers {
    fn of(response: Response<Incoming>) -> Result<Answers, CallError> {
        if response.status() != 200 {
            return Err(CallError::Unclear(format!("HTTP status {}", response.status())));
        }
        // A call that is refused at once has its status in the headers.
        if response.headers().contains_key("grpc-status") {
            ended(response.headers())?;
        }
        Ok(Answers { body: response.into_body(), received: BytesMut::new() })
    }

    /// Waits for the next message; `None` when the call has succeeded. Dropping the future loses nothing.
    pub(super) async fn next<A: Message + Default>(&mut self) -> Result<Option<A>, CallError> {
        loop {
            if let Some(message) = self.take_message()? {
                let message = A::decode(message).map_err(|error| CallError::Unclear(error.to_string()))?;
                return Ok(Some(message));
            }
            let body = &mut self.body;
            let frame = poll_fn(|context| Pin::new(&mut *body).poll_frame(context)).await;
            match frame {
                None => return Err(CallError::Unclear("the answer was truncated".to_owned())),
                Some(Err(error)) => return Err(CallError::Unclear(described(&error))),
                Some(Ok(frame)) => match frame.into_data() {
                    Ok(data) => self.received.extend_from_slice(&data),
                    Err(frame) => {
                        let trailers = frame.into_trailers().unwrap_or_default();
                        return ended(&trailers).map(|()| None);
                    }
                },
            }
        }
    }

    fn take_message(&mut self) -> Result<Option<Bytes>, CallError> {
        let Some(mut head) = self.received.get(..5) else { return Ok(None) };
        let (compressed, length) = (head.get_u8(), head.get_u32() as usize);
        if compressed != 0 || length > MAX_MESSAGE {
            return Err(CallError::Unclear(format!("a message of {length} bytes, or a compressed one")));
        }
        if self.received.len() < 5 + length {
            self.received.reserve(5 + length - self.received.len());
            return Ok(None);
        }
        self.received.advance(5);
        Ok(Some(self.received.split_to(length).freeze()))
    }
}

/// Evaluates the status of a call.
fn ended(headers: &HeaderMap) -> Result<(), CallError> {
    let text = |name: &str| headers.get(name).and_then(|value| value.to_str().ok());
    match text("grpc-status").and_then(|code| code.parse::<u32>().ok()) {
        Some(0) => Ok(()),
        Some(code) => {
            Err(CallError::of_status(code, percent_decoded(text("grpc-message").unwrap_or_default())))
        }
        None => Err(CallError::Unclear("a call ended without a status".to_owned())),
    }
}

/// Decodes the percent-encoding of a status message.
fn percent_decoded(text: &str) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((byte, after)) = rest.split_first() {
        let code = after.get(..2).and_then(|digits| std::str::from_utf8(digits).ok());
        match code.and_then(|digits| u8::from_str_radix(digits, 16).ok()).filter(|_| *byte == b'%') {
            Some(code) => {
                bytes.push(code);
                rest = &after[2..];
            }
            None => {
                bytes.push(*byte);
                rest = after;
            }
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

fn described(error: &hyper::Error) -> String {
    use std::error::Error;
    match error.source() {
        Some(source) => format!("{error}: {source}"),
        None => error.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn endpoints_are_read_or_refused() {
        let good = [
            ("http://127.0.0.1:2379", "127.0.0.1", 2379, false),
            ("https://etcd.example:4/", "etcd.example", 4, true),
            ("one:7", "one", 7, false),
            ("https://one", "one", 2379, true),
            ("http://[::1]:5", "[::1]", 5, false),
        ];
        for (text, host, port, secure) in good {
            let expected = Endpoint { host: host.to_owned(), port, secure };
            assert_eq!(Endpoint::parse(text), Ok(expected), "{text}");
        }
        for text in ["", "ftp://a:1", "http://:1", "http://a:port", "http://a/b:1", "http://a:99999"] {
            assert!(Endpoint::parse(text).is_err(), "{text}");
        }
    }

    #[test]
    fn status_messages_are_decoded() {
        assert_eq!(percent_decoded("etcdserver%3A no%"), "etcdserver: no%");
        assert_eq!(percent_decoded("%zz%4"), "%zz%4");
    }
}
