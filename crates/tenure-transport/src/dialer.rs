//! TCP connections to given addresses.

use crate::transport::{Connecting, Dial};
use http::Uri;
use std::{io, net::SocketAddr, sync::Arc, time::Duration};
use tokio::{
    net::{TcpStream, lookup_host},
    time::timeout,
};

/// The timeout of a TCP connection.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);

/// Connects to the first of several addresses that accepts.
#[derive(Clone, Debug)]
pub struct Dialer {
    addresses: Arc<[(String, u16)]>,
}

impl Dialer {
    /// Returns a dialer of hosts and ports.
    pub fn new(addresses: Vec<(String, u16)>) -> Dialer {
        Dialer { addresses: addresses.into() }
    }
}

impl Dial for Dialer {
    fn dial(&self, _: Uri) -> Connecting {
        let addresses = self.addresses.clone();
        Box::pin(async move { dial(&addresses).await.map_err(|why| io::Error::other(why).into()) })
    }
}

/// Describes the failure of a system call in the words of Go: `connect: connection refused`.
fn system_call(name: &str, error: &io::Error) -> String {
    let text = error.to_string();
    let text = text.split(" (os error").next().unwrap_or_default();
    format!("{name}: {}", text.to_lowercase())
}

/// Describes why a host has no address.
fn lookup_failure(error: &io::Error) -> String {
    let text = error.to_string();
    match text.contains("not known") {
        true => "no such host".into(),
        false => text,
    }
}

async fn dial(addresses: &[(String, u16)]) -> Result<TcpStream, String> {
    let mut why = String::from("the service has no address");
    for (host, port) in addresses {
        let resolved: Vec<SocketAddr> = match lookup_host((host.as_str(), *port)).await {
            Ok(resolved) => resolved.collect(),
            Err(error) => {
                why = format!("dial tcp: lookup {host}: {}", lookup_failure(&error));
                continue;
            }
        };
        for address in resolved {
            match timeout(CONNECT_TIMEOUT, TcpStream::connect(address)).await {
                Ok(Ok(stream)) => {
                    stream
                        .set_nodelay(true)
                        .map_err(|error| format!("dial tcp {address}: {}", system_call("set", &error)))?;
                    return Ok(stream);
                }
                Ok(Err(error)) => {
                    why = format!("dial tcp {address}: {}", system_call("connect", &error));
                }
                Err(_) => {
                    why = format!("dial tcp {address}: no connection within {} s", CONNECT_TIMEOUT.as_secs());
                }
            }
        }
    }
    Err(why)
}
