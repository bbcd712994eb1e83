//! Sockets, TLS and HTTP, and nothing else: accepts connections, reads requests within their limits, hands
//! each to the API and writes what it answers. A signal to stop lets running requests finish.

use crate::answer::{Answer, AnswerBody};
use bytes::Bytes;
use hyper::{Request, Response, body::Incoming, service::service_fn};
use hyper_util::{
    rt::{TokioExecutor, TokioIo, TokioTimer},
    server::{conn::auto, graceful::GracefulShutdown},
};
use std::{convert::Infallible, future::Future, io, net::SocketAddr, sync::Arc, time::Duration};
use tokio::{
    net::{TcpListener, TcpStream},
    time::timeout,
};
use tokio_rustls::{TlsAcceptor, rustls::ServerConfig};

/// How long a client may take for a TLS handshake or for the head of a request.
const HEAD_TIME: Duration = Duration::from_secs(10);
/// How long running requests may take to finish once the server is to stop.
const DRAIN_TIME: Duration = Duration::from_secs(10);
/// How many requests one HTTP/2 connection may have under way; watches hold theirs for long.
const STREAMS: u32 = 1000;
/// How many bytes the head of a request may have.
const HEAD_BYTES: usize = 64 * 1024;

/// What answers requests.
pub trait Handler: Send + Sync + 'static {
    /// Answers one request.
    fn handle(self: Arc<Self>, request: Request<Incoming>) -> impl Future<Output = Answer> + Send;
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

async fn converse<H: Handler>(
    stream: TcpStream,
    acceptor: Option<TlsAcceptor>,
    handler: Arc<H>,
    watcher: hyper_util::server::graceful::Watcher,
) -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
    stream.set_nodelay(true)?;
    let service = service_fn(move |request| {
        // On its own, so that a watch that goes on for an hour does not keep the room in which its request was answered.
        let answering = Box::pin(handler.clone().handle(request));
        async move { Ok::<_, Infallible>(respond(answering.await)) }
    });
    let mut http = auto::Builder::new(TokioExecutor::new());
    // Without flushing of pipelines: with it, a body goes into the buffer as fast as it is made, whether or not the
    // client reads.
    http.http1().timer(TokioTimer::new()).header_read_timeout(HEAD_TIME).max_buf_size(HEAD_BYTES);
    http.http2()
        .timer(TokioTimer::new())
        .max_concurrent_streams(STREAMS)
        .max_header_list_size(HEAD_BYTES as u32);
    match acceptor {
        Some(acceptor) => {
            let stream = timeout(HEAD_TIME, acceptor.accept(stream)).await??;
            let connection = http.serve_connection_with_upgrades(TokioIo::new(stream), service).into_owned();
            watcher.watch(connection).await
        }
        None => {
            let connection = http.serve_connection_with_upgrades(TokioIo::new(stream), service).into_owned();
            watcher.watch(connection).await
        }
    }
}

fn respond(answer: Answer) -> Response<AnswerBody> {
    let mut response = Response::new(answer.body);
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
