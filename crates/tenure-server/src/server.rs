//! The composition root. The parts are built in the order of their dependencies (catalog, objects, reader, admission, writer,
//! subresources), so that none can reach back; a request is authenticated, routed to a target, read and dispatched here.

use crate::{
    admission::Admission,
    aggregation::{self, AggregatorWriter},
    audit::AuditTrail,
    bootstrap_roles,
    controllers::{
        self, Checkpoint, ControllerDelays, ControllerOptions, Controllers, DefaultObjects, Idlers,
    },
    deprecation, fight_events,
    flow_control::{FlowController, FlowHeaders},
    nonresource,
    request_time::requested_time,
    subresources::{Subresources, is_connection, take_proxied_path},
    write::Writer,
};
use bytes::Bytes;
use hyper::{
    Method,
    body::Incoming,
    header::{self, HeaderMap, HeaderValue},
    http::request::Parts,
};
use parking_lot::Mutex;
use std::{
    net::SocketAddr,
    pin::Pin,
    sync::Arc,
    time::{Duration, Instant},
};
use tenure_admission::{AdmissionChain, WebhookClient, WebhookInterceptor};
use tenure_aggregator::{Aggregator, AggregatorOptions};
use tenure_audit::Auditor;
use tenure_auth::{Attributes, UserInfo};
use tenure_authentication::{Authenticator, Credential, Identity, IdentityOptions};
use tenure_authorization::{Authorization, Authorizer, refusal, request_attributes};
use tenure_builtin::{Kinds, allocate::AddressRange, role::Role};
use tenure_catalog::{
    Catalog, Clock, CollectionSizes, HISTORY, Identifiers, Objects, Target, Verb,
    discovery::{Published, page_not_found},
    history::{History, HistoryOptions, HistoryReader},
};
use tenure_http::{
    Authentication, ClientCertificate, FrontProxy, MediaTypes, MemoryBudget, Metrics, OptionalFormats, PLAIN,
    Query, REQUEST_TIME, Request, RequestBody, RequestPath, Response, ResponseBody, View,
    compression::{accepts_gzip, compress},
    impersonation::impersonated_user,
    listener::{BodyFault, Handler, discard_body, read_body_within},
    metrics,
    offload::Offload,
    request_guard,
};
use tenure_meta::{ApiError, Reason};
use tenure_profile::{Improvement, Profile};
use tenure_read::Reader;
use tenure_store::{Revision, Store};
use tenure_value::Text;
use tokio::sync::{mpsc, oneshot};

/// The largest body of a request.
pub const BODY_BYTES: usize = 3 * 1024 * 1024;
/// How long a body may take to arrive.
const BODY_TIME: Duration = Duration::from_secs(30);

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
    /// The improvements on Kubernetes that are on.
    pub profile: Profile,
    /// The controllers that run.
    pub controllers: Controllers,
    /// How long controllers wait before they do something.
    pub controller_delays: ControllerDelays,
    /// The addresses of services.
    pub service_addresses: AddressRange,
    /// The clock.
    pub clock: Clock,
    /// The source of uids and generated names.
    pub identifiers: Identifiers,
    /// Lets calls of webhooks time out, for tests.
    pub webhook_interceptor: Option<Arc<WebhookInterceptor>>,
    /// How many requests run at once under priority and fairness; `None` to run all of them at once.
    pub concurrency: Option<u32>,
    /// The memory of requests in flight.
    pub memory: MemoryBudget,
    /// How long a watch that sets no timeout lasts: at least so long, and at most twice.
    pub min_request_timeout: Duration,
    /// How long events are kept after their last write; `None` to keep them.
    pub event_ttl: Option<Duration>,
    /// Records audit events, if requests are audited.
    pub auditor: Option<Arc<Auditor>>,
    /// What the history of objects contains.
    pub history: HistoryOptions,
    /// How extension API servers are reached.
    pub aggregation: AggregatorOptions,
}

/// How long a watch lasts at least unless the operator chooses another time.
const DEFAULT_MIN_REQUEST_TIMEOUT: Duration = Duration::from_secs(30 * 60);
/// How long events are kept unless the operator chooses another time.
const DEFAULT_EVENT_TTL: Duration = Duration::from_secs(3600);
/// How many requests run at once unless the operator chooses another number: as many as a kube-apiserver runs.
pub const DEFAULT_CONCURRENCY: u32 = 600;
/// How many bytes a large request occupies while it is carried out, for each byte of it: its document, the live object, the
/// managers, and the encoding of the result.
const BYTES_PER_BODY_BYTE: usize = 8;
/// The bytes of a collection from which on a list of it may compute for long.
const LARGE_COLLECTION: u64 = 256 << 10;

impl ServerOptions {
    /// Returns the options of a server with all admission plugins, the behaviour of Kubernetes and the system's clock.
    pub fn new(access: Authentication) -> ServerOptions {
        let (authorization, concurrency) = match access {
            Authentication::Token(_) => (Authorization::rbac(), Some(DEFAULT_CONCURRENCY)),
            // Everyone is the same user, whom fairness could not tell apart.
            Authentication::Anyone => (Authorization::always_allow(), None),
        };
        ServerOptions {
            access,
            identity: IdentityOptions::default(),
            authorization,
            admission: AdmissionChain::default(),
            profile: Profile::kubernetes(),
            controllers: Controllers::default(),
            controller_delays: ControllerDelays::default(),
            service_addresses: AddressRange::DEFAULT,
            clock: Clock::default(),
            identifiers: Identifiers::default(),
            webhook_interceptor: None,
            concurrency,
            memory: MemoryBudget::default(),
            min_request_timeout: DEFAULT_MIN_REQUEST_TIMEOUT,
            event_ttl: Some(DEFAULT_EVENT_TTL),
            auditor: None,
            history: HistoryOptions::default(),
            aggregation: AggregatorOptions::default(),
        }
    }
}

/// The Kubernetes API over a store.
pub struct Server {
    /// The counters of the server.
    pub metrics: Arc<Metrics>,
    pub(crate) auditor: Option<Arc<Auditor>>,
    pub(crate) authenticator: Arc<Authenticator>,
    pub(crate) authorizer: Arc<Authorizer>,
    pub(crate) catalog: Arc<Catalog>,
    pub(crate) aggregator: Arc<Aggregator>,
    pub(crate) objects: Arc<Objects>,
    pub(crate) reader: Arc<Reader>,
    pub(crate) writer: Arc<Writer>,
    pub(crate) history: Arc<HistoryReader>,
    pub(crate) subresources: Arc<Subresources>,
    pub(crate) default_objects: Arc<DefaultObjects>,
    pub(crate) controllers: ControllerOptions,
    /// Who waits for the controllers, which take the receiver when they start.
    pub(crate) idlers: (mpsc::UnboundedSender<oneshot::Sender<Revision>>, Mutex<Option<Idlers>>),
    /// What the controllers of a fork begin with.
    pub(crate) checkpoint: Arc<Checkpoint>,
    pub(crate) flow_control: Option<Arc<FlowController>>,
    pub(crate) memory: MemoryBudget,
    pub(crate) offload: Offload,
    pub(crate) sizes: Arc<CollectionSizes>,
    pub(crate) stop: tokio::sync::watch::Sender<bool>,
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
        let ServerOptions {
            access,
            identity,
            authorization,
            admission,
            profile,
            controllers,
            controller_delays,
            service_addresses,
            clock,
            identifiers,
            webhook_interceptor,
            concurrency,
            memory,
            min_request_timeout,
            event_ttl,
            auditor,
            history,
            aggregation,
        } = options;
        // The table is not needed before the first request; it is read while the roles are written.
        let protobuf = tokio::task::spawn_blocking(tenure_protobuf::check);
        let stop = tokio::sync::watch::Sender::new(false);
        let metrics = Arc::new(Metrics::default());
        let authenticator = Authenticator::open(access, identity, store.clone(), clock.clone()).await?;
        let authenticator = Arc::new(authenticator);
        let authorizer = Authorizer::open(store.clone(), &authorization).await?;
        let catalog = Catalog::open(store.clone(), profile).await?;
        let aggregator = Aggregator::open(store.clone(), aggregation).await?;
        let webhooks = WebhookClient::default().with_interceptor(webhook_interceptor);
        let objects = Objects::new(store.clone(), catalog.clone(), clock, identifiers, webhooks);
        let reader = Reader::new(
            objects.clone(),
            metrics.clone(),
            memory.clone(),
            stop.subscribe(),
            min_request_timeout,
        );
        let admission = Admission::open(objects.clone(), authorizer.clone(), admission).await?;
        let history = Arc::new(History::new(history));
        let writer = Writer::new(reader.clone(), admission, authorizer.clone(), profile, history.clone());
        let history = HistoryReader::new(objects.clone(), history, stop.subscribe());
        let subresources = Subresources::new(writer.clone(), authenticator.clone());
        writer.create_initial_namespaces().await?;
        writer.services.migrate().await?;
        controllers::create_default_service_cidr(&writer, service_addresses).await?;
        if authorizer.has_rbac() {
            bootstrap_roles::restore(&writer).await?;
            // Aggregated roles grant nothing before their rules are collected.
            controllers::aggregate_roles(&writer).await?;
        }
        let sizes = Arc::new(CollectionSizes::new(store.clone()));
        let flow_control = match concurrency {
            Some(seats) => {
                let flow_control = FlowController::open(store, sizes.clone(), seats).await?;
                flow_control.restore(&writer, &subresources).await?;
                Some(flow_control)
            }
            None => None,
        };
        let checked = protobuf.await.map_err(|error| ApiError::internal(error.to_string()))?;
        checked.map_err(|error| ApiError::internal(error.to_string()))?;
        let default_objects = Arc::new(DefaultObjects::new(service_addresses));
        Ok(Arc::new(Server {
            metrics,
            auditor,
            authenticator,
            authorizer,
            catalog,
            aggregator,
            objects,
            reader,
            writer,
            history,
            subresources,
            default_objects,
            controllers: ControllerOptions { controllers, delays: controller_delays, event_ttl },
            idlers: idlers(),
            checkpoint: Arc::default(),
            flow_control,
            memory,
            offload: Offload::default(),
            sizes,
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

    /// Starts garbage collection, the deletion of namespaces and definitions, and the default objects of namespaces. Only the first
    /// call counts.
    pub fn start_controllers(&self) {
        let Some(idlers) = self.idlers.1.lock().take() else { return };
        let (writer, defaults) = (self.writer.clone(), self.default_objects.clone());
        let (checkpoint, stopping) = (self.checkpoint.clone(), self.stop.subscribe());
        controllers::start(writer, defaults, self.controllers, checkpoint, idlers, stopping);
        let (writer, mut stopping) = (self.writer.clone(), self.stop.subscribe());
        tokio::spawn(async move {
            tokio::select! {
                () = fight_events::follow(&writer) => {}
                _ = stopping.changed() => {}
            }
        });
        let writer =
            AggregatorWriter { writer: self.writer.clone(), subresources: self.subresources.clone() };
        let aggregator = self.aggregator.clone();
        tokio::spawn(aggregator.run(Arc::new(writer), self.catalog.clone(), self.stop.subscribe()));
        if let Some(flow_control) = &self.flow_control {
            tokio::spawn(flow_control.clone().follow(self.writer.clone(), self.stop.subscribe()));
        }
    }

    /// Waits until the controllers have seen every change and have no work that is due, and returns the revision up to which that
    /// holds. Forks that are made from now on begin with what the controllers know. Returns `None` at once if the controllers have been
    /// stopped; waits for their start if they have not been started.
    pub async fn controllers_idle(&self) -> Option<Revision> {
        if let Some(flow_control) = &self.flow_control {
            let mut stopping = self.stop.subscribe();
            tokio::select! {
                () = flow_control.settled() => {}
                _ = stopping.wait_for(|stop| *stop) => return None,
            }
        }
        let (sender, receiver) = oneshot::channel();
        self.idlers.0.send(sender).ok()?;
        // An error means that the controllers have ended.
        receiver.await.ok()
    }

    /// Ends all watches and the controllers, so that the server can stop.
    pub fn stop(&self) {
        self.stop.send_replace(true);
    }

    /// Answers a request, whether it comes from a connection or from the same process. The future is boxed here, so that the code of
    /// requests is compiled in this crate.
    pub fn respond(
        self: Arc<Self>,
        request: hyper::Request<RequestBody>,
    ) -> Pin<Box<dyn Future<Output = Response> + Send>> {
        Box::pin(self.answer(request))
    }

    async fn answer(self: Arc<Self>, request: hyper::Request<RequestBody>) -> Response {
        let start = Instant::now();
        let (method, path) = (request.method().clone(), request.uri().path().to_string());
        let compressed = accepts_gzip(request.headers());
        let accept = request.headers().get(header::ACCEPT).cloned();
        let mut seen = RequestInfo::default();
        let response = match self.handle_request(request, &mut seen).await {
            Ok(response) => response,
            Err(failure) => {
                let failure = match self.writer.profile.has(Improvement::ClientErrors) {
                    true => failure,
                    false => failure.into_kubernetes(),
                };
                let accept = accept.as_ref().and_then(|value| value.to_str().ok());
                // An object without an encoding that the client accepts may have an error in it.
                // Without CBOR, as in Kubernetes.
                let (offer, optional) = match failure.reason {
                    Reason::NotAcceptable => (MediaTypes::All, OptionalFormats::default()),
                    _ => (seen.offer, self.writer.profile.into()),
                };
                let format = offer.answer(accept, optional).ok().filter(|format| format.view == View::Whole);
                Response::failure(&failure, format.unwrap_or(PLAIN))
            }
        };
        let mut response = match seen.trail.take() {
            Some(trail) => trail.respond(response),
            None => response,
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
        if let Some(headers) = &seen.flow {
            headers.add_to(&mut response);
        }
        response = response.with_warnings(&seen.credential_warnings);
        // What one user may see is not for others.
        response
            .headers
            .entry(header::CACHE_CONTROL)
            .or_insert(header::HeaderValue::from_static("no-cache, private"));
        self.count_response(if compressed { compress(response) } else { response }, &method)
    }

    /// Reserves the memory of a large response until the client has read it. A read that does not fit is refused; the result of
    /// a write is sent in any case.
    fn count_response(&self, mut response: Response, method: &Method) -> Response {
        let bytes = response.body.bytes();
        if response.memory.is_some() || bytes <= MemoryBudget::SMALL {
            return response;
        }
        response.memory = self.memory.reserve(bytes);
        match response.memory.is_none() && *method == Method::GET {
            true => Response::busy("the server has too many large responses in flight, try again later"),
            false => response,
        }
    }

    /// The way of a request: authenticate, impersonate, authorize, route to a target, read the body, wait for a seat, dispatch.
    async fn handle_request(
        &self,
        request: hyper::Request<RequestBody>,
        seen: &mut RequestInfo,
    ) -> Result<Response, ApiError> {
        let (head, incoming) = request.into_parts();
        let mut incoming = Some(incoming);
        let outcome = self.handle_parts(head, &mut incoming, seen).await;
        let is_refused = outcome.is_err();
        if let Some(unread) = incoming.filter(|_| is_refused) {
            discard_body(unread).await;
        }
        outcome
    }

    async fn handle_parts(
        &self,
        head: Parts,
        incoming: &mut Option<RequestBody>,
        seen: &mut RequestInfo,
    ) -> Result<Response, ApiError> {
        request_guard::check(self.authenticator.access(), &head)?;
        let path = head.uri.path();
        let certificate = (head.extensions.get::<ClientCertificate>(), head.extensions.get::<FrontProxy>());
        let identity = self.authenticator.authenticate(path, &head.headers, certificate).await;
        let identity = identity.map(|Identity { user, credential, warning }| {
            seen.credential_warnings.extend(warning.map(String::from));
            (Arc::new(user), credential)
        });
        let address = RequestPath::parse(path);
        let query = Query::parse(head.uri.query().unwrap_or_default());
        let mut attributes = None;
        if let (Some(auditor), Some(address)) = (&self.auditor, &address) {
            let user = identity.as_ref().ok().map(|(user, _)| user);
            let no_query = Query::default();
            let query = query.as_ref().unwrap_or(&no_query);
            let of_request = Arc::new(request_attributes(&head.method, path, address, query));
            seen.trail = AuditTrail::begin(auditor, &self.objects.clock, &head, &of_request, user);
            attributes = Some(of_request);
        }
        let (user, credential) = identity?;
        let address = address.ok_or_else(|| ApiError::bad_request("the path is not valid UTF-8"))?;
        let query = query?;
        let known = || request_attributes(&head.method, path, &address, &query);
        let attributes = || attributes.unwrap_or_else(|| Arc::new(known()));
        let (user, attributes) =
            self.impersonate(user, &head.headers, attributes, seen.trail.as_mut()).await?;
        let flow = self.flow_control.as_ref().map(|control| match &attributes {
            Some(attributes) => control.classify(&user, attributes),
            None => control.exempt(),
        });
        seen.flow = flow.as_ref().map(|flow| flow.headers.clone());
        self.authorize(&user, attributes.as_deref(), seen.trail.as_ref()).await?;
        if let Some(service) = self.aggregator.route(&address)
            && let Some(body) = incoming.take()
        {
            seen.group = service.group.clone();
            let end = self.authenticator.end_of(credential).map(|end| Box::pin(end) as _);
            let request = (head, body, user);
            let aggregator = &self.aggregator;
            return aggregation::proxy(aggregator, &service, request, (&address, &query), flow, end).await;
        }
        // HTTP/2 has the host in its own place.
        let host = head.uri.authority().and_then(|host| HeaderValue::from_str(host.as_str()).ok());
        let takes_body = matches!(head.method, Method::POST | Method::PUT | Method::PATCH | Method::DELETE);
        let mut request = Request {
            method: head.method,
            user,
            query,
            headers: head.headers,
            body: Bytes::new(),
            audit: seen.trail.as_ref().map(AuditTrail::context).unwrap_or_default(),
            deadline: Instant::now() + REQUEST_TIME,
            optional: self.writer.profile.into(),
        };
        let path = match address {
            RequestPath::Resource(mut path) => {
                take_proxied_path(&mut path, &mut request.query);
                path
            }
            other => {
                if let Some(host) = host {
                    request.headers.entry(header::HOST).or_insert(host);
                }
                let (store, tokens) = (&*self.objects.store, &self.authenticator.tokens);
                let metrics = (&*self.metrics, &*self.writer.admission);
                let history = (&*self.writer.history, self.objects.clock.now());
                let is_document = nonresource::is_document(&other);
                let aggregated = self.aggregator.aggregated();
                let published = Published::new(&self.catalog, &aggregated);
                let catalog = (&*self.catalog, &published);
                let respond = nonresource::respond(catalog, store, metrics, tokens, history, other, &request);
                let respond = Box::pin(respond);
                return if is_document { self.offload.run(respond).await } else { respond.await };
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
        seen.set_target(&target);
        if let Some(time) = request.query.given("timeout").filter(|_| target.verb != Verb::Watch) {
            let asked = requested_time(time)?;
            request.deadline = request.deadline.min(Instant::now() + asked);
        }
        let mut memory = None;
        if let Some(incoming) = incoming.take().filter(|_| takes_body) {
            let read = read_body_within(incoming, BODY_BYTES, BODY_TIME, &self.memory).await;
            (request.body, memory) = read.map_err(|fault| match fault {
                BodyFault::TooLarge => ApiError::new(
                    Reason::RequestEntityTooLarge,
                    format!("Request entity too large: limit is {BODY_BYTES}"),
                ),
                BodyFault::NoMemory => no_memory(),
                BodyFault::Broken(why) => ApiError::bad_request(why),
            })?;
        }
        if let Some(trail) = &mut seen.trail {
            trail.set_body(&request.body);
        }
        if let Some(memory) = &mut memory
            && !memory.grow(BYTES_PER_BODY_BYTE * request.body.len())
        {
            return Err(no_memory());
        }
        // Only now: a client that sends its body slowly must not occupy a seat meanwhile.
        let _seat = match flow {
            Some(flow) => match flow.seat(&target, &request.query).await {
                Ok(seat) => seat,
                Err(refusal) => return Ok(refusal),
            },
            None => None,
        };
        let deprecated = deprecation::warning(&target, &request.audit);
        let is_long = memory.is_some() || self.may_compute_for_long(&target).await;
        let deadline = tokio::time::Instant::from_std(request.deadline);
        let carrying_out = tokio::time::timeout_at(deadline, self.dispatch(target, request));
        let carried_out = if is_long { self.offload.run(carrying_out).await } else { carrying_out.await };
        match carried_out {
            Ok(response) => deprecation::add(response, deprecated).map(|response| {
                let mut response = self.until_credential_ends(response, credential);
                // The response takes the place of the request.
                if let Some(mut memory) = memory {
                    memory.shrink(memory.bytes().saturating_sub(response.body.bytes()));
                    response.memory = Some(memory);
                }
                response
            }),
            Err(_) => Err(ApiError::new(
                Reason::Timeout,
                "the server was unable to return a response in the time allotted, but may still be processing the request",
            )),
        }
    }

    /// Whether a request may compute for long whatever its own size: it lists a large collection, changes a large object, or
    /// has expressions compiled or evaluated.
    async fn may_compute_for_long(&self, target: &Target) -> bool {
        if target.handler.has_conversion_webhook() {
            return true;
        }
        match target.verb {
            Verb::List | Verb::DeleteCollection => {
                self.sizes.of(&target.handler.resource).await.bytes() > LARGE_COLLECTION
            }
            Verb::Create | Verb::Update | Verb::Patch => {
                matches!(target.handler.role, Role::Definition | Role::AdmissionConfiguration)
                    || target.handler.has_rules()
                    || self.writer.is_reviewed(target)
                    || target.verb != Verb::Create && self.has_large_object(target)
            }
            Verb::Get | Verb::Watch | Verb::Delete => false,
        }
    }

    fn has_large_object(&self, target: &Target) -> bool {
        let entry = self.objects.store.peek(target.key().as_bytes());
        entry.is_ok_and(|entry| entry.is_some_and(|entry| entry.value.len() > MemoryBudget::SMALL))
    }

    /// Returns the user that a request runs as, after impersonation, with what the request asks for; that is `None` if the user
    /// may do everything and never waits.
    async fn impersonate(
        &self,
        user: Arc<UserInfo>,
        headers: &HeaderMap,
        attributes: impl FnOnce() -> Arc<Attributes>,
        trail: Option<&mut AuditTrail>,
    ) -> Result<(Arc<UserInfo>, Option<Arc<Attributes>>), ApiError> {
        let Some(wanted) = impersonated_user(headers)? else {
            let is_judged = self.authorizer.decides() || self.flow_control.is_some();
            let is_free = user.is_in(UserInfo::MASTERS) || !is_judged;
            return Ok((user, (!is_free).then(attributes)));
        };
        let attributes = attributes();
        let impersonated = Box::pin(self.authorizer.impersonate(&user, &wanted, &attributes)).await?;
        let user = Arc::new(impersonated.user);
        if let Some(trail) = trail {
            trail.set_impersonated(&user, impersonated.mode.constraint());
        }
        Ok((user, Some(attributes)))
    }

    /// Checks that a user may do what a request asks for; a request without attributes needs no permission.
    async fn authorize(
        &self,
        user: &UserInfo,
        attributes: Option<&Attributes>,
        trail: Option<&AuditTrail>,
    ) -> Result<(), ApiError> {
        let attributes = attributes.filter(|_| self.authorizer.decides());
        let decision = match attributes {
            Some(attributes) => Some(self.authorizer.decide(user, attributes).await),
            None => None,
        };
        if let Some(trail) = trail {
            let reason = decision.as_ref().map_or("", |decision| decision.reason.as_str());
            trail.set_decision(decision.as_ref().is_none_or(|decision| decision.is_allowed()), reason);
        }
        match (attributes, decision) {
            (Some(attributes), Some(decision)) if !decision.is_allowed() => {
                Err(refusal(user, attributes, &decision))
            }
            _ => Ok(()),
        }
    }

    /// Ends a response that lasts, such as a watch, with the credential that it was asked for with.
    fn until_credential_ends(&self, mut response: Response, credential: Credential) -> Response {
        response.body = match response.body {
            ResponseBody::Stream(stream) => {
                ResponseBody::Stream(match self.authenticator.end_of(credential) {
                    Some(end) => stream.until(end),
                    None => stream,
                })
            }
            other => other,
        };
        response
    }

    /// Carries out a request. Each verb is boxed, so that the future of a request is not as large as that of the largest verb.
    async fn dispatch(&self, target: Target, request: Request) -> Result<Response, ApiError> {
        match target.verb {
            _ if is_connection(&target.subresource) => {
                Box::pin(self.subresources.connect(&target, &request)).await
            }
            Verb::Get if target.subresource.is_empty() => Box::pin(self.reader.get(&target, &request)).await,
            Verb::Get if target.subresource == HISTORY => Box::pin(self.history.get(target, &request)).await,
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

impl Handler for Server {
    fn handle(self: Arc<Self>, request: hyper::Request<Incoming>) -> impl Future<Output = Response> + Send {
        self.respond(request.map(RequestBody::from))
    }
}

/// What a request is about, for metrics and errors. Only what is served is recorded: anything else would let clients add metrics
/// without bound.
struct RequestInfo {
    verb: &'static str,
    group: Text,
    resource: Text,
    offer: MediaTypes,
    /// What flow control says of it.
    flow: Option<FlowHeaders>,
    credential_warnings: Vec<String>,
    /// What is recorded of the request, if it is audited.
    trail: Option<AuditTrail>,
}

impl Default for RequestInfo {
    fn default() -> RequestInfo {
        RequestInfo {
            verb: "other",
            group: Text::default(),
            resource: Text::default(),
            offer: MediaTypes::All,
            flow: None,
            credential_warnings: Vec::new(),
            trail: None,
        }
    }
}

impl RequestInfo {
    fn set_target(&mut self, target: &Target) {
        let resource = &target.handler.resource;
        (self.verb, self.offer) = (target.verb.word(), target.offer());
        (self.group, self.resource) = (resource.group.clone(), resource.name.clone());
    }
}

/// Returns the channel of those who wait for the controllers.
pub(crate) fn idlers() -> (mpsc::UnboundedSender<oneshot::Sender<Revision>>, Mutex<Option<Idlers>>) {
    let (sender, receiver) = mpsc::unbounded_channel();
    (sender, Mutex::new(Some(receiver)))
}

/// Returns the error of a request that does not fit into memory together with those in flight.
fn no_memory() -> ApiError {
    let mut error = ApiError::new(
        Reason::TooManyRequests,
        "the server has too many large requests in flight, try again later",
    );
    error.retry_after = Some(1);
    error
}
