//! Connections to a server, directly or through a proxy, as the configuration of a client says.

use crate::{
    BoxError, ConnectError, Connecting, Dial, Transport, TransportTls,
    config::{Config, Credentials},
};
use http::Uri;
use hyper_util::{
    client::{
        legacy::connect::{
            HttpConnector,
            proxy::{SocksV5, Tunnel},
        },
        proxy::matcher::Matcher,
    },
    rt::TokioIo,
};
use std::{future::poll_fn, sync::Arc};
use tokio::net::TcpStream;
use tokio_rustls::rustls::pki_types::ServerName;
use tower_service::Service;

/// The most idle connections to a server.
const IDLE_CONNECTIONS: usize = 32;

/// Returns a client for a server.
pub(crate) fn client(config: &Config, credentials: &Credentials) -> Result<Transport, ConnectError> {
    let server_name = config.tls.server_name.as_ref().map(|name| {
        ServerName::try_from(name.clone())
            .map_err(|error| ConnectError::config(format!("tls-server-name {name}: {error}")))
    });
    let tls = TransportTls {
        config: Arc::new(config.tls.config(credentials.identity.as_ref())?),
        is_required: false,
        server_name: server_name.transpose()?,
    };
    Ok(Transport::new(Connector::new(config)?, tls, IDLE_CONNECTIONS))
}

/// How to reach the server.
#[derive(Clone)]
pub(crate) enum Connector {
    Direct(HttpConnector),
    Tunnel(Tunnel<HttpConnector>),
    Socks(SocksV5<HttpConnector>),
}

impl Connector {
    fn new(config: &Config) -> Result<Connector, ConnectError> {
        let mut direct = HttpConnector::new();
        direct.enforce_http(false);
        direct.set_nodelay(true);
        direct.set_connect_timeout(Some(config.connect_timeout));
        let proxy = match &config.proxy_url {
            Some(url) => {
                let proxy = Matcher::builder().all(url.as_str()).build().intercept(&config.server);
                Some(proxy.ok_or_else(|| ConnectError::config(format!("proxy-url {url}: not an address")))?)
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
                Err(ConnectError::config(problem))
            }
        }
    }
}

/// Whether a server is on this machine, which no proxy of the environment is for.
fn is_loopback(server: &Uri) -> bool {
    let host = server.host().unwrap_or_default().trim_matches(['[', ']']);
    host == "localhost" || host.parse::<std::net::IpAddr>().is_ok_and(|address| address.is_loopback())
}

impl Dial for Connector {
    fn dial(&self, server: Uri) -> Connecting {
        match self.clone() {
            Connector::Direct(direct) => connect(direct, server),
            Connector::Tunnel(tunnel) => connect(tunnel, server),
            Connector::Socks(socks) => connect(socks, server),
        }
    }
}

fn connect<S>(mut service: S, server: Uri) -> Connecting
where
    S: Service<Uri, Response = TokioIo<TcpStream>, Error: Into<BoxError>, Future: Send> + Send + 'static,
{
    Box::pin(async move {
        poll_fn(|context| service.poll_ready(context)).await.map_err(Into::into)?;
        service.call(server).await.map(TokioIo::into_inner).map_err(Into::into)
    })
}
