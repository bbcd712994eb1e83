//! The listener: sockets, TLS and HTTP. It accepts connections, reads requests within limits, passes each to a
//! [`Handler`] and writes the response. On shutdown, running requests may finish; other connections close at once
//! ([`shutdown`](super::shutdown)).

use super::{
    ClientAuthorities, ClientCertificate, Response, ResponseBody,
    shutdown::{Connections, Shutdown, TrackedBody},
};
use bytes::Bytes;
use hyper::{
    Request,
    body::Incoming,
    server::conn::{http1, http2},
    service::service_fn,
};
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use std::{convert::Infallible, future::Future, io, net::SocketAddr, pin::Pin, sync::Arc, time::Duration};
use tokio::{
    io::{AsyncRead, AsyncWrite},
    net::{TcpListener, TcpStream},
    time::timeout,
};
use tokio_rustls::{TlsAcceptor, rustls::ServerConfig};

/// The timeout of a TLS handshake and of the head of a request.
const HEAD_TIME: Duration = Duration::from_secs(10);
/// How long running requests may take to finish on shutdown.
const DRAIN_TIME: Duration = Duration::from_secs(10);
/// The period of the timer that keeps other timers from interrupting the I/O driver.
const PULSE: Duration = Duration::from_secs(1);
/// The most concurrent requests of an HTTP/2 connection; each watch occupies one.
const STREAMS: u32 = 1000;
/// The most bytes of the head of a request.
const HEAD_BYTES: usize = 64 * 1024;

/// Why a connection failed.
type ConnectionError = Box<dyn std::error::Error + Send + Sync>;

/// TLS of a listener.
#[derive(Clone)]
pub struct Tls {
    /// The configuration of the handshake.
    pub config: Arc<ServerConfig>,
    /// The authorities that vouch for client certificates, if those are requested.
    pub authorities: Option<ClientAuthorities>,
}

/// What a connection needs for its handshake.
type Acceptor = (TlsAcceptor, Option<ClientAuthorities>);

/// Responds to requests.
pub trait Handler: Send + Sync + 'static {
    /// Responds to one request.
    fn handle(self: Arc<Self>, request: Request<Incoming>) -> impl Future<Output = Response> + Send;
}

/// A handler whose type is erased, so that the code of connections is compiled once, in this crate, and not for every handler.
type Respond = Arc<dyn Fn(Request<Incoming>) -> Pin<Box<dyn Future<Output = Response> + Send>> + Send + Sync>;

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

/// Serves requests until `stop` completes, then lets running requests finish.
pub async fn serve<H: Handler>(
    listener: TcpListener,
    tls: Option<Tls>,
    handler: Arc<H>,
    stop: impl Future<Output = ()>,
) {
    let tls = tls.map(|Tls { config, authorities }| (TlsAcceptor::from(config), authorities));
    // Boxed, so that a watch does not keep the memory of the future that handled its request.
    let respond: Respond = Arc::new(move |request| Box::pin(handler.clone().handle(request)));
    let connections = Connections::default();
    tokio::pin!(stop);
    // The head of every request has a timeout. Setting a timer that expires before all others interrupts the thread
    // that polls the sockets, under a lock that all connections share. This interval always expires sooner.
    let mut pulse = tokio::time::interval(PULSE);
    loop {
        let stream = tokio::select! {
            accepted = listener.accept() => match accepted {
                Ok((stream, _)) => stream,
                // Out of file descriptors, or the client has disconnected: pause and continue.
                Err(error) => {
                    tracing::warn!(%error, "cannot accept a connection");
                    tokio::time::sleep(Duration::from_millis(20)).await;
                    continue;
                }
            },
            _ = pulse.tick() => continue,
            () = &mut stop => break,
        };
        spawn_connection(stream, tls.clone(), respond.clone(), connections.subscribe());
    }
    drop(listener);
    if timeout(DRAIN_TIME, connections.close()).await.is_err() {
        tracing::warn!("some requests did not finish within {} s", DRAIN_TIME.as_secs());
    }
}

/// The HTTP version of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Protocol {
    Http1,
    Http2,
}

/// A future that serves a connection until it closes.
type Connection = Pin<Box<dyn Future<Output = hyper::Result<()>> + Send>>;

/// Serves a connection in a task of its own.
fn spawn_connection(stream: TcpStream, tls: Option<Acceptor>, respond: Respond, shutdown: Shutdown) {
    tokio::spawn(async move {
        if let Err(error) = serve_connection(stream, tls, respond, shutdown).await {
            tracing::debug!(%error, "connection ended");
        }
    });
}

async fn serve_connection(
    stream: TcpStream,
    tls: Option<Acceptor>,
    respond: Respond,
    mut shutdown: Shutdown,
) -> Result<(), ConnectionError> {
    stream.set_nodelay(true)?;
    // The future of a connection lives as long as the connection, an hour for a watch. The handshake is boxed, so that
    // its memory is freed when it is done.
    let handshake = Box::pin(timeout(HEAD_TIME, handshake(stream, tls, respond, shutdown.clone())));
    let connection = tokio::select! {
        connection = handshake => connection??,
        () = shutdown.requested() => return Ok(()),
    };
    drop(shutdown);
    Ok(connection.await?)
}

/// Performs the handshake and returns the future that serves the connection.
async fn handshake(
    stream: TcpStream,
    tls: Option<Acceptor>,
    respond: Respond,
    shutdown: Shutdown,
) -> Result<Connection, ConnectionError> {
    Ok(match tls {
        Some((acceptor, authorities)) => {
            let stream = acceptor.accept(stream).await?;
            let chain = stream.get_ref().1.peer_certificates();
            let certificate = authorities.and_then(|authorities| authorities.identify(chain));
            let protocol = match stream.get_ref().1.alpn_protocol() {
                Some(b"h2") => Protocol::Http2,
                _ => Protocol::Http1,
            };
            http_connection(stream, protocol, respond, shutdown, certificate)
        }
        None => {
            let protocol = detect_protocol(&stream).await?;
            http_connection(stream, protocol, respond, shutdown, None)
        }
    })
}

/// Detects the HTTP version of a connection without TLS by peeking at its first bytes.
async fn detect_protocol(stream: &TcpStream) -> io::Result<Protocol> {
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
fn http_connection<S>(
    stream: S,
    protocol: Protocol,
    respond: Respond,
    shutdown: Shutdown,
    certificate: Option<ClientCertificate>,
) -> Connection
where
    S: AsyncRead + AsyncWrite + Send + Unpin + 'static,
{
    let requests = shutdown.requests();
    let service = service_fn(move |mut request: Request<Incoming>| {
        if let Some(certificate) = &certificate {
            request.extensions_mut().insert(certificate.clone());
        }
        let response = respond(request);
        let running = requests.start();
        async move { Ok::<_, Infallible>(hyper_response(response.await, |body| running.track(body))) }
    });
    let stream = TokioIo::new(stream);
    match protocol {
        Protocol::Http1 => {
            let mut http = http1::Builder::new();
            // No pipeline_flush: it would buffer a body as fast as it is produced, whether or not the client reads.
            http.timer(TokioTimer::new()).header_read_timeout(HEAD_TIME).max_buf_size(HEAD_BYTES);
            Box::pin(shutdown.drive(http.serve_connection(stream, service)))
        }
        Protocol::Http2 => {
            let mut http = http2::Builder::new(TokioExecutor::new());
            http.timer(TokioTimer::new())
                .max_concurrent_streams(STREAMS)
                .max_header_list_size(HEAD_BYTES as u32);
            Box::pin(shutdown.drive(http.serve_connection(stream, service)))
        }
    }
}

fn hyper_response(
    from: Response,
    track: impl FnOnce(ResponseBody) -> TrackedBody,
) -> hyper::Response<TrackedBody> {
    let mut response = hyper::Response::new(track(from.body));
    *response.status_mut() = from.code;
    *response.headers_mut() = from.headers;
    response
}

/// Why a body could not be read.
#[derive(Debug, PartialEq, Eq)]
pub enum BodyFault {
    /// The body exceeds the limit.
    TooLarge,
    /// The body did not arrive completely in time.
    Broken(String),
}

/// Reads a body within limits of size and time.
pub async fn read_body<B>(body: B, limit: usize, time_limit: Duration) -> Result<Bytes, BodyFault>
where
    B: hyper::body::Body<Error: Into<Box<dyn std::error::Error + Send + Sync>>>,
{
    use http_body_util::{BodyExt, LengthLimitError, Limited};
    match timeout(time_limit, Limited::new(body, limit).collect()).await {
        Err(_) => {
            Err(BodyFault::Broken(format!("the body did not arrive within {} s", time_limit.as_secs())))
        }
        Ok(Err(error)) if error.is::<LengthLimitError>() => Err(BodyFault::TooLarge),
        Ok(Err(error)) => Err(BodyFault::Broken(format!("the body did not arrive completely: {error}"))),
        Ok(Ok(body)) => Ok(body.to_bytes()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
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
        async fn handle(self: Arc<Self>, request: Request<Incoming>) -> Response {
            if request.uri().path() == "/gated" {
                self.arrived.notify_one();
                self.release.notified().await;
            }
            Response::text(hyper::StatusCode::OK, "done")
        }
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
        between.write_all(b"GET / HTTP/1.1\r\nHost: a\r\n\r\n").await.unwrap();
        let mut first = [0; 12];
        between.read_exact(&mut first).await.unwrap();
        let mut running = connect().await.unwrap();
        running.write_all(b"GET /gated HTTP/1.1\r\nHost: a\r\n\r\n").await.unwrap();
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

    #[tokio::test]
    async fn a_client_is_known_by_its_first_bytes_however_they_come() {
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
