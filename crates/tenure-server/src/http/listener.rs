//! Sockets, TLS and HTTP, and nothing else: accepts connections, reads requests within their limits, hands
//! each to the API and writes what it answers. A signal to stop lets running requests finish.

use super::{Response, ResponseBody};
use bytes::Bytes;
use hyper::{
    Request,
    body::Incoming,
    server::conn::{http1, http2},
    service::service_fn,
};
use hyper_util::{
    rt::{TokioExecutor, TokioIo, TokioTimer},
    server::graceful::{GracefulShutdown, Watcher},
};
use std::{convert::Infallible, future::Future, io, net::SocketAddr, pin::Pin, sync::Arc, time::Duration};
use tokio::{
    io::{AsyncRead, AsyncWrite},
    net::{TcpListener, TcpStream},
    time::timeout,
};
use tokio_rustls::{TlsAcceptor, rustls::ServerConfig};

/// How long a client may take for a TLS handshake or for the head of a request.
const HEAD_TIME: Duration = Duration::from_secs(10);
/// How long running requests may take to finish once the server is to stop.
const DRAIN_TIME: Duration = Duration::from_secs(10);
/// How often the server wakes without being asked to.
const PULSE: Duration = Duration::from_secs(1);
/// How many requests one HTTP/2 connection may have under way; watches hold theirs for long.
const STREAMS: u32 = 1000;
/// How many bytes the head of a request may have.
const HEAD_BYTES: usize = 64 * 1024;

/// Why a connection ended before its time.
type Fault = Box<dyn std::error::Error + Send + Sync>;

/// What answers requests.
pub trait Handler: Send + Sync + 'static {
    /// Answers one request.
    fn handle(self: Arc<Self>, request: Request<Incoming>) -> impl Future<Output = Response> + Send;
}

/// Binds the address to listen on.
pub async fn bind(address: SocketAddr) -> io::Result<TcpListener> {
    TcpListener::bind(address).await.map_err(|error| match error.kind() {
        io::ErrorKind::AddrInUse => io::Error::new(
            error.kind(),
            format!("{address} is in use by another process; choose another with --listen, such as --listen 127.0.0.1:0"),
        ),
        kind => io::Error::new(kind, format!("cannot listen on {address}: {error}")),
    })
}

/// Serves requests until `stop` is done, then lets running ones finish.
pub async fn serve<H: Handler>(
    listener: TcpListener,
    tls: Option<Arc<ServerConfig>>,
    handler: Arc<H>,
    stop: impl Future<Output = ()>,
) {
    let acceptor = tls.map(TlsAcceptor::from);
    let connections = GracefulShutdown::new();
    tokio::pin!(stop);
    // The head of every request has its time limit. A timer that would end before all others interrupts the thread that
    // waits for sockets, within a lock that all connections need; with one that ends sooner anyway, none does.
    let mut pulse = tokio::time::interval(PULSE);
    loop {
        let stream = tokio::select! {
            accepted = listener.accept() => match accepted {
                Ok((stream, _)) => stream,
                // Out of file descriptors, or a client that went away: take a breath and go on.
                Err(error) => {
                    tracing::warn!(%error, "cannot accept a connection");
                    tokio::time::sleep(Duration::from_millis(20)).await;
                    continue;
                }
            },
            _ = pulse.tick() => continue,
            () = &mut stop => break,
        };
        let (handler, acceptor, watcher) = (handler.clone(), acceptor.clone(), connections.watcher());
        tokio::spawn(async move {
            if let Err(error) = converse(stream, acceptor, handler, watcher).await {
                tracing::debug!(%error, "connection ended");
            }
        });
    }
    drop(listener);
    if timeout(DRAIN_TIME, connections.shutdown()).await.is_err() {
        tracing::warn!("some requests did not finish within {} s", DRAIN_TIME.as_secs());
    }
}

/// What a client speaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Protocol {
    Http1,
    Http2,
}

/// What serves a connection to its end.
type Serving = Pin<Box<dyn Future<Output = hyper::Result<()>> + Send>>;

async fn converse<H: Handler>(
    stream: TcpStream,
    acceptor: Option<TlsAcceptor>,
    handler: Arc<H>,
    watcher: Watcher,
) -> Result<(), Fault> {
    stream.set_nodelay(true)?;
    // What a connection is served by stays as long as the connection, which for a watch is an hour: what is needed to
    // begin is in a box that goes, so that nothing has room for it from then on.
    Ok(Box::pin(timeout(HEAD_TIME, greet(stream, acceptor, handler, watcher))).await??.await?)
}

/// Shakes hands, and returns what serves the connection from then on.
async fn greet<H: Handler>(
    stream: TcpStream,
    acceptor: Option<TlsAcceptor>,
    handler: Arc<H>,
    watcher: Watcher,
) -> Result<Serving, Fault> {
    Ok(match acceptor {
        Some(acceptor) => {
            let stream = acceptor.accept(stream).await?;
            let protocol = match stream.get_ref().1.alpn_protocol() {
                Some(b"h2") => Protocol::Http2,
                _ => Protocol::Http1,
            };
            speak(stream, protocol, handler, watcher)
        }
        None => {
            let protocol = announced(&stream).await?;
            speak(stream, protocol, handler, watcher)
        }
    })
}

/// Finds out from the first bytes of a connection without TLS what the client speaks, and leaves them where they are.
async fn announced(stream: &TcpStream) -> io::Result<Protocol> {
    /// What HTTP/2 begins with, and no method of HTTP/1.
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
        // There is something to read all the time, so nobody would say that there is more.
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
}

/// Returns what serves a connection in its protocol.
fn speak<S, H>(stream: S, protocol: Protocol, handler: Arc<H>, watcher: Watcher) -> Serving
where
    S: AsyncRead + AsyncWrite + Send + Unpin + 'static,
    H: Handler,
{
    let service = service_fn(move |request| {
        // On its own, so that a watch that goes on for an hour does not keep the room in which its request was answered.
        let answering = Box::pin(handler.clone().handle(request));
        async move { Ok::<_, Infallible>(respond(answering.await)) }
    });
    let stream = TokioIo::new(stream);
    match protocol {
        Protocol::Http1 => {
            let mut http = http1::Builder::new();
            // Without flushing of pipelines: with it, a body goes into the buffer as fast as it is made, whether or not
            // the client reads.
            http.timer(TokioTimer::new()).header_read_timeout(HEAD_TIME).max_buf_size(HEAD_BYTES);
            Box::pin(watcher.watch(http.serve_connection(stream, service)))
        }
        Protocol::Http2 => {
            let mut http = http2::Builder::new(TokioExecutor::new());
            http.timer(TokioTimer::new())
                .max_concurrent_streams(STREAMS)
                .max_header_list_size(HEAD_BYTES as u32);
            Box::pin(watcher.watch(http.serve_connection(stream, service)))
        }
    }
}

fn respond(answer: Response) -> hyper::Response<ResponseBody> {
    let mut response = hyper::Response::new(answer.body);
    *response.status_mut() = answer.code;
    *response.headers_mut() = answer.headers;
    response
}

/// Why a body could not be read.
#[derive(Debug, PartialEq, Eq)]
pub enum BodyFault {
    /// It is longer than the limit.
    TooLarge,
    /// The client took too long, or went away.
    Broken(String),
}

/// Reads a body within its limits of size and time.
pub async fn read_body<B>(body: B, limit: usize, patience: Duration) -> Result<Bytes, BodyFault>
where
    B: hyper::body::Body<Error: Into<Box<dyn std::error::Error + Send + Sync>>>,
{
    use http_body_util::{BodyExt, LengthLimitError, Limited};
    match timeout(patience, Limited::new(body, limit).collect()).await {
        Err(_) => Err(BodyFault::Broken(format!("the body did not arrive within {} s", patience.as_secs()))),
        Ok(Err(error)) if error.is::<LengthLimitError>() => Err(BodyFault::TooLarge),
        Ok(Err(error)) => Err(BodyFault::Broken(format!("the body did not arrive whole: {error}"))),
        Ok(Ok(body)) => Ok(body.to_bytes()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::io::AsyncWriteExt;

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
            let (found, ()) = tokio::join!(announced(&stream), sending);
            assert_eq!(found.unwrap(), protocol, "{pieces:?}");
        }
    }
}
