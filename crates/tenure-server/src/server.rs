//! The API itself: from a request to its answer. Every request is let in, understood and answered here; the
//! verbs are files of their own, and every write goes the one way of `write.rs`.

use crate::{
    Access, Address, Answer, Failure, Format, Metrics, Offer, PLAIN, Query, Reason,
    admission::AdmissionState,
    catalog::{self, discovery},
    controllers,
    http::{
        compression::{accepts_gzip, compress},
        request_guard,
    },
    listen::{BodyFault, Handler, read_body},
    metrics,
    objects::decode_cache,
    read::{encode_cache, event_cache::EventCache, fields_v1_cache, list_cache},
    target::{self, Target},
    token::Issuer,
};
use bytes::Bytes;
use hyper::{HeaderMap, Method, body::Incoming, header};
use std::{
    error::Error,
    sync::Arc,
    time::{Duration, Instant, SystemTime, UNIX_EPOCH},
};
use tenure_admission::{AdmissionChain, WebhookClient};
use tenure_store::Store;
use tenure_value::Text;

/// The largest body of a request.
pub const BODY_BYTES: usize = 3 * 1024 * 1024;
/// How long a body may take to arrive.
const BODY_TIME: Duration = Duration::from_secs(30);
/// How long a request other than a watch may take.
const REQUEST_TIME: Duration = Duration::from_secs(60);

/// The Kubernetes API over a store.
pub struct Server {
    pub(crate) store: Arc<dyn Store>,
    pub(crate) access: Access,
    pub(crate) issuer: Issuer,
    /// What the server counts.
    pub metrics: Metrics,
    pub(crate) current: catalog::Current,
    pub(crate) admission: AdmissionState,
    pub(crate) refreshing: tokio::sync::Mutex<()>,
    pub(crate) event_cache: EventCache,
    pub(crate) encode_cache: encode_cache::EncodeCache,
    pub(crate) list_cache: list_cache::ListCache,
    pub(crate) decode_cache: decode_cache::DecodeCache,
    pub(crate) webhooks: WebhookClient,
    pub(crate) fields_v1_cache: fields_v1_cache::FieldsV1Cache,
    pub(crate) furniture: controllers::Furniture,
    stop: tokio::sync::watch::Sender<bool>,
}

/// A request that has been let in and read.
pub(crate) struct Request {
    pub method: Method,
    pub query: Query,
    pub headers: HeaderMap,
    pub body: Bytes,
}

impl Request {
    pub fn header(&self, name: header::HeaderName) -> Option<&str> {
        self.headers.get(name).and_then(|value| value.to_str().ok())
    }

    pub fn content_type(&self) -> Option<&str> {
        self.header(header::CONTENT_TYPE)
    }

    /// Chooses the format of the answer.
    pub fn format(&self, offer: Offer) -> Result<Format, Failure> {
        offer.answer(self.header(header::ACCEPT))
    }

    /// Returns the manager of a write that named none: the client's program, from its user agent.
    pub fn default_manager(&self) -> Text {
        let agent = self.header(header::USER_AGENT).unwrap_or_default();
        let program = agent.split('/').next().unwrap_or_default();
        let printable: String =
            program.chars().filter(|character| !character.is_control()).take(128).collect();
        if printable.is_empty() { "unknown".into() } else { printable.into() }
    }
}

impl Server {
    /// Opens a server over a store with all admission plugins, and creates the initial namespaces.
    pub async fn open(store: Arc<dyn Store>, access: Access) -> Result<Arc<Server>, Failure> {
        Server::open_with_admission(store, access, AdmissionChain::default()).await
    }

    /// Opens a server with a chain of admission plugins.
    pub async fn open_with_admission(
        store: Arc<dyn Store>,
        access: Access,
        chain: AdmissionChain,
    ) -> Result<Arc<Server>, Failure> {
        crate::kinds::Kinds::check().map_err(|error| Failure::internal(error.to_string()))?;
        crate::protobuf::check().map_err(|error| Failure::internal(error.to_string()))?;
        let api = Arc::new(Server {
            store,
            issuer: access.issuer(),
            access,
            metrics: Metrics::default(),
            current: catalog::Current::default(),
            admission: AdmissionState::new(chain),
            refreshing: tokio::sync::Mutex::default(),
            event_cache: EventCache::default(),
            encode_cache: Default::default(),
            list_cache: Default::default(),
            decode_cache: Default::default(),
            webhooks: WebhookClient::default(),
            fields_v1_cache: Default::default(),
            furniture: Default::default(),
            stop: tokio::sync::watch::Sender::new(false),
        });
        api.refresh_catalog().await?;
        api.refresh_admission_config().await?;
        api.create_first_namespaces().await?;
        Ok(api)
    }

    /// Ends all watches, so that the server can stop.
    pub fn stop(&self) {
        self.stop.send_replace(true);
    }

    /// Returns what changes when the server is to stop.
    pub(crate) fn stopping(&self) -> tokio::sync::watch::Receiver<bool> {
        self.stop.subscribe()
    }

    /// Returns the time of now.
    pub(crate) fn now(&self) -> crate::kinds::scalar::Timestamp {
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        crate::kinds::scalar::Timestamp { seconds: since.as_secs() as i64, nanos: since.subsec_nanos() }
    }

    async fn answer<B: RequestBody>(
        self: Arc<Self>,
        request: hyper::Request<B>,
        seen: &mut Seen,
    ) -> Result<Answer, Failure> {
        let (head, incoming) = request.into_parts();
        let path = head.uri.path();
        request_guard::check(&self.access, &head)?;
        self.let_in(path, &head.headers).await?;
        let address =
            Address::parse(path).ok_or_else(|| Failure::bad_request("the path is not valid UTF-8"))?;
        let query = Query::parse(head.uri.query().unwrap_or_default())?;
        let takes_body = matches!(head.method, Method::POST | Method::PUT | Method::PATCH | Method::DELETE);
        let mut request = Request { method: head.method, query, headers: head.headers, body: Bytes::new() };
        let path = match address {
            Address::Resource(path) => path,
            other => return Box::pin(self.about(other, &request)).await,
        };
        let group = path.group.clone();
        let target = match self.target(path, &request) {
            // A group that nobody serves is no place of the API at all.
            Err(failure) if failure.code() == 404 && !self.serves_group(&group) => {
                return Ok(discovery::page_not_found());
            }
            target => target?,
        };
        // Only what is served is counted: anything else would let clients add metrics without bound.
        let resource = &target.served.resource;
        (seen.group, seen.resource) = (resource.group.clone(), resource.name.clone());
        (seen.verb, seen.offer) = (target.verb.word(), target.offer());
        if let Some(time) = request.query.given("timeout").filter(|_| target.verb != target::Verb::Watch)
            && crate::custom::duration_nanoseconds(time).is_none()
        {
            return Err(Failure::bad_request(format!(
                "invalid timeout specified in the request URL: {time:?} is no duration; use one such as 30s"
            )));
        }
        if takes_body {
            request.body = read_body(incoming, BODY_BYTES, BODY_TIME).await.map_err(|fault| match fault {
                BodyFault::TooLarge => Failure::new(
                    Reason::RequestEntityTooLarge,
                    format!("Request entity too large: limit is {BODY_BYTES}"),
                ),
                BodyFault::Broken(why) => Failure::bad_request(why),
            })?;
        }
        match tokio::time::timeout(REQUEST_TIME, self.dispatch(target, request)).await {
            Ok(answer) => answer,
            Err(_) => Err(Failure::new(
                Reason::Timeout,
                "the request did not finish in time; it may still be carried out",
            )),
        }
    }

    /// Carries out a request. Each verb is boxed, so that a request is moved on its way as what all have in common and
    /// not as the largest.
    async fn dispatch(self: &Arc<Self>, target: Target, request: Request) -> Result<Answer, Failure> {
        use target::Verb::*;
        match target.verb {
            Get => Box::pin(self.get(&target, &request)).await,
            List => Box::pin(self.list(&target, &request)).await,
            Watch => Box::pin(self.watch(target, request)).await,
            Create => Box::pin(self.create(&target, &request)).await,
            Update | Patch => Box::pin(self.modify(&target, &request)).await,
            Delete => Box::pin(self.delete(&target, &request)).await,
            DeleteCollection => Box::pin(self.delete_collection(&target, &request)).await,
        }
    }
}

/// What a request turned out to be, for the counters and the log.
struct Seen {
    verb: &'static str,
    group: Text,
    resource: Text,
    offer: Offer,
}

/// What carries the bytes of a request.
pub trait RequestBody:
    hyper::body::Body<Data: Send, Error: Into<Box<dyn Error + Send + Sync>>> + Send
{
}

impl<B: hyper::body::Body<Data: Send, Error: Into<Box<dyn Error + Send + Sync>>> + Send> RequestBody for B {}

impl Handler for Server {
    async fn handle(self: Arc<Self>, request: hyper::Request<Incoming>) -> Answer {
        self.respond(request).await
    }
}

impl Server {
    /// Answers a request, wherever it comes from: a connection, or the same process.
    pub async fn respond<B: RequestBody>(self: Arc<Self>, request: hyper::Request<B>) -> Answer {
        let start = Instant::now();
        let (method, path) = (request.method().clone(), request.uri().path().to_string());
        let compressed = accepts_gzip(request.headers());
        let accept = request.headers().get(header::ACCEPT).cloned();
        let mut seen =
            Seen { verb: "other", group: Text::default(), resource: Text::default(), offer: Offer::All };
        let api = self.clone();
        let answer = match api.answer(request, &mut seen).await {
            Ok(answer) => answer,
            Err(failure) => {
                let accept = accept.as_ref().and_then(|value| value.to_str().ok());
                Answer::failure(&failure, seen.offer.answer(accept).unwrap_or(PLAIN))
            }
        };
        let (code, time) = (answer.code.as_u16(), start.elapsed());
        self.metrics.request(
            metrics::Request { verb: seen.verb, group: seen.group, resource: seen.resource, code },
            time,
        );
        if code >= 500 {
            tracing::warn!(%method, path, code, micros = time.as_micros() as u64, "request failed");
        } else {
            tracing::debug!(%method, path, code, micros = time.as_micros() as u64, "request");
        }
        if compressed { compress(answer) } else { answer }
    }
}
