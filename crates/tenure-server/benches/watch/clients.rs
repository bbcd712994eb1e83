//! Clients that watch, and clients that write.

use crate::server::{Server, Transport};
use http_body_util::{BodyExt, Empty};
use hyper_util::rt::{TokioExecutor, TokioIo};
use std::{
    io::{BufRead, BufReader, Read, Write},
    net::TcpStream,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering::Relaxed},
    },
    thread,
    time::{Duration, Instant},
};
use tokio::{
    io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt},
    net::TcpStream as Connection,
    runtime::{Builder, Runtime},
};
use tokio_rustls::{
    TlsConnector,
    rustls::{
        ClientConfig, RootCertStore,
        crypto::ring,
        pki_types::{CertificateDer, ServerName, pem::PemObject},
    },
};

/// A text that every object contains once, so that events can be counted in any part of the stream.
pub const MARK: char = '~';
/// The number of watches per shared connection.
const SHARED: usize = 100;

/// Watchers that count their events.
pub struct Watchers {
    runtime: Runtime,
    pub events: Arc<AtomicU64>,
    opened: Arc<AtomicU64>,
}

impl Watchers {
    /// Opens `count` watches; `path` returns the path of each.
    pub fn open(
        server: &Server,
        transport: Transport,
        count: usize,
        path: impl Fn(usize) -> String,
    ) -> Watchers {
        let runtime = Builder::new_current_thread().enable_all().build().expect("a runtime");
        let watchers = Watchers { runtime, events: Arc::default(), opened: Arc::default() };
        let connector = (transport == Transport::Tls).then(|| connector(&server.authority()));
        let paths: Vec<String> = (0..count).map(path).collect();
        let share = if transport == Transport::Multiplexed { SHARED } else { 1 };
        for (at, paths) in paths.chunks(share).enumerate() {
            let (address, paths, connector) = (server.address.clone(), paths.to_vec(), connector.clone());
            let counts = Counts { events: watchers.events.clone(), opened: watchers.opened.clone() };
            watchers.runtime.spawn(async move {
                let stream = Connection::connect(address).await.expect("the server listens");
                match connector {
                    _ if transport == Transport::Multiplexed => counts.share(stream, &paths).await,
                    Some(connector) => {
                        let name = ServerName::try_from("127.0.0.1").expect("a name");
                        let stream = connector.connect(name, stream).await.expect("a handshake");
                        counts.watch(stream, &paths[0]).await;
                    }
                    None => counts.watch(stream, &paths[0]).await,
                }
            });
            // Not all at once: the queue of a listener is short.
            if at.is_multiple_of(64) {
                watchers.drive(Duration::from_millis(1));
            }
        }
        watchers.drive_until(|counts| counts.opened.load(Relaxed) == count as u64);
        watchers
    }

    pub fn drive(&self, time: Duration) {
        self.runtime.block_on(async { tokio::time::sleep(time).await });
    }

    pub fn drive_until(&self, is_so: impl Fn(&Watchers) -> bool) {
        let start = Instant::now();
        while !is_so(self) {
            assert!(
                start.elapsed() < Duration::from_secs(60),
                "{} opened, {} events",
                self.opened.load(Relaxed),
                self.events.load(Relaxed)
            );
            self.drive(Duration::from_millis(5));
        }
    }
}

struct Counts {
    events: Arc<AtomicU64>,
    opened: Arc<AtomicU64>,
}

impl Counts {
    fn count(&self, bytes: &[u8]) {
        self.events.fetch_add(memchr::memchr_iter(MARK as u8, bytes).count() as u64, Relaxed);
    }

    async fn watch<S: AsyncRead + AsyncWrite + Unpin>(&self, mut stream: S, path: &str) {
        let ask = format!("GET {path} HTTP/1.1\r\nHost: localhost\r\n\r\n");
        stream.write_all(ask.as_bytes()).await.expect("asked");
        let mut piece = vec![0; 64 * 1024];
        let count = stream.read(&mut piece).await.expect("a response");
        assert!(piece[..count].starts_with(b"HTTP/1.1 200"));
        self.opened.fetch_add(1, Relaxed);
        self.count(&piece[..count]);
        while let Ok(count) = stream.read(&mut piece).await
            && count > 0
        {
            self.count(&piece[..count]);
        }
    }

    /// Watches several paths over one connection.
    async fn share(self, stream: Connection, paths: &[String]) {
        let (sender, connection) =
            hyper::client::conn::http2::handshake(TokioExecutor::new(), TokioIo::new(stream))
                .await
                .expect("a connection");
        tokio::spawn(connection);
        let counts = Arc::new(self);
        for path in paths {
            let (mut sender, counts) = (sender.clone(), counts.clone());
            let request = hyper::Request::get(format!("http://x{path}")).body(Empty::<bytes::Bytes>::new());
            tokio::spawn(async move {
                let response = sender.send_request(request.expect("a request")).await.expect("a response");
                assert!(response.status().is_success());
                counts.opened.fetch_add(1, Relaxed);
                let mut body = response.into_body();
                while let Some(Ok(frame)) = body.frame().await {
                    counts.count(frame.data_ref().map_or(&[], |data| &data[..]));
                }
            });
        }
    }
}

fn connector(authority: &[u8]) -> TlsConnector {
    let mut roots = RootCertStore::empty();
    roots.add(CertificateDer::from_pem_slice(authority).expect("a certificate")).expect("an authority");
    let config = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .expect("versions")
        .with_root_certificates(roots)
        .with_no_client_auth();
    TlsConnector::from(Arc::new(config))
}

/// Changes objects again and again over one connection, at a rate; `path` returns the path of each change. Returns when
/// the last response arrived.
pub fn write(
    address: &str,
    rate: u64,
    seconds: u64,
    start: Instant,
    written: &AtomicU64,
    path: impl Fn(u64) -> (String, String),
) -> Instant {
    let stream = TcpStream::connect(address).expect("the server listens");
    let mut from = BufReader::new(stream.try_clone().expect("a connection"));
    let mut to = stream;
    for at in 0..rate * seconds {
        let due = start + Duration::from_micros(at * 1_000_000 / rate);
        thread::sleep(due.saturating_duration_since(Instant::now()));
        let (collection, name) = path(at);
        let body = format!(
            "apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: {name}}}\ndata: {{key: value-{at}{MARK}}}\n"
        );
        write!(
            to,
            "PATCH {collection}/{name}?fieldManager=bench HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/apply-patch+yaml\r\nContent-Length: {}\r\n\r\n{body}",
            body.len()
        )
        .expect("sent");
        let (mut line, mut length) = (String::new(), 0);
        from.read_line(&mut line).expect("a response");
        assert!(line.starts_with("HTTP/1.1 20"), "{line}");
        while line != "\r\n" {
            line.clear();
            from.read_line(&mut line).expect("a head");
            if let Some(value) = line.to_ascii_lowercase().strip_prefix("content-length:") {
                length = value.trim().parse().expect("a length");
            }
        }
        from.read_exact(&mut vec![0; length]).expect("a body");
        written.fetch_add(1, Relaxed);
    }
    Instant::now()
}
