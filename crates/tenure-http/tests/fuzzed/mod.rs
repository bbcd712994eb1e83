//! The body of the fuzz target `connection`, shared with `tests/fuzz.rs`: requests that arrive in pieces of any size are answered like
//! whole ones, with and without TLS, and bytes that are no requests end the connection.

use std::{
    net::SocketAddr,
    sync::{Arc, LazyLock},
    time::Duration,
};
use tenure_http::{
    BodyStream, GuardedRequest, Response,
    listener::{Handler, serve_stream},
};
use tenure_transport::serving::Tls;
use tokio::{
    io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, duplex},
    runtime::{Builder, Runtime},
    time::timeout,
};
use tokio_rustls::{
    TlsConnector,
    rustls::{
        ClientConfig, RootCertStore, ServerConfig,
        crypto::ring,
        pki_types::{PrivateKeyDer, ServerName},
    },
};

/// What a request may ask for, and the body of its response.
const PATHS: [(&str, &str); 4] =
    [("/whole", "whole"), ("/stream", "onetwo"), ("/nothing", ""), ("/long", LONG)];
/// More than a connection may hold, so that it is written in several steps.
const LONG: &str = include_str!("mod.rs");
const CLIENT: ([u8; 4], u16) = ([127, 0, 0, 1], 1);
/// Far longer than any of this takes: a connection that lasts so long hangs.
const HANG: Duration = Duration::from_secs(60);

static RUNTIME: LazyLock<Runtime> =
    LazyLock::new(|| Builder::new_current_thread().enable_time().build().expect("a runtime"));
static TLS: LazyLock<(Arc<Tls>, TlsConnector)> = LazyLock::new(configurations);

/// Sends the requests and the pieces that the bytes describe, and then the bytes themselves.
pub fn connection(bytes: &[u8]) {
    let Some((&[kind, room, step], rest)) = bytes.split_first_chunk::<3>() else { return };
    let link = Link { has_tls: kind & 1 == 1, room: usize::from(room) + 1, step: usize::from(step) + 1 };
    let asked: Vec<_> = rest.iter().take(8).map(|byte| PATHS[usize::from(*byte) % PATHS.len()]).collect();
    let ended = RUNTIME.block_on(timeout(HANG, link.answers(&asked))).expect("a connection that hangs");
    let expected: Vec<&str> = asked.iter().map(|(_, body)| *body).collect();
    assert_eq!(bodies(&ended), expected, "{link:?} {asked:?}");
    RUNTIME.block_on(timeout(HANG, link.refuses(rest))).expect("a connection that hangs");
}

/// How the two sides are connected.
#[derive(Clone, Copy, Debug)]
struct Link {
    has_tls: bool,
    /// How many bytes are under way at a time.
    room: usize,
    /// How many bytes the client writes at a time.
    step: usize,
}

impl Link {
    /// Sends requests, the last of which closes the connection; returns what comes back.
    async fn answers(self, asked: &[(&str, &str)]) -> Vec<u8> {
        let requests = asked.iter().enumerate().map(|(at, (path, _))| {
            let close = if at + 1 == asked.len() { "Connection: close\r\n" } else { "" };
            format!("GET {path} HTTP/1.1\r\nHost: localhost\r\n{close}\r\n")
        });
        let text = requests.collect::<String>();
        let (near, far) = duplex(self.room);
        let tls = self.has_tls.then(|| TLS.0.clone());
        let server = tokio::spawn(serve_stream(far, SocketAddr::from(CLIENT), tls, Arc::new(Answers)));
        let received = match self.has_tls {
            true => {
                let name = ServerName::try_from("localhost").expect("a name");
                let stream = TLS.1.connect(name, near).await.expect("a handshake");
                self.exchange(stream, text.as_bytes()).await
            }
            false => self.exchange(near, text.as_bytes()).await,
        };
        server.await.expect("a server that does not panic").expect("a connection that ends well");
        received
    }

    /// Writes a text in steps while it reads until the end.
    async fn exchange(self, stream: impl AsyncRead + AsyncWrite, text: &[u8]) -> Vec<u8> {
        let (mut reader, mut writer) = tokio::io::split(stream);
        let sending = async {
            for piece in text.chunks(self.step) {
                writer.write_all(piece).await.expect("a connection that is read");
                writer.flush().await.expect("a connection that is read");
            }
            // Without a request nothing else ends the connection.
            if text.is_empty() {
                writer.shutdown().await.expect("a connection that is open");
            }
        };
        let mut received = Vec::new();
        let ((), read) = tokio::join!(sending, reader.read_to_end(&mut received));
        read.expect("a connection that ends well");
        received
    }

    /// Sends bytes that are likely no requests, below TLS: the connection ends with the client.
    async fn refuses(self, bytes: &[u8]) {
        let (mut near, far) = duplex(self.room);
        let tls = self.has_tls.then(|| TLS.0.clone());
        let server = tokio::spawn(serve_stream(far, SocketAddr::from(CLIENT), tls, Arc::new(Answers)));
        let (mut reader, mut writer) = tokio::io::split(&mut near);
        let sending = async {
            for piece in bytes.chunks(self.step) {
                // The server may have closed its side.
                if writer.write_all(piece).await.is_err() {
                    return;
                }
            }
            let _ = writer.shutdown().await;
        };
        let mut received = Vec::new();
        let _ = tokio::join!(sending, reader.read_to_end(&mut received));
        // That it fails is right; that it panics is not.
        let _ = server.await.expect("a server that does not panic");
    }
}

/// Answers as the path says.
struct Answers;

impl Handler for Answers {
    async fn handle(self: Arc<Self>, request: GuardedRequest) -> Response {
        let path = request.head().uri.path();
        let body = PATHS.iter().find(|(known, _)| *known == path).map_or("unknown", |(_, body)| *body);
        if path != "/stream" {
            return Response::text(hyper::StatusCode::OK, body);
        }
        Response::stream(
            "text/plain",
            BodyStream::new(|sender| async move {
                for part in ["one", "", "two"] {
                    sender.send(part.as_bytes().into()).await;
                }
            }),
        )
    }
}

/// Returns the bodies of responses that follow each other.
fn bodies(mut text: &[u8]) -> Vec<String> {
    let mut bodies = Vec::new();
    while !text.is_empty() {
        let head = line_end(text, b"\r\n\r\n");
        let fields = String::from_utf8_lossy(&text[..head]).to_lowercase();
        assert!(fields.starts_with("http/1.1 200 ok\r\n"), "{fields}");
        text = &text[head..];
        let length = fields.lines().find_map(|line| line.strip_prefix("content-length: "));
        let mut body = Vec::new();
        match length {
            Some(length) => body.extend_from_slice(take(&mut text, length.parse().expect("a length"))),
            None => loop {
                let end = line_end(text, b"\r\n");
                let size = String::from_utf8_lossy(&take(&mut text, end)[..end - 2]).into_owned();
                let size = usize::from_str_radix(&size, 16).expect("the size of a chunk");
                body.extend_from_slice(take(&mut text, size));
                assert_eq!(take(&mut text, 2), b"\r\n");
                if size == 0 {
                    break;
                }
            },
        }
        bodies.push(String::from_utf8(body).expect("text"));
    }
    bodies
}

fn line_end(text: &[u8], end: &[u8]) -> usize {
    text.windows(end.len()).position(|window| window == end).expect("the end of a line") + end.len()
}

fn take<'t>(text: &mut &'t [u8], count: usize) -> &'t [u8] {
    let (taken, rest) = text.split_at_checked(count).expect("a whole body");
    *text = rest;
    taken
}

/// Returns a server's configuration and a client that trusts it.
fn configurations() -> (Arc<Tls>, TlsConnector) {
    let certified = rcgen::generate_simple_self_signed(["localhost".to_string()]).expect("a certificate");
    let (certificate, key) = (certified.cert.der().clone(), certified.signing_key.serialize_der());
    let provider = || Arc::new(ring::default_provider());
    let mut server = ServerConfig::builder_with_provider(provider())
        .with_safe_default_protocol_versions()
        .expect("versions of TLS")
        .with_no_client_auth()
        .with_single_cert(vec![certificate.clone()], PrivateKeyDer::Pkcs8(key.into()))
        .expect("a certificate with its key");
    server.alpn_protocols = vec![b"http/1.1".to_vec()];
    let mut roots = RootCertStore::empty();
    roots.add(certificate).expect("a certificate");
    let client = ClientConfig::builder_with_provider(provider())
        .with_safe_default_protocol_versions()
        .expect("versions of TLS")
        .with_root_certificates(roots)
        .with_no_client_auth();
    (Arc::new(Tls { config: Arc::new(server), authorities: None }), TlsConnector::from(Arc::new(client)))
}
