//! A socket for clients that need one: a base URL and a kubeconfig.

use crate::{TestError, server::TestServer, service::failure};
use http::{Request, Response};
use http_body::Body;
use http_body_util::Full;
use hyper::{
    body::{Bytes, Incoming},
    server::conn::{http1, http2},
    service::service_fn,
};
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use std::{
    convert::Infallible,
    fmt,
    future::Future,
    io,
    net::SocketAddr,
    path::{Path, PathBuf},
    time::Duration,
};
use tempfile::TempDir;
use tenure_http::{
    GuardedRequest, HostGuard, MemoryBudget, RequestBody,
    listener::{Protocol, detect_protocol},
};
use tenure_meta::ApiError;
use tenure_server::BODY_BYTES;
use tenure_transport::serving::write_insecure_kubeconfig;
use tokio::{
    net::TcpListener,
    task::{JoinHandle, JoinSet},
    time::timeout,
};

/// How long a connection may take to send the head of a request.
const HEAD_TIME: Duration = Duration::from_secs(10);

/// A loopback socket of a [`TestServer`]. Every client is the administrator unless it has credentials of its own. The socket closes
/// when this is dropped.
pub struct Socket {
    address: SocketAddr,
    kubeconfig: PathBuf,
    _directory: TempDir,
    accepting: JoinHandle<()>,
}

impl TestServer {
    /// Listens on a free loopback port, with plain HTTP, version 1.1 or 2.
    pub async fn listen(&self) -> Result<Socket, TestError> {
        self.listen_on(SocketAddr::from(([127, 0, 0, 1], 0))).await
    }

    /// Listens on a loopback address, with plain HTTP, version 1.1 or 2.
    pub async fn listen_on(&self, address: SocketAddr) -> Result<Socket, TestError> {
        let listener = bind(address).await?;
        let address = listener.local_addr().map_err(TestError::Listen)?;
        let directory = TempDir::new().map_err(TestError::Listen)?;
        let kubeconfig = write_insecure_kubeconfig(directory.path(), address).map_err(TestError::Listen)?;
        let service = self.service();
        let accepting = tokio::spawn(async move {
            let memory = MemoryBudget::default();
            let respond = move |request: Result<GuardedRequest, ApiError>| {
                let (service, memory) = (service.clone(), memory.clone());
                async move {
                    let read = async {
                        let (head, body) = request?.into_parts();
                        let (body, _) = body.read(BODY_BYTES, &memory).await?;
                        Ok::<_, ApiError>(Request::from_parts(*head, Full::new(body)))
                    };
                    match read.await {
                        Ok(request) => service.respond(request).await,
                        Err(refusal) => failure(&refusal),
                    }
                }
            };
            accept(listener, respond).await;
        });
        Ok(Socket { address, kubeconfig, _directory: directory, accepting })
    }
}

/// Binds a loopback address.
pub(crate) async fn bind(address: SocketAddr) -> Result<TcpListener, TestError> {
    if !address.ip().is_loopback() {
        let why = format!("{address} is not a loopback address; everyone who connects is the administrator");
        return Err(TestError::Listen(io::Error::other(why)));
    }
    let failed =
        |error: io::Error| TestError::Listen(io::Error::new(error.kind(), format!("{address}: {error}")));
    TcpListener::bind(address).await.map_err(failed)
}

/// Answers requests of connections until the task is aborted. A request that a web page in a browser on this machine could have sent
/// is refused.
pub(crate) async fn accept<F, B>(
    listener: TcpListener,
    respond: impl Fn(Result<GuardedRequest, ApiError>) -> F + Clone + Send + Sync + 'static,
) where
    F: Future<Output = Response<B>> + Send + 'static,
    B: Body<Data = Bytes, Error: Into<Box<dyn std::error::Error + Send + Sync>>> + Send + 'static,
{
    // Connections end with the socket.
    let mut connections = JoinSet::new();
    loop {
        while connections.try_join_next().is_some() {}
        let stream = match listener.accept().await {
            Ok((stream, _)) => stream,
            Err(error) => {
                tracing::warn!(%error, "cannot accept a connection");
                tokio::time::sleep(Duration::from_millis(20)).await;
                continue;
            }
        };
        let respond = respond.clone();
        connections.spawn(async move {
            // A small response must not wait for the acknowledgement of the previous one.
            let _ = stream.set_nodelay(true);
            let service = service_fn(move |request: Request<Incoming>| {
                let respond = respond.clone();
                async move {
                    let request = request.map(RequestBody::from);
                    let guarded = GuardedRequest::check(HostGuard::Loopback, request).await;
                    Ok::<_, Infallible>(respond(guarded).await)
                }
            });
            let served = match timeout(HEAD_TIME, detect_protocol(&stream)).await {
                Ok(Ok(Protocol::Http2)) => {
                    let mut connection = http2::Builder::new(TokioExecutor::new());
                    connection.timer(TokioTimer::new());
                    connection.serve_connection(TokioIo::new(stream), service).await
                }
                Ok(Ok(Protocol::Http1)) => {
                    let mut connection = http1::Builder::new();
                    connection.timer(TokioTimer::new()).header_read_timeout(HEAD_TIME);
                    connection.serve_connection(TokioIo::new(stream), service).await
                }
                // The client disconnected, or sends nothing.
                Ok(Err(_)) | Err(_) => return,
            };
            // An error means that the client disconnected, or that a fault broke the connection.
            if let Err(error) = served {
                tracing::debug!(%error, "connection ended");
            }
        });
    }
}

impl Socket {
    /// Returns the address.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Returns the base URL, such as `http://127.0.0.1:40123`.
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Returns the path of a kubeconfig, which lasts as long as the socket.
    pub fn kubeconfig(&self) -> &Path {
        &self.kubeconfig
    }
}

impl Drop for Socket {
    fn drop(&mut self) {
        self.accepting.abort();
    }
}

impl fmt::Debug for Socket {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Socket").field("address", &self.address).finish_non_exhaustive()
    }
}
