//! The composition root. The parts are built in the order of their dependencies (catalog, objects, reader, admission, writer,
//! subresources), so that none can reach back; a request is authenticated, routed to a target, read and dispatched here.

use crate::{
    admission::Admission,
    authenticator::{Authenticator, IdentityOptions},
    authorization::{Authorization, Authorizer, request_attributes},
    behavior::Behavior,
    bootstrap_roles,
    controllers::{self, Controllers, DefaultObjects},
    nonresource,
    read::Reader,
    subresources::Subresources,
    write::Writer,
};
use bytes::Bytes;
use hyper::{Method, body::Incoming, header, http::request::Parts};
use std::{
    error::Error,
    net::SocketAddr,
    pin::Pin,
    sync::Arc,
    time::{Duration, Instant},
};
use tenure_admission::AdmissionChain;
use tenure_auth::{UserInfo, audit::AuditContext};
use tenure_builtin::Kinds;
use tenure_catalog::{Catalog, Clock, Objects, Target, Verb, discovery::page_not_found};
use tenure_crd::duration_nanoseconds;
use tenure_http::{
    Authentication, ClientCertificate, MediaTypes, Metrics, PLAIN, Query, Request, RequestPath, Response,
    compression::{accepts_gzip, compress},
    impersonation::impersonated_user,
    listener::{BodyFault, Handler, read_body},
    metrics, request_guard,
};
use tenure_meta::{ApiError, Reason};
use tenure_store::Store;
use tenure_value::Text;

/// The largest body of a request.
pub const BODY_BYTES: usize = 3 * 1024 * 1024;
/// How long a body may take to arrive.
const BODY_TIME: Duration = Duration::from_secs(30);
/// How much of the body of a refused request is read, so that its connection can be used again.
const UNREAD_BYTES: usize = 256 * 1024;
const UNREAD_TIME: Duration = Duration::from_secs(1);
/// How long a request other than a watch may take.
const REQUEST_TIME: Duration = Duration::from_secs(60);

/// What a server is built from besides its store.
#[non_exhaustive]
pub struct ServerOptions {
    /// Who the administrator is.
    pub access: Authentication,
    /// How other users are authenticated.
    pub identity: IdentityOptions,
    /// How requests are authorized.
    pub authorization: Authorization,
    /// The admission plugins that run.
    pub admission: AdmissionChain,
    /// The differences from Kubernetes that are on.
    pub behavior: Behavior,
    /// The controllers that run.
    pub controllers: Controllers,
    /// The clock.
    pub clock: Clock,
}

impl ServerOptions {
    /// Returns the options of a server with all admission plugins, the documented differences from Kubernetes and the system's
    /// clock.
    pub fn new(access: Authentication) -> ServerOptions {
        let authorization = match access {
            Authentication::Token(_) => Authorization::Rbac,
            Authentication::Anyone => Authorization::AlwaysAllow,
        };
        ServerOptions {
            access,
            identity: IdentityOptions::default(),
            authorization,
            admission: AdmissionChain::default(),
            behavior: Behavior::default(),
            controllers: Controllers::default(),
            clock: Clock::default(),
        }
    }
}

/// The Kubernetes API over a store.
pub struct Server {
    /// The counters of the server.
    pub metrics: Arc<Metrics>,
    authenticator: Arc<Authenticator>,
    authorizer: Arc<Authorizer>,
    catalog: Arc<Catalog>,
    objects: Arc<Objects>,
    reader: Arc<Reader>,
    writer: Arc<Writer>,
    subresources: Arc<Subresources>,
    default_objects: Arc<DefaultObjects>,
    controllers: Controllers,
    stop: tokio::sync::watch::Sender<bool>,
}

impl Server {
    /// Opens a server over a store with the default options.
    pub async fn open(store: Arc<dyn Store>, access: Authentication) -> Result<Arc<Server>, ApiError> {
        Server::with_options(store, ServerOptions::new(access)).await
    }

    /// Opens a server over a store. The namespaces that every client expects are created if they do not exist.
    pub async fn with_options(
        store: Arc<dyn Store>,
        options: ServerOptions,
    ) -> Result<Arc<Server>, ApiError> {
        Kinds::check().map_err(|error| ApiError::internal(error.to_string()))?;
        tenure_protobuf::check().map_err(|error| ApiError::internal(error.to_string()))?;
        let ServerOptions { access, identity, authorization, admission, behavior, controllers, clock } =
            options;
        let stop = tokio::sync::watch::Sender::new(false);
        let metrics = Arc::new(Metrics::default());
        let authenticator = Authenticator::open(access, identity, store.clone(), clock.clone()).await?;
        let authenticator = Arc::new(authenticator);
        let authorizer = Authorizer::open(store.clone(), authorization).await?;
        let catalog = Catalog::open(store.clone(), behavior.custom_resources).await?;
        let objects = Objects::new(store, catalog.clone(), clock);
        let reader = Reader::new(objects.clone(), metrics.clone(), stop.subscribe());
        let admission = Admission::open(objects.clone(), authorizer.clone(), admission).await?;
        let writer = Writer::new(reader.clone(), admission, authorizer.clone(), behavior);
        let subresources = Subresources::new(writer.clone(), authenticator.clone());
        writer.create_initial_namespaces().await?;
        if authorizer.is_rbac() {
            bootstrap_roles::restore(&writer).await?;
            // Aggregated roles grant nothing before their rules are collected.
            controllers::aggregate_roles(&writer).await?;
        }
        let default_objects = Arc::default();
        Ok(Arc::new(Server {
            metrics,
            authenticator,
            authorizer,
            catalog,
            objects,
            reader,
            writer,
            subresources,
            default_objects,
            controllers,
            stop,
        }))
    }

    /// Asks for the service `kubernetes` in the namespace `default`, which leads to this address. Call this before
    /// [`start_controllers`](Server::start_controllers).
    pub fn announce(&self, address: SocketAddr) {
        self.default_objects.announce(address);
    }

    /// Asks for the service account `default` and the config map `kube-root-ca.crt` in every namespace. Call this before
    /// [`start_controllers`](Server::start_controllers).
    pub fn provide_default_objects(&self, authority: &str) {
        self.default_objects.provide_everywhere(authority);
    }

    /// Creates the default objects of the namespace `default` at once; the controllers keep them. Call this after
    /// [`announce`](Server::announce) and [`provide_default_objects`](Server::provide_default_objects).
    pub async fn create_default_objects(&self) -> Result<(), ApiError> {
        controllers::create_default_objects(&self.writer, &self.default_objects).await
    }

    /// Starts garbage collection, the deletion of namespaces and definitions, and the default objects of namespaces.
    pub fn start_controllers(&self) {
        let (writer, defaults) = (self.writer.clone(), self.default_objects.clone());
        controllers::start(writer, defaults, self.controllers, self.stop.subscribe());
    }

    /// Ends all watches and the controllers, so that the server can stop.
    pub fn stop(&self) {
        self.stop.send_replace(true);
    }

    /// Answers a request, whether it comes from a connection or from the same process.
    pub async fn respond<B: RequestBody>(self: Arc<Self>, request: hyper::Request<B>) -> Response {
        let start = Instant::now();
        let (method, path) = (request.method().clone(), request.uri().path().to_string());
        let compressed = accepts_gzip(request.headers());
        let accept = request.headers().get(header::ACCEPT).cloned();
        let mut seen = RequestInfo::default();
        let response = match self.handle_request(request, &mut seen).await {
            Ok(response) => response,
            Err(failure) => {
                let accept = accept.as_ref().and_then(|value| value.to_str().ok());
                Response::failure(&failure, seen.offer.answer(accept).unwrap_or(PLAIN))
            }
        };
        let (code, time) = (response.code.as_u16(), start.elapsed());
        self.metrics.request(
            metrics::Request { verb: seen.verb, group: seen.group, resource: seen.resource, code },
            time,
        );
        if code >= 500 {
            tracing::warn!(%method, path, code, micros = time.as_micros() as u64, "request failed");
        } else {
            tracing::debug!(%method, path, code, micros = time.as_micros() as u64, "request");
        }
        if compressed { compress(response) } else { response }
    }

    /// The way of a request: authenticate, route to a target, read the body, dispatch. Impersonation and flow control belong
    /// behind authentication, authorization behind routing.
    async fn handle_request<B: RequestBody>(
        &self,
        request: hyper::Request<B>,
        seen: &mut RequestInfo,
    ) -> Result<Response, ApiError> {
        let (head, incoming) = request.into_parts();
        let mut incoming = Some(incoming);
        let outcome = self.handle_parts(head, &mut incoming, seen).await;
        let is_refused = outcome.is_err();
        if let Some(unread) = incoming.filter(|_| is_refused) {
            // The connection can carry the next request only if this one has been read to its end.
            let _ = read_body(unread, UNREAD_BYTES, UNREAD_TIME).await;
        }
        outcome
    }

    async fn handle_parts<B: RequestBody>(
        &self,
        head: Parts,
        incoming: &mut Option<B>,
        seen: &mut RequestInfo,
    ) -> Result<Response, ApiError> {
        request_guard::check(self.authenticator.access(), &head)?;
        let path = head.uri.path();
        let certificate = head.extensions.get::<ClientCertificate>();
        let user = self.authenticator.authenticate(path, &head.headers, certificate)?;
        let address =
            RequestPath::parse(path).ok_or_else(|| ApiError::bad_request("the path is not valid UTF-8"))?;
        let query = Query::parse(head.uri.query().unwrap_or_default())?;
        let user = self.authorize(user, &head, &address, &query)?;
        let takes_body = matches!(head.method, Method::POST | Method::PUT | Method::PATCH | Method::DELETE);
        let mut request = Request {
            method: head.method,
            user,
            query,
            headers: head.headers,
            body: Bytes::new(),
            audit: AuditContext::default(),
        };
        let path = match address {
            RequestPath::Resource(path) => path,
            other => {
                let (store, metrics, tokens) =
                    (&*self.objects.store, &*self.metrics, &self.authenticator.tokens);
                let respond = nonresource::respond(&self.catalog, store, metrics, tokens, other, &request);
                return Box::pin(respond).await;
            }
        };
        let group = path.group.clone();
        let target = match Target::resolve(&self.catalog, path, &request) {
            // A group without resources is not a path of the API at all.
            Err(failure) if failure.code() == 404 && !self.catalog.has_group(&group) => {
                return Ok(page_not_found());
            }
            target => target?,
        };
        *seen = RequestInfo::of(&target);
        if let Some(time) = request.query.given("timeout").filter(|_| target.verb != Verb::Watch)
            && duration_nanoseconds(time).is_none()
        {
            return Err(ApiError::bad_request(format!(
                "invalid timeout specified in the request URL: {time:?} is not a duration; use one such as 30s"
            )));
        }
        if let Some(incoming) = incoming.take().filter(|_| takes_body) {
            request.body = read_body(incoming, BODY_BYTES, BODY_TIME).await.map_err(|fault| match fault {
                BodyFault::TooLarge => ApiError::new(
                    Reason::RequestEntityTooLarge,
                    format!("Request entity too large: limit is {BODY_BYTES}"),
                ),
                BodyFault::Broken(why) => ApiError::bad_request(why),
            })?;
        }
        match tokio::time::timeout(REQUEST_TIME, self.dispatch(target, request)).await {
            Ok(response) => response,
            Err(_) => Err(ApiError::new(
                Reason::Timeout,
                "the request did not finish in time; it may still be carried out",
            )),
        }
    }

    /// Returns the user that a request runs as, after impersonation, if it may do what it asks for.
    fn authorize(
        &self,
        user: UserInfo,
        head: &Parts,
        address: &RequestPath,
        query: &Query,
    ) -> Result<Arc<UserInfo>, ApiError> {
        let wanted = impersonated_user(&head.headers)?;
        if wanted.is_none() && (user.is_in(UserInfo::MASTERS) || !self.authorizer.is_rbac()) {
            return Ok(Arc::new(user));
        }
        let attributes = request_attributes(&head.method, head.uri.path(), address, query);
        let user = match wanted {
            Some(wanted) => self.authorizer.impersonate(&user, &wanted, &attributes)?,
            None => user,
        };
        self.authorizer.check(&user, &attributes)?;
        Ok(Arc::new(user))
    }

    /// Carries out a request. Each verb is boxed, so that the future of a request is not as large as that of the largest verb.
    async fn dispatch(&self, target: Target, request: Request) -> Result<Response, ApiError> {
        match target.verb {
            Verb::Get if target.subresource.is_empty() => Box::pin(self.reader.get(&target, &request)).await,
            Verb::Get => Box::pin(self.subresources.get(&target, &request)).await,
            Verb::List => Box::pin(self.reader.list(&target, &request)).await,
            Verb::Watch => Box::pin(self.reader.watch(target, request)).await,
            Verb::Create => Box::pin(self.subresources.post(&target, &request)).await,
            Verb::Update | Verb::Patch => Box::pin(self.writer.modify(&target, &request)).await,
            Verb::Delete => Box::pin(self.writer.delete(&target, &request)).await,
            Verb::DeleteCollection => Box::pin(self.writer.delete_collection(&target, &request)).await,
        }
    }
}

impl Server {
    /// Answers a request of a connection. The future is boxed here, so that the code of requests is compiled in this crate.
    pub fn respond_to_connection(
        self: Arc<Self>,
        request: hyper::Request<Incoming>,
    ) -> Pin<Box<dyn Future<Output = Response> + Send>> {
        Box::pin(self.respond(request))
    }
}

impl Handler for Server {
    fn handle(self: Arc<Self>, request: hyper::Request<Incoming>) -> impl Future<Output = Response> + Send {
        self.respond_to_connection(request)
    }
}

/// What a request is about, for metrics and errors. Only what is served is recorded: anything else would let clients add metrics
/// without bound.
struct RequestInfo {
    verb: &'static str,
    group: Text,
    resource: Text,
    offer: MediaTypes,
}

impl Default for RequestInfo {
    fn default() -> RequestInfo {
        RequestInfo {
            verb: "other",
            group: Text::default(),
            resource: Text::default(),
            offer: MediaTypes::All,
        }
    }
}

impl RequestInfo {
    fn of(target: &Target) -> RequestInfo {
        let resource = &target.handler.resource;
        RequestInfo {
            verb: target.verb.word(),
            group: resource.group.clone(),
            resource: resource.name.clone(),
            offer: target.offer(),
        }
    }
}

/// The body of a request, from a connection or from memory.
pub trait RequestBody:
    hyper::body::Body<Data: Send, Error: Into<Box<dyn Error + Send + Sync>>> + Send
{
}

impl<B: hyper::body::Body<Data: Send, Error: Into<Box<dyn Error + Send + Sync>>> + Send> RequestBody for B {}
