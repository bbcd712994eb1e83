//! The listener: sockets, TLS and HTTP. It accepts connections, reads requests within limits, passes each to a
//! [`Handler`] and writes the response. On shutdown, running requests may finish; other connections close at once
//! (`shutdown`).

#[cfg(feature = "library-connections")]
use super::tls_library::{ServerSide as _, TlsStream};
#[cfg(not(feature = "library-connections"))]
use super::tls_stream::TlsStream;
use super::{
    ClientAddress, ConnectionLimits, GuardedRequest, HostGuard, PLAIN, RequestBody, Response,
    connections::{Admission, ConnectionTable, Purpose},
    http1::{Http1Connection, Http1Limits},
    service::{Identities, Respond, Service},
    shutdown::{ConnectionError, Connections, Shutdown},
};
use hyper::{Request, body::Incoming, server::conn::http2};
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use std::{
    future::Future,
    io,
    net::SocketAddr,
    pin::Pin,
    sync::Arc,
    time::{Duration, SystemTime, UNIX_EPOCH},
};
use tenure_transport::{Reloadable, serving::Tls};
use tokio::{
    io::{AsyncRead, AsyncWrite},
    net::{TcpListener, TcpStream},
    time::timeout,
};

/// The timeout of a TLS handshake and of the head of a request.
const HEAD_TIME: Duration = Duration::from_secs(10);
/// How long running requests may take to finish on shutdown.
const DRAIN_TIME: Duration = Duration::from_secs(10);
/// The period of the timer that keeps other timers from interrupting the I/O driver.
const PULSE: Duration = Duration::from_secs(1);
/// How long a connection that is accepted for health checks alone may exist.
const HEALTH_CHECK_TIME: Duration = Duration::from_secs(5);
/// How often the peer of an HTTP/2 connection is asked whether it still exists, and how long it may take to answer.
const PING: (Duration, Duration) = (Duration::from_secs(30), Duration::from_secs(20));
/// After which silence, and how often then, the peer of any connection is probed by TCP.
const TCP_PROBE: (Duration, Duration) = (Duration::from_secs(60), Duration::from_secs(15));
/// The most concurrent requests of an HTTP/2 connection; each watch occupies one.
const STREAMS: u32 = 1000;
/// The most bytes of the head of a request.
const HEAD_BYTES: usize = 64 * 1024;

/// Responds to requests, which the listener has guarded.
pub trait Handler: Send + Sync + 'static {
    /// Responds to one request.
    fn handle(self: Arc<Self>, request: GuardedRequest) -> impl Future<Output = Response> + Send;
}

/// Binds a listener.
pub async fn bind(address: SocketAddr) -> io::Result<TcpListener> {
    TcpListener::bind(address).await.map_err(|error| match error.kind() {
        io::ErrorKind::AddrInUse => io::Error::new(
            error.kind(),
            format!("{address} is in use by another process; choose another with --listen, such as --listen 127.0.0.1:0"),
        ),
        kind => io::Error::new(kind, format!("cannot listen on {address}: {error}")),
    })
}

/// Serves requests until `stop` completes, then lets running requests finish. Each handshake uses the current TLS configuration.
/// The limits on connections are those that the limit on open files allows.
pub async fn serve<H: Handler>(
    listener: TcpListener,
    tls: Option<Reloadable<Tls>>,
    handler: Arc<H>,
    stop: impl Future<Output = ()>,
) {
    serve_within(listener, tls, handler, ConnectionLimits::default(), stop).await;
}

/// Serves requests within limits on connections until `stop` completes, then lets running requests finish.
pub async fn serve_within<H: Handler>(
    listener: TcpListener,
    tls: Option<Reloadable<Tls>>,
    handler: Arc<H>,
    limits: ConnectionLimits,
    stop: impl Future<Output = ()>,
) {
    let table = ConnectionTable::new(limits);
    let respond = respond(handler, tls.is_some());
    let connections = Connections::default();
    tokio::pin!(stop);
    // The head of every request has a timeout. Setting a timer that expires before all others interrupts the thread
    // that polls the sockets, under a lock that all connections share. This interval always expires sooner.
    let mut pulse = tokio::time::interval(PULSE);
    loop {
        let (stream, peer) = tokio::select! {
            accepted = listener.accept() => match accepted {
                Ok(accepted) => accepted,
                // Out of file descriptors, or the client has disconnected: pause and continue.
                Err(error) => {
                    tracing::warn!(%error, "cannot accept a connection");
                    tokio::time::sleep(Duration::from_millis(20)).await;
                    continue;
                }
            },
            _ = pulse.tick() => {
                table.sweep();
                continue;
            }
            () = &mut stop => break,
        };
        let (entry, purpose) = match table.admit(peer.ip()) {
            Admission::Accepted(entry) => (entry, Purpose::Any),
            Admission::HealthOnly(entry) => (entry, Purpose::Health),
            Admission::Refused => {
                tracing::debug!(%peer, "connection refused: there are too many");
                continue;
            }
        };
        let shutdown = connections.subscribe(entry);
        let accepted = Accepted { client: peer, respond: respond.clone(), shutdown, purpose };
        spawn_connection(stream, tls.as_ref().map(Reloadable::get), accepted);
    }
    drop(listener);
    if timeout(DRAIN_TIME, connections.close()).await.is_err() {
        tracing::warn!("some requests did not finish within {} s", DRAIN_TIME.as_secs());
    }
}

/// Serves the requests of one connection until it closes, whatever carries its bytes: over TLS if there is a configuration, which also
/// chooses the HTTP version, and otherwise by HTTP/1.1.
pub async fn serve_stream<S, H>(stream: S, tls: Option<Arc<Tls>>, handler: Arc<H>) -> io::Result<()>
where
    S: AsyncRead + AsyncWrite + Send + Unpin + 'static,
    H: Handler,
{
    let (table, connections) = (ConnectionTable::new(ConnectionLimits::new(1)), Connections::default());
    let client = SocketAddr::from(([127, 0, 0, 1], 0));
    let Admission::Accepted(entry) = table.admit(client.ip()) else { return Ok(()) };
    let accepted = Accepted {
        client,
        respond: respond(handler, tls.is_some()),
        shutdown: connections.subscribe(entry),
        purpose: Purpose::Any,
    };
    let connection = match tls {
        Some(tls) => tls_connection(stream, tls, accepted).await.map_err(io::Error::other)?,
        None => http_connection(stream, Protocol::Http1, accepted, Identities::default()),
    };
    connection.await.map_err(io::Error::other)
}

/// Returns a handler as connections call it.
fn respond<H: Handler>(handler: Arc<H>, has_tls: bool) -> Respond {
    let guard = if has_tls { HostGuard::Certified } else { HostGuard::Loopback };
    // Boxed, so that a watch does not keep the memory of the future that handled its request.
    Arc::new(move |request| Box::pin(respond_guarded(handler.clone(), guard, request)))
}

/// Passes a request to the handler if its host, its origin and its path may be answered.
async fn respond_guarded<H: Handler>(
    handler: Arc<H>,
    guard: HostGuard,
    request: Request<Incoming>,
) -> Response {
    let client = request.extensions().get().map(|ClientAddress(address)| *address);
    match GuardedRequest::check(guard, request.map(RequestBody::from)).await {
        Ok(request) => handler.handle(request).await,
        Err(refusal) => {
            tracing::info!(?client, %refusal, "request refused");
            Response::failure(&refusal, PLAIN)
        }
    }
}

/// The HTTP version of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Protocol {
    /// HTTP/1.1.
    Http1,
    /// HTTP/2.
    Http2,
}

/// A connection that was accepted: whose it is, and who answers its requests.
struct Accepted {
    client: SocketAddr,
    respond: Respond,
    shutdown: Shutdown,
    purpose: Purpose,
}

/// A future that serves a connection until it closes.
type Connection = Pin<Box<dyn Future<Output = Result<(), ConnectionError>> + Send>>;

/// Serves a connection in a task of its own.
fn spawn_connection(stream: TcpStream, tls: Option<Arc<Tls>>, accepted: Accepted) {
    let purpose = accepted.purpose;
    // The future of a connection lives as long as the connection, an hour for a watch. What comes before is boxed, so that its
    // memory is freed when it is done.
    let established = Box::pin(establish(stream, tls, accepted));
    let serving = async move {
        match established.await? {
            Some(connection) => connection.await,
            None => Ok(()),
        }
    };
    match purpose {
        Purpose::Any => drop(tokio::spawn(async move { log_end(serving.await) })),
        Purpose::Health => drop(tokio::spawn(async move {
            log_end(timeout(HEALTH_CHECK_TIME, serving).await.unwrap_or(Ok(())));
        })),
    }
}

fn log_end(ended: Result<(), ConnectionError>) {
    if let Err(error) = ended {
        tracing::debug!(%error, "connection ended");
    }
}

/// Prepares a connection; returns `None` if the server stops meanwhile.
async fn establish(
    stream: TcpStream,
    tls: Option<Arc<Tls>>,
    accepted: Accepted,
) -> Result<Option<Connection>, ConnectionError> {
    if !has_date(SystemTime::now()) {
        tracing::error!(
            "the clock of this machine is not between 1970 and 9999; set it to serve connections"
        );
        return Ok(None);
    }
    stream.set_nodelay(true)?;
    let (silence, interval) = TCP_PROBE;
    let probes = socket2::TcpKeepalive::new().with_time(silence).with_interval(interval).with_retries(3);
    // Not every system lets the count of probes be set: its own is as good.
    let _ = socket2::SockRef::from(&stream).set_tcp_keepalive(&probes);
    let mut shutdown = accepted.shutdown.clone();
    let handshake = handshake(stream, tls, accepted);
    tokio::select! {
        connection = timeout(HEAD_TIME, handshake) => Ok(Some(connection??)),
        () = shutdown.requested() => Ok(None),
    }
}

/// Whether a time can be the date of a response. Hyper panics at any other.
pub fn has_date(time: SystemTime) -> bool {
    const YEAR_9999: Duration = Duration::from_secs(253_370_764_800);
    time.duration_since(UNIX_EPOCH).is_ok_and(|since| since < YEAR_9999)
}

/// Performs the handshake and returns the future that serves the connection.
async fn handshake(
    stream: TcpStream,
    tls: Option<Arc<Tls>>,
    accepted: Accepted,
) -> Result<Connection, ConnectionError> {
    match tls {
        Some(tls) => tls_connection(stream, tls, accepted).await,
        None => {
            let protocol = detect_protocol(&stream).await?;
            Ok(http_connection(stream, protocol, accepted, Identities::default()))
        }
    }
}

/// Performs the handshake of TLS and returns the future that serves the connection.
async fn tls_connection<S>(
    stream: S,
    tls: Arc<Tls>,
    accepted: Accepted,
) -> Result<Connection, ConnectionError>
where
    S: AsyncRead + AsyncWrite + Send + Unpin + 'static,
{
    let stream = TlsStream::accept(stream, tls.config.clone()).await?;
    let chain = stream.state().peer_certificates();
    let authorities = tls.authorities.as_ref();
    let identities = Identities {
        certificate: authorities.and_then(|authorities| authorities.identify(chain)),
        front_proxy: authorities.and_then(|authorities| authorities.front_proxy(chain)),
    };
    let protocol = match stream.state().alpn_protocol() {
        Some(b"h2") => Protocol::Http2,
        _ => Protocol::Http1,
    };
    Ok(http_connection(stream, protocol, accepted, identities))
}

/// Detects the HTTP version of a connection without TLS by peeking at its first bytes.
pub async fn detect_protocol(stream: &TcpStream) -> io::Result<Protocol> {
    /// The beginning of the HTTP/2 preface; no HTTP/1 method begins so.
    const PREFACE: &[u8] = b"PRI";
    let mut first = [0; PREFACE.len()];
    loop {
        let count = stream.peek(&mut first).await?;
        let (given, expected) = (&first[..count], &PREFACE[..count]);
        if count == 0 || given != expected {
            return Ok(Protocol::Http1);
        }
        if count == PREFACE.len() {
            return Ok(Protocol::Http2);
        }
        // The socket stays readable, so readiness does not tell when more bytes arrive.
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
}

/// Returns the future that serves a connection with an HTTP version.
fn http_connection<S>(stream: S, protocol: Protocol, accepted: Accepted, identities: Identities) -> Connection
where
    S: AsyncRead + AsyncWrite + Send + Unpin + 'static,
{
    let Accepted { client, respond, shutdown, purpose } = accepted;
    let service =
        Service { respond, shutdown: shutdown.clone(), purpose, client, identities, handover: None };
    match protocol {
        Protocol::Http1 => {
            let limits = Http1Limits { head_time: HEAD_TIME, head_bytes: HEAD_BYTES };
            Box::pin(shutdown.drive(Box::pin(Http1Connection::new(stream, service, limits))))
        }
        Protocol::Http2 => {
            let mut http = http2::Builder::new(TokioExecutor::new());
            http.timer(TokioTimer::new())
                .max_concurrent_streams(STREAMS)
                .keep_alive_interval(PING.0)
                .keep_alive_timeout(PING.1)
                .max_header_list_size(HEAD_BYTES as u32);
            Box::pin(shutdown.drive(Box::pin(http.serve_connection(TokioIo::new(stream), service))))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bytes::Bytes;
    use tokio::{
        io::{AsyncReadExt, AsyncWriteExt},
        sync::Notify,
    };

    /// Responds when it is allowed to.
    #[derive(Default)]
    struct Gated {
        arrived: Notify,
        release: Notify,
    }

    impl Handler for Gated {
        async fn handle(self: Arc<Self>, request: GuardedRequest) -> Response {
            if request.head().uri.path() == "/gated" {
                self.arrived.notify_one();
                self.release.notified().await;
            }
            Response::text(hyper::StatusCode::OK, "done")
        }
    }

    /// Answers with a stream that has two events and stays open.
    struct Watching;

    impl Handler for Watching {
        async fn handle(self: Arc<Self>, _: GuardedRequest) -> Response {
            let stream = crate::BodyStream::new(|sender| async move {
                sender.send(Bytes::from_static(b"{\"a\":1}\n{\"b\"")).await;
                sender.send(Bytes::from_static(b":2}\n")).await;
                std::future::pending().await
            });
            Response::stream("application/json", stream)
        }
    }

    #[tokio::test]
    async fn a_stream_is_sent_over_a_websocket_until_the_server_stops() {
        let listener = bind(([127, 0, 0, 1], 0).into()).await.unwrap();
        let address = listener.local_addr().unwrap();
        let stop = Arc::new(Notify::new());
        let stopped = {
            let stop = stop.clone();
            tokio::spawn(async move { serve(listener, None, Arc::new(Watching), stop.notified()).await })
        };
        let mut client = TcpStream::connect(address).await.unwrap();
        let request = "GET /watch HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\
             Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n";
        client.write_all(request.as_bytes()).await.unwrap();
        let mut received = Vec::new();
        let expected = b"\x81\x08{\"a\":1}\n\x81\x08{\"b\":2}\n";
        while !received.ends_with(expected) {
            assert_ne!(client.read_buf(&mut received).await.unwrap(), 0, "{received:?}");
        }
        let head = String::from_utf8_lossy(&received).to_lowercase();
        assert!(head.starts_with("http/1.1 101 "), "{head}");
        assert!(head.contains("sec-websocket-accept: s3pplmbitxaq9kygzzhzrbk+xoo="), "{head}");
        // A masked ping is answered, and the server says goodbye.
        client.write_all(b"\x89\x81\0\0\0\0x").await.unwrap();
        let mut answer = [0; 3];
        client.read_exact(&mut answer).await.unwrap();
        assert_eq!(&answer, b"\x8a\x01x");
        stop.notify_one();
        let mut goodbye = Vec::new();
        client.read_to_end(&mut goodbye).await.unwrap();
        assert_eq!(goodbye, b"\x88\x02\x03\xe9");
        stopped.await.unwrap();
    }

    #[tokio::test]
    async fn idle_connections_close_at_once_and_running_requests_finish() {
        let listener = bind(([127, 0, 0, 1], 0).into()).await.unwrap();
        let address = listener.local_addr().unwrap();
        let (handler, stop) = (Arc::new(Gated::default()), Arc::new(Notify::new()));
        let stopped = {
            let (handler, stop) = (handler.clone(), stop.clone());
            tokio::spawn(async move { serve(listener, None, handler, stop.notified()).await })
        };
        let connect = || TcpStream::connect(address);
        let mut unused = connect().await.unwrap();
        let mut unfinished = connect().await.unwrap();
        unfinished.write_all(b"GET / HTTP/1.1\r\n").await.unwrap();
        let mut between = connect().await.unwrap();
        between.write_all(b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n").await.unwrap();
        let mut first = [0; 12];
        between.read_exact(&mut first).await.unwrap();
        let mut running = connect().await.unwrap();
        running.write_all(b"GET /gated HTTP/1.1\r\nHost: localhost\r\n\r\n").await.unwrap();
        handler.arrived.notified().await;
        stop.notify_one();
        // These close while the last request is still running.
        for idle in [&mut unused, &mut unfinished, &mut between] {
            let mut rest = Vec::new();
            let _ = idle.read_to_end(&mut rest).await;
        }
        assert!(!stopped.is_finished(), "a request is running");
        handler.release.notify_one();
        let mut response = String::new();
        running.read_to_string(&mut response).await.unwrap();
        assert!(response.starts_with("HTTP/1.1 200") && response.ends_with("done"), "{response}");
        stopped.await.unwrap();
    }

    #[test]
    fn times_without_a_date_are_recognized() {
        let day = Duration::from_secs(24 * 60 * 60);
        assert!(has_date(SystemTime::now()) && has_date(UNIX_EPOCH));
        for time in [UNIX_EPOCH.checked_sub(day), UNIX_EPOCH.checked_add(day * 366 * 9000)] {
            assert!(!has_date(time.unwrap()), "{time:?}");
        }
    }

    #[tokio::test]
    async fn the_protocol_is_detected_however_the_first_bytes_arrive() {
        for (pieces, protocol) in [
            (&["GET / HTTP/1.1\r\n"][..], Protocol::Http1),
            (&["P", "U", "T / HTTP/1.1\r\n"], Protocol::Http1),
            (&["PR", "OPFIND / HTTP/1.1\r\n"], Protocol::Http1),
            (&["PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"], Protocol::Http2),
            (&["P", "R", "I", " * HTTP/2.0\r\n"], Protocol::Http2),
            (&[], Protocol::Http1),
        ] {
            let listener = bind(([127, 0, 0, 1], 0).into()).await.unwrap();
            let mut client = TcpStream::connect(listener.local_addr().unwrap()).await.unwrap();
            client.set_nodelay(true).unwrap();
            let (stream, _) = listener.accept().await.unwrap();
            let sending = async {
                for piece in pieces {
                    client.write_all(piece.as_bytes()).await.unwrap();
                    tokio::time::sleep(Duration::from_millis(3)).await;
                }
                client.shutdown().await.unwrap();
            };
            let (found, ()) = tokio::join!(detect_protocol(&stream), sending);
            assert_eq!(found.unwrap(), protocol, "{pieces:?}");
        }
    }
}
