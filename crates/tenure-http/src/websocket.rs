//! Watches over a WebSocket (RFC 6455), which browsers can read. Each event is one message: a text for JSON, bytes for protobuf and
//! CBOR.
//! Of what clients send, only answers to pings and the close frame count; everything else is dropped.

use super::{
    BodyStream, Response, ResponseBody, connections::ActiveRequest, shutdown::Shutdown, upgrade::OnUpgrade,
};
use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
use bytes::{Buf, Bytes, BytesMut};
use hyper::{
    HeaderMap, Method, Request, StatusCode, Version,
    body::Incoming,
    header::{self, HeaderName, HeaderValue},
};
use ring::digest::{SHA1_FOR_LEGACY_USE_ONLY, digest};
use std::{future::poll_fn, io, pin::pin};
use tokio::{
    io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt},
    sync::mpsc,
};

/// What every accepted key is joined with.
const GUID: &str = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11";
/// The version of the protocol.
const VERSION: &str = "13";
/// A subprotocol that carries a bearer token, since browsers cannot set headers.
const BEARER: &str = "base64url.bearer.authorization.k8s.io.";
/// The longest payload of a control frame.
const CONTROL_BYTES: u64 = 125;
/// The most bytes of a message that is dropped.
const MESSAGE_BYTES: u64 = 1 << 20;

const TEXT: u8 = 1;
const BINARY: u8 = 2;
const CLOSE: u8 = 8;
const PING: u8 = 9;
const PONG: u8 = 10;

/// The codes of a close frame: the watch is over, the server stops.
const NORMAL: u16 = 1000;
const GOING_AWAY: u16 = 1001;

/// A connection that becomes a WebSocket if its request is answered with a stream.
pub(super) struct Upgrade {
    accept: HeaderValue,
    protocol: Option<HeaderValue>,
    connection: OnUpgrade,
}

impl Upgrade {
    /// Returns the upgrade of a request that opens a WebSocket. A bearer token among its subprotocols becomes its
    /// `Authorization`.
    pub fn of(request: &mut Request<Incoming>) -> Option<Upgrade> {
        if request.method() != Method::GET || request.version() != Version::HTTP_11 {
            return None;
        }
        let accept = accept(request.headers())?;
        // It stays in the request too, for a handler that passes the request on.
        let connection = request.extensions().get::<OnUpgrade>()?.clone();
        let protocol = take_protocol(request.headers_mut());
        Some(Upgrade { accept, protocol, connection })
    }

    /// Returns the response that opens the WebSocket, and starts to send the stream; any other response stays as it is.
    pub fn respond(self, response: Response, running: ActiveRequest, shutdown: Shutdown) -> Response {
        let (code, memory) = (response.code, response.memory);
        let stream = match response.body {
            ResponseBody::Stream(stream) if code == StatusCode::OK => stream,
            body => return Response { code, headers: response.headers, body, memory },
        };
        let media_type = response.headers.get(header::CONTENT_TYPE).map(HeaderValue::as_bytes);
        let framing = match media_type {
            Some(media_type) if media_type.starts_with(b"application/json") => Framing::Lines,
            Some(media_type) if media_type.starts_with(b"application/cbor-seq") => Framing::CborSequence,
            _ => Framing::Lengths,
        };
        let mut headers = HeaderMap::new();
        headers.insert(header::CONNECTION, HeaderValue::from_static("Upgrade"));
        headers.insert(header::UPGRADE, HeaderValue::from_static("websocket"));
        headers.insert(header::SEC_WEBSOCKET_ACCEPT, self.accept);
        if let Some(protocol) = self.protocol {
            headers.insert(header::SEC_WEBSOCKET_PROTOCOL, protocol);
        }
        let connection = self.connection;
        tokio::spawn(async move {
            let _running = running;
            if let Ok(connection) = connection.await {
                // A client that is gone needs no answer.
                let _ = send(connection, stream, framing, shutdown).await;
            }
        });
        let body = ResponseBody::Whole(Bytes::new());
        Response { code: StatusCode::SWITCHING_PROTOCOLS, headers, body, memory: None }
    }
}

/// Returns the answer to the key of a request that opens a WebSocket.
fn accept(headers: &HeaderMap) -> Option<HeaderValue> {
    let lists = |name: HeaderName, word: &str| {
        let values = headers.get_all(name);
        values
            .iter()
            .filter_map(|value| value.to_str().ok())
            .any(|value| value.split(',').any(|part| part.trim().eq_ignore_ascii_case(word)))
    };
    let opens = lists(header::CONNECTION, "upgrade")
        && lists(header::UPGRADE, "websocket")
        && lists(header::SEC_WEBSOCKET_VERSION, VERSION);
    let key = headers.get(header::SEC_WEBSOCKET_KEY).filter(|_| opens)?.to_str().ok()?;
    let hash = digest(&SHA1_FOR_LEGACY_USE_ONLY, format!("{}{GUID}", key.trim()).as_bytes());
    HeaderValue::from_str(&tenure_value::base64::encode(hash)).ok()
}

/// Returns the subprotocol of the WebSocket, if the client offers exactly one, and takes the token out of those that it offers.
fn take_protocol(headers: &mut HeaderMap) -> Option<HeaderValue> {
    let offered: Vec<String> = headers
        .get_all(header::SEC_WEBSOCKET_PROTOCOL)
        .iter()
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(',').map(|part| part.trim().to_string()))
        .filter(|protocol| !protocol.is_empty())
        .collect();
    let (tokens, others): (Vec<&String>, Vec<&String>) =
        offered.iter().partition(|protocol| protocol.starts_with(BEARER));
    // The token is not a protocol that the server could speak, so that there must be another one.
    if let ([token], false) = (tokens.as_slice(), others.is_empty())
        && !headers.contains_key(header::AUTHORIZATION)
        && let Ok(token) = URL_SAFE_NO_PAD.decode(&token[BEARER.len()..])
        && let Ok(mut value) = HeaderValue::from_bytes(&[b"Bearer ".as_slice(), &token].concat())
    {
        value.set_sensitive(true);
        headers.insert(header::AUTHORIZATION, value);
    }
    match others.as_slice() {
        [one] => HeaderValue::from_str(one).ok(),
        _ => None,
    }
}

/// Sends a stream as messages until it ends, the client closes, or the server stops.
async fn send<C: AsyncRead + AsyncWrite>(
    connection: C,
    mut stream: BodyStream,
    framing: Framing,
    mut shutdown: Shutdown,
) -> io::Result<()> {
    let (reader, mut writer) = tokio::io::split(connection);
    let (answers, mut pongs) = mpsc::channel(1);
    let mut reading = pin!(read(reader, answers));
    let mut stop = pin!(shutdown.requested());
    let mut messages = Messages { framing, rest: BytesMut::new() };
    let code = loop {
        tokio::select! {
            // The client closes, is gone, or does not keep to the protocol.
            closed = &mut reading => {
                closed?;
                break NORMAL;
            }
            () = &mut stop => break GOING_AWAY,
            Some(payload) = pongs.recv() => write(&mut writer, PONG, &payload).await?,
            chunk = poll_fn(|context| stream.poll_next(context)) => match chunk {
                None => break NORMAL,
                Some(chunk) => {
                    messages.rest.extend_from_slice(&chunk);
                    while let Some(message) = messages.next() {
                        tokio::select! {
                            written = write(&mut writer, framing.opcode(), &message) => written?,
                            // A client that does not read does not hold up the server.
                            () = &mut stop => return Ok(()),
                        }
                    }
                }
            },
        }
    };
    write(&mut writer, CLOSE, &code.to_be_bytes()).await?;
    writer.shutdown().await
}

/// How a stream tells where an event ends.
#[derive(Clone, Copy, Debug)]
enum Framing {
    /// Each is a line, as in JSON.
    Lines,
    /// Each follows its length, as in protobuf.
    Lengths,
    /// Each is a data item of CBOR.
    CborSequence,
}

impl Framing {
    fn opcode(self) -> u8 {
        match self {
            Framing::Lines => TEXT,
            Framing::Lengths | Framing::CborSequence => BINARY,
        }
    }
}

/// The messages in the chunks of a stream.
struct Messages {
    framing: Framing,
    rest: BytesMut,
}

impl Messages {
    /// Returns the next whole message: a line of JSON, what follows its length in protobuf, or a data item of CBOR.
    fn next(&mut self) -> Option<Bytes> {
        let end = match self.framing {
            Framing::Lines => self.rest.iter().position(|byte| *byte == b'\n')? + 1,
            Framing::CborSequence => tenure_codec::cbor::encoded_length(&self.rest)?,
            Framing::Lengths => {
                let length = u32::from_be_bytes(self.rest.get(..4)?.try_into().ok()?) as usize;
                if self.rest.len() < length + 4 {
                    return None;
                }
                self.rest.advance(4);
                length
            }
        };
        Some(self.rest.split_to(end).freeze())
    }
}

/// Reads what the client sends: pings are passed on to be answered, messages are dropped. Returns when the client closes.
async fn read(mut reader: impl AsyncRead + Unpin, pings: mpsc::Sender<Vec<u8>>) -> io::Result<()> {
    let wrong = |what: &str| io::Error::new(io::ErrorKind::InvalidData, what);
    loop {
        let [first, second] = {
            let mut head = [0; 2];
            if reader.read_exact(&mut head).await.is_err() {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
            head
        };
        if second & 0x80 == 0 {
            return Err(wrong("frames of clients must be masked"));
        }
        let length = match second & 0x7f {
            126 => u64::from(reader.read_u16().await?),
            127 => reader.read_u64().await?,
            length => u64::from(length),
        };
        let opcode = first & 0x0f;
        let is_control = opcode >= CLOSE;
        if length > if is_control { CONTROL_BYTES } else { MESSAGE_BYTES } {
            return Err(wrong("the frame is too long"));
        }
        let mut mask = [0; 4];
        reader.read_exact(&mut mask).await?;
        if !is_control {
            tokio::io::copy(&mut (&mut reader).take(length), &mut tokio::io::sink()).await?;
            continue;
        }
        let mut payload = vec![0; length as usize];
        reader.read_exact(&mut payload).await?;
        payload.iter_mut().zip(mask.iter().cycle()).for_each(|(byte, mask)| *byte ^= mask);
        match opcode {
            CLOSE => return Ok(()),
            // If one is still to be answered, the answer to that is enough.
            PING => drop(pings.try_send(payload)),
            _ => {}
        }
    }
}

/// Writes a frame; those of a server are not masked.
async fn write(writer: &mut (impl AsyncWrite + Unpin), opcode: u8, payload: &[u8]) -> io::Result<()> {
    let mut frame = Vec::with_capacity(payload.len() + 10);
    frame.push(0x80 | opcode);
    match payload.len() {
        length @ 0..=125 => frame.push(length as u8),
        length @ 126..=0xffff => {
            frame.push(126);
            frame.extend((length as u16).to_be_bytes());
        }
        length => {
            frame.push(127);
            frame.extend((length as u64).to_be_bytes());
        }
    }
    frame.extend_from_slice(payload);
    writer.write_all(&frame).await?;
    writer.flush().await
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(lines: &[(&'static str, &str)]) -> HeaderMap {
        let line = |(name, value): &(&'static str, &str)| {
            (HeaderName::from_static(name), HeaderValue::from_str(value).unwrap())
        };
        lines.iter().map(line).collect()
    }

    #[test]
    fn the_key_of_the_standard_is_accepted() {
        let lines = [
            ("connection", "keep-alive, Upgrade"),
            ("upgrade", "WebSocket"),
            ("sec-websocket-version", "13"),
            ("sec-websocket-key", "dGhlIHNhbXBsZSBub25jZQ=="),
        ];
        assert_eq!(accept(&headers(&lines)).unwrap(), "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=");
        for missing in 0..lines.len() {
            let rest: Vec<_> =
                lines.iter().enumerate().filter(|(at, _)| *at != missing).map(|row| *row.1).collect();
            assert_eq!(accept(&headers(&rest)), None, "{missing}");
        }
    }

    #[test]
    fn a_token_among_the_subprotocols_authenticates() {
        for (offered, protocol, authorization) in [
            ("", None, None),
            ("binary.k8s.io", Some("binary.k8s.io"), None),
            ("a, b", None, None),
            (
                "base64url.bearer.authorization.k8s.io.dG9rZW4, v4.channel.k8s.io",
                Some("v4.channel.k8s.io"),
                Some("Bearer token"),
            ),
            ("base64url.bearer.authorization.k8s.io.dG9rZW4", None, None),
            ("base64url.bearer.authorization.k8s.io.!, a", Some("a"), None),
        ] {
            let mut headers = headers(&[("sec-websocket-protocol", offered)]);
            assert_eq!(
                take_protocol(&mut headers).as_ref().map(|value| value.to_str().unwrap()),
                protocol,
                "{offered}"
            );
            let found = headers.get(header::AUTHORIZATION).map(|value| value.to_str().unwrap());
            assert_eq!(found, authorization, "{offered}");
        }
    }

    #[test]
    fn events_are_messages_however_the_stream_is_cut() {
        for (framing, bytes, expected) in [
            (Framing::Lines, b"{\"a\":1}\n{\"b\":2}\n{".as_slice(), vec!["{\"a\":1}\n", "{\"b\":2}\n"]),
            (Framing::Lengths, b"\0\0\0\x02ab\0\0\0\0\0\0\0\x01c\0\0".as_slice(), vec!["ab", "", "c"]),
            (Framing::CborSequence, b"\x41a\x62bc\x01\x43de".as_slice(), vec!["Aa", "bbc", "\u{1}"]),
        ] {
            for size in 1..=bytes.len() {
                let (mut messages, mut found) = (Messages { framing, rest: BytesMut::new() }, Vec::new());
                for chunk in bytes.chunks(size) {
                    messages.rest.extend_from_slice(chunk);
                    found.extend(std::iter::from_fn(|| messages.next()));
                }
                assert_eq!(found, expected, "{framing:?} {size}");
            }
        }
    }

    #[tokio::test]
    async fn pings_are_answered_and_a_close_ends() {
        let masked = |opcode: u8, text: &[u8]| {
            let mask = [1, 2, 3, 4];
            let mut frame = vec![0x80 | opcode, 0x80 | text.len() as u8, 1, 2, 3, 4];
            frame.extend(text.iter().zip(mask.iter().cycle()).map(|(byte, mask)| byte ^ mask));
            frame
        };
        let frames = [masked(TEXT, b"dropped"), masked(PING, b"hello"), masked(CLOSE, b"")].concat();
        let (pings, mut received) = mpsc::channel(1);
        assert!(read(frames.as_slice(), pings).await.is_ok());
        assert_eq!(received.recv().await.as_deref(), Some(b"hello".as_slice()));
        for wrong in [vec![0x81, 0x01, b'a'], vec![0x89, 0xfe, 1, 0, 0, 0, 0, 0], vec![0x81]] {
            let (pings, _received) = mpsc::channel(1);
            assert!(read(wrong.as_slice(), pings).await.is_err(), "{wrong:?}");
        }
    }
}
