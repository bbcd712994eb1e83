//! A client of webhooks: one JSON document is posted over HTTPS, another comes back. A connection is kept for the next
//! question; whoever does not answer in time, or at too great a length, has failed.

use super::tls::{told, trust};
use crate::custom::{Webhook, WebhookTarget};
use bytes::Bytes;
use http_body_util::{BodyExt, Full, LengthLimitError, Limited};
use hyper::{Request, Uri, client::conn::http1, header};
use hyper_util::rt::TokioIo;
use std::{
    collections::HashMap,
    io,
    net::SocketAddr,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};
use tenure_value::{Limits, Value, json};
use tokio::{
    net::{TcpStream, lookup_host},
    time::timeout,
};
use tokio_rustls::{TlsConnector, rustls::pki_types::ServerName};

/// How long a webhook may take to let a connection be made.
const CONNECT_TIME: Duration = Duration::from_secs(10);
/// The longest answer.
const ANSWER_BYTES: usize = 64 << 20;
/// How many connections to one webhook wait for the next question.
const IDLE: usize = 4;
/// How much of an answer that is none is shown.
const SHOWN: usize = 200;
/// Where a webhook is reached.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Route {
    /// The name that its certificate is for, and that the request is addressed to.
    pub host: String,
    /// The addresses to try, in order: names or numbers, with their ports.
    pub addresses: Vec<(String, u16)>,
    /// Path and query.
    pub path: String,
}

impl Route {
    /// Returns the way to a URL.
    pub fn of_url(url: &str) -> Result<Route, String> {
        let parsed: Uri = url.parse().map_err(|error| format!("{url:?} is no URL: {error}"))?;
        let host = parsed.host().ok_or_else(|| format!("{url:?} names no host"))?;
        let host = host.trim_start_matches('[').trim_end_matches(']').to_string();
        let path = parsed.path_and_query().map_or("/", |path| path.as_str()).to_string();
        Ok(Route { addresses: vec![(host.clone(), parsed.port_u16().unwrap_or(443))], host, path })
    }
}

type Connection = http1::SendRequest<Full<Bytes>>;

/// What is known of webhooks that were asked before.
#[derive(Default)]
pub(crate) struct Webhooks {
    /// Connections that wait for the next question, by the certificates trusted and the route.
    idle: Mutex<HashMap<(String, String, String), Vec<Connection>>>,
}

impl Webhooks {
    /// Posts a document to a webhook and returns what it answers, or says why it does not.
    pub async fn ask(
        &self,
        webhook: &Webhook,
        route: &Route,
        question: &Value,
        patience: Duration,
    ) -> Result<Value, String> {
        let body = Bytes::from(json::to_vec(question));
        match timeout(patience, self.post(webhook, route, body)).await {
            Ok(answer) => answer,
            Err(_) => Err(format!("{}: no answer within {} s", named(webhook, route), patience.as_secs())),
        }
    }

    async fn post(&self, webhook: &Webhook, route: &Route, body: Bytes) -> Result<Value, String> {
        let place = (webhook.ca_bundle.to_string(), format!("{:?}", route.addresses), route.host.clone());
        let about = |why: String| format!("{}: {why}", named(webhook, route));
        // A connection that waited may have been closed on the other side; a new one tells the truth.
        while let Some(mut connection) = self.take(&place) {
            if connection.ready().await.is_err() {
                continue;
            }
            match send(&mut connection, route, body.clone()).await {
                Ok(answer) => {
                    self.keep(place, connection);
                    return read(answer).map_err(about);
                }
                Err(_) => break,
            }
        }
        let mut connection = connect(webhook, route).await.map_err(about)?;
        let answer = send(&mut connection, route, body).await.map_err(about)?;
        self.keep(place, connection);
        read(answer).map_err(about)
    }

    fn take(&self, place: &(String, String, String)) -> Option<Connection> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner).get_mut(place)?.pop()
    }

    fn keep(&self, place: (String, String, String), connection: Connection) {
        let mut idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        idle.retain(|_, connections| {
            connections.retain(|connection| !connection.is_closed());
            !connections.is_empty()
        });
        let waiting = idle.entry(place).or_default();
        if waiting.len() < IDLE && !connection.is_closed() {
            waiting.push(connection);
        }
    }
}

fn named(webhook: &Webhook, route: &Route) -> String {
    match &webhook.target {
        WebhookTarget::Url(url) => format!("Post \"{url}\""),
        WebhookTarget::Service { port, .. } => {
            format!("Post \"https://{}:{port}{}\"", route.host, route.path)
        }
    }
}

async fn connect(webhook: &Webhook, route: &Route) -> Result<Connection, String> {
    let connector = TlsConnector::from(Arc::new(trust(&webhook.ca_bundle)?));
    let name = ServerName::try_from(route.host.clone())
        .map_err(|_| format!("{:?} is no name that a certificate can be for", route.host))?;
    let mut why = String::from("it has no address");
    for (host, port) in &route.addresses {
        let found: io::Result<Vec<SocketAddr>> =
            lookup_host((host.as_str(), *port)).await.map(Iterator::collect);
        let found = match found {
            Ok(found) => found,
            Err(error) => {
                why = format!("lookup {host}: {error}");
                continue;
            }
        };
        for address in found {
            match timeout(CONNECT_TIME, reach(address, &connector, name.clone())).await {
                Ok(Ok(connection)) => return Ok(connection),
                Ok(Err(error)) => why = format!("dial tcp {address}: {}", told(&*error)),
                Err(_) => {
                    why = format!("dial tcp {address}: no connection within {} s", CONNECT_TIME.as_secs())
                }
            }
        }
    }
    Err(why)
}

async fn reach(
    address: SocketAddr,
    connector: &TlsConnector,
    name: ServerName<'static>,
) -> Result<Connection, Box<dyn std::error::Error + Send + Sync>> {
    let stream = TcpStream::connect(address).await?;
    stream.set_nodelay(true)?;
    let stream = connector.connect(name, stream).await?;
    let (sender, connection) = http1::handshake(TokioIo::new(stream)).await?;
    tokio::spawn(async move {
        if let Err(error) = connection.await {
            tracing::debug!(%error, "connection to a webhook ended");
        }
    });
    Ok(sender)
}

async fn send(
    connection: &mut Connection,
    route: &Route,
    body: Bytes,
) -> Result<(hyper::StatusCode, Bytes), String> {
    let request = Request::post(route.path.as_str())
        .header(header::HOST, route.host.as_str())
        .header(header::CONTENT_TYPE, "application/json")
        .header(header::ACCEPT, "application/json, */*")
        .header(header::USER_AGENT, "tenure")
        .body(Full::new(body))
        .map_err(|error| error.to_string())?;
    let answer = connection.send_request(request).await.map_err(|error| error.to_string())?;
    let code = answer.status();
    let body =
        Limited::new(answer.into_body(), ANSWER_BYTES).collect().await.map_err(|error| match error
            .is::<LengthLimitError>(
        ) {
            true => format!("the answer is longer than {ANSWER_BYTES} bytes"),
            false => format!("the answer did not arrive whole: {error}"),
        })?;
    Ok((code, body.to_bytes()))
}

fn read((code, body): (hyper::StatusCode, Bytes)) -> Result<Value, String> {
    if !code.is_success() {
        let text: String = String::from_utf8_lossy(&body).chars().take(SHOWN).collect();
        return Err(format!("it answered {code}: {}", text.trim()));
    }
    json::parse(&body, &Limits { bytes: ANSWER_BYTES, nodes: usize::MAX, ..Limits::default() })
        .map_err(|error| format!("the answer is no JSON document: {error}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use base64::{Engine, engine::general_purpose::STANDARD};

    #[test]
    fn a_url_is_a_host_a_port_and_a_path() {
        let route = |url: &str| Route::of_url(url).unwrap();
        let plain = route("https://hooks.example.com/convert?x=1");
        assert_eq!(plain.addresses, [("hooks.example.com".to_string(), 443)]);
        assert_eq!((plain.host.as_str(), plain.path.as_str()), ("hooks.example.com", "/convert?x=1"));
        let numbered = route("https://[::1]:8443");
        assert_eq!((numbered.addresses, numbered.path), (vec![("::1".to_string(), 8443)], "/".to_string()));
        assert!(Route::of_url("https://").is_err());
        assert!(Route::of_url("/convert").is_err());
    }

    #[tokio::test]
    async fn whoever_does_not_answer_in_time_has_failed() {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("https://{}/convert", listener.local_addr().unwrap());
        let certified = rcgen::generate_simple_self_signed(vec!["127.0.0.1".to_string()]).unwrap();
        let webhook = Webhook {
            target: WebhookTarget::Url(url.as_str().into()),
            ca_bundle: STANDARD.encode(certified.cert.pem()).into(),
            review_versions: [].into(),
        };
        let route = Route::of_url(&url).unwrap();
        let patience = Duration::from_millis(50);
        let why = Webhooks::default().ask(&webhook, &route, &Value::Null, patience).await.unwrap_err();
        assert_eq!(why, format!("Post \"{url}\": no answer within 0 s"));
    }
}
