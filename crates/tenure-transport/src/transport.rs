//! Requests over HTTP/1.1, with or without TLS, on connections that are kept open.

use bytes::Bytes;
use http::{Request, Response, Uri};
use http_body_util::{BodyExt, Full, combinators::UnsyncBoxBody};
use hyper::body::Incoming;
use hyper_rustls::{DefaultServerNameResolver, FixedServerNameResolver, HttpsConnector, ResolveServerName};
use hyper_util::{
    client::legacy::Client,
    rt::{TokioExecutor, TokioIo, TokioTimer},
};
use std::{
    error::Error,
    fmt,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
    time::Duration,
};
use tokio::net::TcpStream;
use tokio_rustls::rustls::{ClientConfig, pki_types::ServerName};
use tower_service::Service;

/// How long an idle connection is kept.
const IDLE_TIMEOUT: Duration = Duration::from_secs(90);

/// Any error.
pub type BoxError = Box<dyn Error + Send + Sync>;
/// The body of a request.
pub type TransportBody = UnsyncBoxBody<Bytes, BoxError>;
/// A connection that is being opened.
pub type Connecting = Pin<Box<dyn Future<Output = Result<TcpStream, BoxError>> + Send>>;
/// A request that is being sent. It ends with the head of the response.
pub type Sending =
    Pin<Box<dyn Future<Output = Result<Response<Incoming>, hyper_util::client::legacy::Error>> + Send>>;

/// Opens connections.
pub trait Dial: Send + Sync + 'static {
    /// Opens a connection to the server of a URI.
    fn dial(&self, server: Uri) -> Connecting;
}

/// Sends requests, and keeps connections open. Clones share them.
///
/// Neither the way to a server nor the body of a request is a type parameter: the code of connections is large, and would be
/// compiled for each of them.
#[derive(Clone)]
pub struct Transport(Client<HttpsConnector<Connector>, TransportBody>);

impl Transport {
    /// Returns a transport that keeps up to `idle_connections` to a server.
    pub fn new(connector: impl Dial, tls: TransportTls, idle_connections: usize) -> Transport {
        let names: Arc<dyn ResolveServerName + Send + Sync> = match tls.server_name {
            Some(name) => Arc::new(FixedServerNameResolver::new(name)),
            None => Arc::new(DefaultServerNameResolver::default()),
        };
        let connector =
            HttpsConnector::new(Connector(Arc::new(connector)), tls.config, tls.is_required, names);
        Transport(client(connector, idle_connections))
    }

    /// Sends a request.
    pub fn send(&self, request: Request<TransportBody>) -> Sending {
        Box::pin(self.0.request(request))
    }
}

impl fmt::Debug for Transport {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_tuple("Transport").finish_non_exhaustive()
    }
}

fn client(
    connector: HttpsConnector<Connector>,
    idle_connections: usize,
) -> Client<HttpsConnector<Connector>, TransportBody> {
    Client::builder(TokioExecutor::new())
        .pool_timer(TokioTimer::new())
        .pool_idle_timeout(IDLE_TIMEOUT)
        .pool_max_idle_per_host(idle_connections)
        .build(connector)
}

/// How connections are encrypted.
#[derive(Clone, Debug)]
pub struct TransportTls {
    /// Which certificates are trusted, and the certificate of the client.
    pub config: Arc<ClientConfig>,
    /// Whether a URI without TLS is refused.
    pub is_required: bool,
    /// The name that the certificate of the server must have; without it, the host of the URI.
    pub server_name: Option<ServerName<'static>>,
}

impl TransportTls {
    /// Returns the encryption of all requests, with the host of the URI as the name of the server.
    pub fn required(config: Arc<ClientConfig>) -> TransportTls {
        TransportTls { config, is_required: true, server_name: None }
    }
}

/// Returns the body of a request whose bytes are known.
pub fn whole_body(bytes: impl Into<Bytes>) -> TransportBody {
    Full::new(bytes.into()).map_err(|never| match never {}).boxed_unsync()
}

#[derive(Clone)]
struct Connector(Arc<dyn Dial>);

impl Service<Uri> for Connector {
    type Response = TokioIo<TcpStream>;
    type Error = BoxError;
    type Future = Pin<Box<dyn Future<Output = Result<TokioIo<TcpStream>, BoxError>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, server: Uri) -> Self::Future {
        let connecting = self.0.dial(server);
        Box::pin(async { connecting.await.map(TokioIo::new) })
    }
}
