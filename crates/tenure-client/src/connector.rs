//! Connections to a server, directly or through a proxy, with or without TLS. hyper-util's client pools them.

use crate::{
    ClientError,
    config::{Config, Credentials},
};
use bytes::Bytes;
use http::Uri;
use http_body_util::Full;
use hyper_rustls::{FixedServerNameResolver, HttpsConnector, HttpsConnectorBuilder};
use hyper_util::{
    client::{
        legacy::{
            Client,
            connect::{
                HttpConnector,
                proxy::{SocksV5, Tunnel},
            },
        },
        proxy::matcher::Matcher,
    },
    rt::{TokioExecutor, TokioIo},
};
use std::{
    pin::Pin,
    task::{Context, Poll},
};
use tokio::net::TcpStream;
use tokio_rustls::rustls::pki_types::ServerName;
use tower_service::Service;

/// A client that keeps connections open.
pub(crate) type HttpClient = Client<HttpsConnector<Connector>, Full<Bytes>>;

/// Returns a client for a server.
pub(crate) fn client(config: &Config, credentials: &Credentials) -> Result<HttpClient, ClientError> {
    let tls = config.tls.config(credentials.identity.as_ref())?;
    let mut builder = HttpsConnectorBuilder::new().with_tls_config(tls).https_or_http();
    if let Some(name) = &config.tls.server_name {
        let name = ServerName::try_from(name.clone())
            .map_err(|error| ClientError::config(format!("tls-server-name {name}: {error}")))?;
        builder = builder.with_server_name_resolver(FixedServerNameResolver::new(name));
    }
    let connector = builder.enable_http1().wrap_connector(Connector::new(config)?);
    Ok(Client::builder(TokioExecutor::new()).build(connector))
}

/// How to reach the server.
#[derive(Clone)]
pub(crate) enum Connector {
    Direct(HttpConnector),
    Tunnel(Tunnel<HttpConnector>),
    Socks(SocksV5<HttpConnector>),
}

impl Connector {
    fn new(config: &Config) -> Result<Connector, ClientError> {
        let mut direct = HttpConnector::new();
        direct.enforce_http(false);
        direct.set_nodelay(true);
        direct.set_connect_timeout(Some(config.connect_timeout));
        let proxy = match &config.proxy_url {
            Some(url) => {
                let proxy = Matcher::builder().all(url.as_str()).build().intercept(&config.server);
                Some(proxy.ok_or_else(|| ClientError::config(format!("proxy-url {url}: not an address")))?)
            }
            None if is_loopback(&config.server) => None,
            None => Matcher::from_env().intercept(&config.server),
        };
        let Some(proxy) = proxy else { return Ok(Connector::Direct(direct)) };
        match proxy.uri().scheme_str() {
            Some("http") => {
                let tunnel = Tunnel::new(proxy.uri().clone(), direct);
                Ok(Connector::Tunnel(match proxy.basic_auth() {
                    Some(auth) => tunnel.with_auth(auth.clone()),
                    None => tunnel,
                }))
            }
            Some("socks5" | "socks5h") => {
                let socks = SocksV5::new(proxy.uri().clone(), direct);
                Ok(Connector::Socks(match proxy.raw_auth() {
                    Some((user, password)) => socks.with_auth(user.to_owned(), password.to_owned()),
                    None => socks,
                }))
            }
            _ => {
                let problem =
                    format!("the proxy {} is not supported; use an http or socks5 proxy", proxy.uri());
                Err(ClientError::config(problem))
            }
        }
    }
}

/// Whether a server is on this machine, which no proxy of the environment is for.
fn is_loopback(server: &Uri) -> bool {
    let host = server.host().unwrap_or_default().trim_matches(['[', ']']);
    host == "localhost" || host.parse::<std::net::IpAddr>().is_ok_and(|address| address.is_loopback())
}

type BoxError = Box<dyn std::error::Error + Send + Sync>;

impl Service<Uri> for Connector {
    type Response = TokioIo<TcpStream>;
    type Error = BoxError;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, BoxError>> + Send>>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        match self {
            Connector::Direct(direct) => direct.poll_ready(context).map_err(Into::into),
            Connector::Tunnel(tunnel) => tunnel.poll_ready(context).map_err(Into::into),
            Connector::Socks(socks) => socks.poll_ready(context).map_err(Into::into),
        }
    }

    fn call(&mut self, server: Uri) -> Self::Future {
        match self {
            Connector::Direct(direct) => boxed(direct.call(server)),
            Connector::Tunnel(tunnel) => boxed(tunnel.call(server)),
            Connector::Socks(socks) => boxed(socks.call(server)),
        }
    }
}

fn boxed<E: Into<BoxError>>(
    connecting: impl Future<Output = Result<TokioIo<TcpStream>, E>> + Send + 'static,
) -> <Connector as Service<Uri>>::Future {
    Box::pin(async { connecting.await.map_err(Into::into) })
}
