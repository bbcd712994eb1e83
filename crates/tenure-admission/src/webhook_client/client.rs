//! The client of webhooks: it posts a JSON document over HTTPS and returns the document in the response. Connections are
//! pooled per endpoint and trusted certificates, and a TLS configuration is built once per `caBundle`.

use super::{bounded_map::BoundedMap, endpoint::ServiceEndpoint, tls};
use bytes::{Bytes, BytesMut};
use http_body_util::{BodyExt, LengthLimitError, Limited};
use hyper::{Request, StatusCode, header};
use parking_lot::Mutex;
use std::{future::Future, pin::Pin, sync::Arc, time::Duration};
use tenure_transport::{Dialer, Transport, TransportTls, whole_body};
use tenure_value::{Limits, Text, Value, json};
use tokio::{
    sync::{Semaphore, SemaphorePermit},
    time::timeout,
};
use tokio_rustls::rustls::ClientConfig;

/// The most idle connections to an endpoint.
const IDLE_CONNECTIONS: usize = 4;
/// How many endpoints and TLS configurations are kept.
const CAPACITY: usize = 256;
/// The most characters of an unsuccessful response that are quoted.
const QUOTED: usize = 200;
/// Responses up to this size are read whatever else runs.
const SMALL: usize = 64 << 10;
/// How many kibibytes the larger responses that are read at once may have together. Others wait, within their timeout.
const LARGE_KIBIBYTES: u32 = 64 << 10;

/// What connections are shared by: the TLS configuration, the addresses and the server name.
type PoolKey = (TlsKey, Vec<(String, u16)>, String);
/// What TLS configurations are shared by: the `caBundle`, and the certificate of the client and its key.
type TlsKey = (Text, Option<(Vec<u8>, Vec<u8>)>);

/// Decides about a call of a webhook before it is made: it is given the document and the time limit. For a call that is not to be
/// answered it returns a future that ends when the time limit has passed, for any other `None`.
pub type WebhookInterceptor = dyn Fn(&Value, Duration) -> Option<Stall> + Send + Sync;

/// A call of a webhook that is not answered.
pub type Stall = Pin<Box<dyn Future<Output = ()> + Send>>;

/// A client of webhooks.
pub struct WebhookClient {
    interceptor: Option<Arc<WebhookInterceptor>>,
    /// Connection pools by `caBundle` and endpoint.
    pools: Mutex<BoundedMap<PoolKey, Transport>>,
    /// TLS configurations.
    tls: Mutex<BoundedMap<TlsKey, Arc<ClientConfig>>>,
    /// The memory of large responses.
    memory: Semaphore,
}

/// A response: its code, its body and the memory of a large one.
type Answer<'c> = (StatusCode, Bytes, Option<SemaphorePermit<'c>>);

impl Default for WebhookClient {
    fn default() -> WebhookClient {
        WebhookClient {
            interceptor: None,
            pools: Mutex::new(BoundedMap::new(CAPACITY)),
            tls: Mutex::new(BoundedMap::new(CAPACITY)),
            memory: Semaphore::new(LARGE_KIBIBYTES as usize),
        }
    }
}

impl WebhookClient {
    /// Lets calls time out that an interceptor selects, for tests.
    pub fn with_interceptor(mut self, interceptor: Option<Arc<WebhookInterceptor>>) -> WebhookClient {
        self.interceptor = interceptor;
        self
    }

    /// Posts a document to an endpoint whose certificate must be trusted by `ca_bundle`, and returns the document in the
    /// response. `max_bytes` gives the longest response to a request of some length.
    pub async fn post(
        &self,
        ca_bundle: &Text,
        endpoint: &ServiceEndpoint,
        document: &Value,
        time_limit: Duration,
        max_bytes: impl FnOnce(usize) -> usize,
    ) -> Result<Value, String> {
        let late = || format!("no response within {} s", time_limit.as_secs());
        let stall = self.interceptor.as_ref().and_then(|intercept| intercept(document, time_limit));
        let response = match (stall, &endpoint.unresolved) {
            (Some(stall), _) => {
                stall.await;
                Err(late())
            }
            (None, Some(why)) => Err(why.clone()),
            (None, None) => {
                let body = Bytes::from(json::to_vec(document));
                let max_bytes = max_bytes(body.len());
                match timeout(time_limit, self.send(ca_bundle, endpoint, body, max_bytes)).await {
                    Ok(response) => response.and_then(|response| parse(response, max_bytes)),
                    Err(_) => Err(late()),
                }
            }
        };
        response.map_err(|why| format!("Post \"{}\": {why}", endpoint.url))
    }

    async fn send(
        &self,
        ca_bundle: &Text,
        endpoint: &ServiceEndpoint,
        body: Bytes,
        max_bytes: usize,
    ) -> Result<Answer<'_>, String> {
        let mut request = Request::post(&endpoint.url)
            .header(header::CONTENT_TYPE, "application/json")
            .header(header::ACCEPT, "application/json, */*")
            .header(header::USER_AGENT, "tenure")
            .body(whole_body(body))
            .map_err(|error| error.to_string())?;
        if let Some(user) = &endpoint.user {
            request.headers_mut().extend(user.headers()?);
        }
        let pool = self.pool(ca_bundle, endpoint)?;
        let response = pool.send(request).await.map_err(|error| tls::describe(&error))?;
        let code = response.status();
        let mut body = Limited::new(response.into_body(), max_bytes);
        let (mut bytes, mut memory) = (BytesMut::new(), None);
        while let Some(frame) = body.frame().await {
            let frame = frame.map_err(|error| match error.is::<LengthLimitError>() {
                true => format!("the response is longer than {max_bytes} bytes"),
                false => format!("the response did not arrive completely: {error}"),
            })?;
            bytes.extend_from_slice(frame.data_ref().map_or(&[], |data| data));
            if bytes.len() > SMALL && memory.is_none() {
                let kibibytes = u32::try_from(max_bytes >> 10).unwrap_or(u32::MAX).min(LARGE_KIBIBYTES);
                // The semaphore is never closed.
                memory = self.memory.acquire_many(kibibytes).await.ok();
            }
        }
        Ok((code, bytes.freeze(), memory))
    }

    fn pool(&self, ca_bundle: &Text, endpoint: &ServiceEndpoint) -> Result<Transport, String> {
        let authority = endpoint.url.authority().map(ToString::to_string).unwrap_or_default();
        let identity = endpoint.user.as_ref().and_then(|user| user.identity.clone());
        let tls_key = (ca_bundle.clone(), identity);
        let key = (tls_key.clone(), endpoint.addresses.clone(), authority);
        if let Some(pool) = self.pools.lock().get(&key) {
            return Ok(pool);
        }
        let dialer = Dialer::new(endpoint.addresses.clone());
        let pool = Transport::new(dialer, TransportTls::required(self.tls(&tls_key)?), IDLE_CONNECTIONS);
        self.pools.lock().insert(key, pool.clone());
        Ok(pool)
    }

    fn tls(&self, key: &TlsKey) -> Result<Arc<ClientConfig>, String> {
        if let Some(config) = self.tls.lock().get(key) {
            return Ok(config);
        }
        let (ca_bundle, identity) = key;
        let config = Arc::new(tls::client_config(ca_bundle, identity.as_ref())?);
        self.tls.lock().insert(key.clone(), config.clone());
        Ok(config)
    }
}

fn parse((code, body, _memory): Answer<'_>, max_bytes: usize) -> Result<Value, String> {
    if !code.is_success() {
        let text: String = String::from_utf8_lossy(&body).chars().take(QUOTED).collect();
        let refused = if code.is_client_error() { "the server rejected our request: " } else { "" };
        return Err(format!("{refused}the webhook responded with {code}: {}", text.trim()));
    }
    json::parse(&body, &Limits { bytes: max_bytes, nodes: max_bytes / 8, ..Limits::default() })
        .map_err(|error| format!("the response is not a JSON document: {error}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use http_body_util::Full;
    use hyper::{Response, body::Incoming, server::conn::http2, service::service_fn};
    use hyper_util::rt::{TokioExecutor, TokioIo};
    use std::{
        convert::Infallible,
        sync::atomic::{AtomicUsize, Ordering::Relaxed},
    };
    use tenure_value::base64;
    use tokio::net::TcpListener;
    use tokio_rustls::{
        TlsAcceptor,
        rustls::{ServerConfig, pki_types::PrivateKeyDer},
    };

    /// Answers every request with a document, and returns how many connections there were.
    async fn echo(listener: TcpListener, acceptor: TlsAcceptor, accepted: Arc<AtomicUsize>) {
        while let Ok((stream, _)) = listener.accept().await {
            accepted.fetch_add(1, Relaxed);
            let acceptor = acceptor.clone();
            tokio::spawn(async move {
                let stream = acceptor.accept(stream).await.unwrap();
                assert_eq!(stream.get_ref().1.alpn_protocol(), Some(&b"h2"[..]));
                let answer = service_fn(async |_: Request<Incoming>| {
                    Ok::<_, Infallible>(Response::new(Full::new(Bytes::from_static(b"{\"a\":1}"))))
                });
                let connection = http2::Builder::new(TokioExecutor::new());
                let _ = connection.serve_connection(TokioIo::new(stream), answer).await;
            });
        }
    }

    #[tokio::test]
    async fn calls_of_a_webhook_that_speaks_http_2_share_a_connection() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("https://{}/convert", listener.local_addr().unwrap());
        let certified = rcgen::generate_simple_self_signed(vec!["127.0.0.1".to_string()]).unwrap();
        let key = PrivateKeyDer::try_from(certified.signing_key.serialize_der()).unwrap();
        let provider = Arc::new(tokio_rustls::rustls::crypto::ring::default_provider());
        let config =
            ServerConfig::builder_with_provider(provider).with_safe_default_protocol_versions().unwrap();
        let mut config =
            config.with_no_client_auth().with_single_cert(vec![certified.cert.der().clone()], key).unwrap();
        config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
        let accepted = Arc::new(AtomicUsize::new(0));
        tokio::spawn(echo(listener, TlsAcceptor::from(Arc::new(config)), accepted.clone()));
        let ca_bundle: Text = base64::encode(certified.cert.pem()).into();
        let endpoint = ServiceEndpoint::of_url(&url).unwrap();
        let client = WebhookClient::default();
        let post = || client.post(&ca_bundle, &endpoint, &Value::Null, Duration::from_secs(20), |_| 1024);
        let answer: Value = r#"{"a":1}"#.parse().unwrap();
        assert_eq!(post().await.as_ref(), Ok(&answer));
        for answered in futures::future::join_all((0..10).map(|_| post())).await {
            assert_eq!(answered.as_ref(), Ok(&answer));
        }
        assert_eq!(accepted.load(Relaxed), 1);
    }

    #[tokio::test]
    async fn a_webhook_that_does_not_respond_in_time_has_failed() {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("https://{}/convert", listener.local_addr().unwrap());
        let certified = rcgen::generate_simple_self_signed(vec!["127.0.0.1".to_string()]).unwrap();
        let ca_bundle: Text = base64::encode(certified.cert.pem()).into();
        let endpoint = ServiceEndpoint::of_url(&url).unwrap();
        let client = WebhookClient::default();
        let time_limit = Duration::from_millis(50);
        let why = client.post(&ca_bundle, &endpoint, &Value::Null, time_limit, |_| 1024).await.unwrap_err();
        assert_eq!(why, format!("Post \"{url}\": no response within 0 s"));
        let key = (ca_bundle, None);
        let (first, second) = (client.tls(&key).unwrap(), client.tls(&key).unwrap());
        assert!(Arc::ptr_eq(&first, &second), "a TLS configuration is built once");
    }
}
