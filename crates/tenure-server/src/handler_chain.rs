//! The handler chain: what every request passes, whatever its endpoint, in the order of [`Server::chain`]. A step takes what the one
//! before returns, and an endpoint gets what the last one returns, so that no endpoint can leave a step out. The first steps, limits of
//! connections, the guard of hosts and origins, and the bounds of the body, are the listener's, which returns a [`GuardedRequest`].

mod transaction;

use crate::{
    aggregation,
    audit::AuditTrail,
    deprecation,
    flow_control::{FlowHeaders, RequestFlow},
    nonresource,
    permission::{Exemption, Permission},
    request_time::requested_time,
    server::Server,
    subresources::take_proxied_path,
};
use bytes::Bytes;
use hyper::{
    Method, Uri,
    header::{self, HeaderValue},
    http::request::Parts,
};
use std::{
    future::poll_fn,
    pin::{Pin, pin},
    sync::Arc,
    task::Poll,
    time::Instant,
};
use tenure_aggregator::ApiService;
use tenure_authentication::{Credential, Identity};
use tenure_authorization::{Decision, refusal, request_attributes};
use tenure_builtin::role::Role;
use tenure_catalog::{
    Subresource, Target, Verb,
    discovery::{Published, page_not_found},
    history::MayRead,
};
use tenure_http::{
    Administrator, AdmissionReview, BoundedBody, ClientAddress, GuardedRequest, HostGuard, MediaTypes,
    OptionalFormats, PLAIN, Query, REQUEST_TIME, Request, RequestBody, RequestPath, Response, ResponseBody,
    View, WebService,
    compression::{accepts_gzip, compress},
    impersonation::impersonated_user,
    listener::Handler,
    metrics, no_memory,
};
use tenure_meta::{ApiError, Attributes, Reason, ResourceAttributes, UserInfo};
use tenure_profile::{Behaviour, Improvement};
use tenure_transport::serving::{ClientCertificate, FrontProxy};
use tenure_value::Text;

/// The largest body of a request.
pub const BODY_BYTES: usize = 3 * 1024 * 1024;
/// How many bytes a large request occupies while it is carried out, for each byte of it: its document, the live object, the
/// managers, and the encoding of the result.
const BYTES_PER_BODY_BYTE: usize = 8;

/// What the head of a request says.
struct Received<'s> {
    /// The endpoint beside the API that it is for.
    web: Option<&'s WebService>,
    path: RequestPath,
    query: Result<Query, ApiError>,
    /// What it asks for, once that is needed.
    attributes: Option<Arc<Attributes>>,
}

/// A request whose client is known; its user is the one that the request runs as.
struct Authenticated {
    user: Arc<UserInfo>,
    credential: Credential,
}

/// A request that its user may make. `Server::authorize` alone makes one, and every endpoint needs one.
struct Authorized {
    user: Arc<UserInfo>,
    credential: Credential,
    flow: Option<RequestFlow>,
}

/// A request that is carried out.
type CarryingOut<'s> = Pin<Box<dyn Future<Output = Result<Response, ApiError>> + Send + 's>>;

/// Where a request leads. What is large is boxed, since it is passed on from step to step.
enum Route<'s> {
    /// To an endpoint beside the API.
    Web(&'s WebService, Box<Parts>),
    /// To an extension API server.
    Aggregated(Arc<ApiService>, Box<Parts>, RequestPath, Query),
    /// To health, metrics, discovery, OpenAPI and the like.
    Document(RequestPath, Box<Request>),
    /// To several writes that are carried out together.
    Transaction(Box<Request>, Option<ClientAddress>),
    /// To a collection, an object or a subresource.
    Resource(Target, Box<Request>),
    /// Nowhere.
    NotFound,
}

impl Server {
    /// Answers a request that was made in this process. The future is boxed here, so that the code of requests is compiled in this
    /// crate.
    pub fn respond(
        self: Arc<Self>,
        request: hyper::Request<RequestBody>,
    ) -> Pin<Box<dyn Future<Output = Response> + Send>> {
        let guard = match self.authenticator.access() {
            Administrator::Anyone => HostGuard::Loopback,
            Administrator::Token(_) => HostGuard::Certified,
        };
        Box::pin(async move {
            match GuardedRequest::check(guard, request).await {
                Ok(request) => self.answer(request).await,
                Err(refusal) => Response::failure(&refusal, PLAIN),
            }
        })
    }

    /// Answers a request: the chain, then the end of the audit trail, the metrics, and the answer within the budget of bytes.
    async fn answer(self: Arc<Self>, request: GuardedRequest) -> Response {
        let start = Instant::now();
        let (head, body) = request.into_parts();
        let (method, compressed) = (head.method.clone(), accepts_gzip(&head.headers));
        let accept = head.headers.get(header::ACCEPT).cloned();
        let (mut head, mut body, mut seen) = (Some(head), Some(body), RequestInfo::default());
        let outcome = self.chain(&mut head, &mut body, &mut seen).await;
        if let Some(unread) = body.filter(|_| outcome.is_err()) {
            // The client may still be sending, and would see a broken connection instead of the response.
            Box::pin(unread.discard()).await;
        }
        let response = outcome.unwrap_or_else(|failure| {
            let failure = match self.writer.profile.has(Improvement::ClientErrors) {
                true => failure,
                false => failure.into_kubernetes(),
            };
            let accept = accept.as_ref().and_then(|value| value.to_str().ok());
            // An object without an encoding that the client accepts may have an error in it.
            let profile = self.writer.profile;
            let (offer, optional) = match failure.reason {
                Reason::NotAcceptable if !profile.behaves(Behaviour::CborDiscovery) => {
                    (MediaTypes::All, OptionalFormats::default())
                }
                Reason::NotAcceptable => (MediaTypes::All, profile.into()),
                _ => (seen.offer, profile.into()),
            };
            let format = offer.answer(accept, optional).ok().filter(|format| format.view == View::Whole);
            Response::failure(&failure, format.unwrap_or(PLAIN))
        });
        let mut response = match seen.trail.take() {
            Some(trail) => trail.respond(response),
            None => response,
        };
        let (code, time) = (response.code.as_u16(), start.elapsed());
        let uri = head.map_or(seen.uri, |head| head.uri);
        self.metrics.request(
            metrics::Request { verb: seen.verb, group: seen.group, resource: seen.resource, code },
            time,
        );
        if code >= 500 {
            tracing::warn!(%method, path = uri.path(), code, micros = time.as_micros() as u64, "request failed");
        } else {
            tracing::debug!(%method, path = uri.path(), code, micros = time.as_micros() as u64, "request");
        }
        if let Some(headers) = &seen.flow {
            headers.add_to(&mut response);
        }
        if !seen.credential_warnings.is_empty() {
            response = response.with_warnings(&seen.credential_warnings);
        }
        // What one user may see is not for others.
        response
            .headers
            .entry(header::CACHE_CONTROL)
            .or_insert(header::HeaderValue::from_static("no-cache, private"));
        self.memory.hold(if compressed { compress(response) } else { response }, &method)
    }

    /// Every request, in this order.
    async fn chain(
        &self,
        head: &mut Option<Box<Parts>>,
        body: &mut Option<BoundedBody>,
        seen: &mut RequestInfo,
    ) -> Result<Response, ApiError> {
        let Some(parts) = head.as_deref() else { return Ok(page_not_found()) };
        let mut received = Received::read(parts, self.web.as_ref());
        let identity = self.authenticate(parts, &received, seen).await;
        let caller = self.open_audit(parts, &mut received, identity, seen)?;
        let caller = self.impersonate(parts, &mut received, caller, seen).await?;
        let permission = self.permission(parts, &mut received, &caller);
        let flow = self.classify(parts, &mut received, &caller, &permission, seen);
        let authorized = self.authorize(caller, permission, flow, seen).await?;
        let Some(head) = head.take() else { return Ok(page_not_found()) };
        match self.route(head, received, &authorized, seen)? {
            Route::Resource(target, request) => self.carry_out(target, request, authorized, body, seen).await,
            Route::Document(path, request) => self.document(path, request).await,
            Route::Transaction(request, client) => {
                Box::pin(self.transact(*request, client, authorized, body, seen)).await
            }
            Route::Aggregated(service, head, path, query) => {
                let Some(body) = body.take() else { return Ok(page_not_found()) };
                let Authorized { user, credential, flow } = authorized;
                let end = self.authenticator.end_of(credential).map(|end| Box::pin(end) as _);
                let request = (*head, body.into_stream(), user);
                let proxied =
                    aggregation::proxy(&self.aggregator, &service, request, (&path, &query), flow, end);
                Box::pin(proxied).await
            }
            Route::Web(web, head) => match body.take() {
                Some(body) => Ok(Box::pin(web.respond(*head, body)).await),
                None => Ok(page_not_found()),
            },
            Route::NotFound => Ok(page_not_found()),
        }
    }

    /// Finds out who makes a request. An endpoint beside the API knows who is signed in there; all others are anonymous.
    async fn authenticate(
        &self,
        head: &Parts,
        received: &Received<'_>,
        seen: &mut RequestInfo,
    ) -> Result<Authenticated, ApiError> {
        if let Some(web) = received.web {
            let user = web.user(head).unwrap_or_else(|| Arc::new(UserInfo::anonymous()));
            return Ok(Authenticated { user, credential: Credential::Lasting });
        }
        let certificate = (head.extensions.get::<ClientCertificate>(), head.extensions.get::<FrontProxy>());
        let identity = self.authenticator.authenticate(head.uri.path(), &head.headers, certificate).await;
        let Identity { user, credential, warning } = identity.inspect_err(|_| {
            let client = head.extensions.get().map(|ClientAddress(address)| address.ip());
            let reason = match certificate.0 {
                Some(ClientCertificate::Invalid(reason)) => reason,
                _ if head.headers.contains_key(header::AUTHORIZATION) => "the bearer token is not valid",
                _ => "no credentials",
            };
            tracing::info!(?client, reason, "unable to authenticate the request");
        })?;
        seen.credential_warnings.extend(warning.map(String::from));
        Ok(Authenticated { user, credential })
    }

    /// Opens the audit trail. A request that could not be authenticated is recorded and goes no further.
    fn open_audit(
        &self,
        head: &Parts,
        received: &mut Received<'_>,
        identity: Result<Authenticated, ApiError>,
        seen: &mut RequestInfo,
    ) -> Result<Authenticated, ApiError> {
        if let Some(auditor) = &self.auditor {
            let user = identity.as_ref().ok().map(|caller| &caller.user);
            let attributes = received.attributes(head);
            seen.trail = AuditTrail::begin(auditor, &self.objects.clock, head, &attributes, user);
        }
        identity
    }

    /// Lets a request run as the user that its headers name, if its own user may impersonate that one.
    async fn impersonate(
        &self,
        head: &Parts,
        received: &mut Received<'_>,
        caller: Authenticated,
        seen: &mut RequestInfo,
    ) -> Result<Authenticated, ApiError> {
        // Endpoints beside the API make requests of their own, with the credentials of who signed in.
        if received.web.is_some() {
            return Ok(caller);
        }
        let Some(wanted) = impersonated_user(&head.headers)? else { return Ok(caller) };
        let attributes = received.attributes(head);
        let impersonated = Box::pin(self.authorizer.impersonate(&caller.user, &wanted, &attributes)).await?;
        let user = Arc::new(impersonated.user);
        if let Some(trail) = &mut seen.trail {
            trail.set_impersonated(&user, impersonated.mode.constraint());
        }
        Ok(Authenticated { user, ..caller })
    }

    /// Returns what a request must be allowed to do.
    fn permission(&self, head: &Parts, received: &mut Received<'_>, caller: &Authenticated) -> Permission {
        match received.web {
            Some(_) => Permission::of_page(),
            None => Permission::of_user(&caller.user, &self.authorizer, || received.attributes(head)),
        }
    }

    /// Finds the flow schema and the priority level of a request. Its seat is taken once its body is there: a client that sends slowly
    /// must not occupy one.
    fn classify(
        &self,
        head: &Parts,
        received: &mut Received<'_>,
        caller: &Authenticated,
        permission: &Permission,
        seen: &mut RequestInfo,
    ) -> Option<RequestFlow> {
        let control = self.flow_control.as_ref()?;
        let flow = match permission {
            Permission::Check(attributes) => control.classify(&caller.user, attributes),
            Permission::Exempt(Exemption::Masters) => control.exempt(),
            Permission::Exempt(Exemption::AlwaysAllow) => {
                control.classify(&caller.user, &received.attributes(head))
            }
            // What the page asks the API for waits there.
            Permission::Exempt(Exemption::Page) => return None,
        };
        seen.flow = Some(flow.headers.clone());
        Some(flow)
    }

    /// Checks that the user of a request may make it.
    async fn authorize(
        &self,
        caller: Authenticated,
        permission: Permission,
        flow: Option<RequestFlow>,
        seen: &RequestInfo,
    ) -> Result<Authorized, ApiError> {
        let Authenticated { user, credential } = caller;
        let decision = match &permission {
            Permission::Exempt(_) => Decision::allowed(),
            Permission::Check(attributes) => self.authorizer.decide(&user, attributes).await,
        };
        if let Some(trail) = &seen.trail {
            trail.set_decision(decision.is_allowed(), &decision.reason);
        }
        match permission {
            Permission::Check(attributes) if !decision.is_allowed() => {
                Err(refusal(&user, &attributes, &decision))
            }
            _ => Ok(Authorized { user, credential, flow }),
        }
    }

    /// Finds the endpoint of a request that is authorized.
    fn route<'s>(
        &self,
        head: Box<Parts>,
        received: Received<'s>,
        authorized: &Authorized,
        seen: &mut RequestInfo,
    ) -> Result<Route<'s>, ApiError> {
        let Received { web, path, query, attributes } = received;
        if let Some(web) = web {
            seen.uri = head.uri.clone();
            return Ok(Route::Web(web, head));
        }
        let query = query.inspect_err(|_| seen.uri = head.uri.clone())?;
        if let Some(service) = self.aggregator.route(&path) {
            seen.uri = head.uri.clone();
            seen.group = service.group.clone();
            self.check_unlimited(&authorized.user, attributes.as_deref())?;
            return Ok(Route::Aggregated(service, head, path, query));
        }
        let head = *head;
        // HTTP/2 has the host in its own place.
        let host = head.uri.authority().and_then(|host| HeaderValue::from_str(host.as_str()).ok());
        seen.uri = head.uri;
        let mut request = Box::new(Request {
            method: head.method,
            user: authorized.user.clone(),
            query,
            headers: head.headers,
            body: Bytes::new(),
            audit: seen.trail.as_ref().map(AuditTrail::context).unwrap_or_default(),
            deadline: Instant::now() + REQUEST_TIME,
            optional: self.writer.profile.into(),
            admission: AdmissionReview::Required,
        });
        let mut path = match path {
            RequestPath::Resource(path) => path,
            RequestPath::Other(path) if path == transaction::PATH && self.has_transactions(&request) => {
                return Ok(Route::Transaction(request, head.extensions.get().copied()));
            }
            other => {
                if let Some(host) = host {
                    request.headers.entry(header::HOST).or_insert(host);
                }
                return Ok(Route::Document(other, request));
            }
        };
        take_proxied_path(&mut path, &mut request.query);
        let group = path.group.clone();
        let target = match Target::resolve(&self.catalog, path, &request) {
            // A group without resources is not a path of the API at all.
            Err(failure) if failure.code() == 404 && !self.catalog.has_group(&group) => {
                return Ok(Route::NotFound);
            }
            target => target?,
        };
        seen.set_target(&target);
        if let Some(time) = request.query.given("timeout").filter(|_| target.verb != Verb::Watch) {
            request.deadline = request.deadline.min(Instant::now() + requested_time(time)?);
        }
        Ok(Route::Resource(target, request))
    }

    /// Refuses a write of some fields to another API server, which does not know permissions of fields.
    fn check_unlimited(&self, user: &UserInfo, attributes: Option<&Attributes>) -> Result<(), ApiError> {
        let Some(Attributes::Resource(resource)) = attributes else { return Ok(()) };
        let limits = self.authorizer.field_limits(user, resource);
        if limits.is_empty() {
            return Ok(());
        }
        let why = format!("the server of this API does not know permissions of fields{limits}");
        Err(ApiError::forbidden(&resource.group, &resource.resource, &resource.name, &why))
    }

    fn has_transactions(&self, request: &Request) -> bool {
        request.method == Method::POST && self.writer.profile.has(Improvement::Transactions)
    }

    /// Answers a request for a path that names no resource.
    async fn document(&self, path: RequestPath, request: Box<Request>) -> Result<Response, ApiError> {
        let (store, tokens) = (&*self.objects.store, &self.authenticator.tokens);
        let metrics = (&*self.metrics, &*self.writer.admission);
        let may_read = |target: &Target| {
            let resource = &target.handler.resource;
            let get = Attributes::Resource(ResourceAttributes {
                verb: Verb::Get.word().into(),
                group: resource.group.clone(),
                version: resource.version.clone(),
                resource: resource.name.clone(),
                namespace: target.namespace.clone(),
                name: target.name.clone(),
                ..ResourceAttributes::default()
            });
            self.authorizer.decide_blocking(&request.user, &get).is_allowed()
        };
        let history = (&*self.writer.history, self.objects.clock.now(), &may_read as &MayRead<'_>);
        let is_small = nonresource::is_small(&path);
        let aggregated = self.aggregator.aggregated();
        let published = Published::new(&self.catalog, &aggregated);
        let catalog = (&*self.catalog, &published);
        let respond =
            Box::pin(nonresource::respond(catalog, store, metrics, tokens, history, path, &request));
        if is_small { respond.await } else { self.offload.run(respond).await }
    }

    /// Carries out a request for a resource: its body within the budget and the deadline, a seat of its priority level, and what may
    /// compute for long outside of the workers that serve connections.
    async fn carry_out(
        &self,
        target: Target,
        mut request: Box<Request>,
        authorized: Authorized,
        body: &mut Option<BoundedBody>,
        seen: &mut RequestInfo,
    ) -> Result<Response, ApiError> {
        let Authorized { credential, flow, .. } = authorized;
        let takes_body =
            matches!(request.method, Method::POST | Method::PUT | Method::PATCH | Method::DELETE);
        let mut memory = None;
        if let Some(body) = body.take_if(|_| takes_body) {
            (request.body, memory) = body.read(BODY_BYTES, &self.memory).await?;
        }
        if let Some(trail) = &mut seen.trail {
            trail.set_body(&request);
        }
        if let Some(memory) = &mut memory
            && !memory.grow(BYTES_PER_BODY_BYTE * request.body.len())
        {
            return Err(no_memory());
        }
        let _seat = match flow {
            Some(flow) => match flow.seat(&target, &request.query).await {
                Ok(seat) => seat,
                Err(refusal) => return Ok(refusal),
            },
            None => None,
        };
        let deprecated = deprecation::warning(&target, &request.audit);
        let work = request.body.len().max(self.work(&target).await);
        let deadline = tokio::time::Instant::from_std(request.deadline);
        let carrying_out = before(deadline, self.dispatch(target, request));
        let Some(response) = self.offload.run_for(work, carrying_out).await else {
            return Err(ApiError::new(
                Reason::Timeout,
                "the server was unable to return a response in the time allotted, but may still be processing the request",
            ));
        };
        let mut response = deprecation::add(response, deprecated)?;
        // A response that lasts, such as a watch, ends with the credential that it was asked for with.
        if let ResponseBody::Stream(stream) = response.body {
            response.body = ResponseBody::Stream(match self.authenticator.end_of(credential) {
                Some(end) => stream.until(end),
                None => stream,
            });
        }
        // The response takes the place of the request.
        if let Some(mut memory) = memory {
            memory.shrink(memory.bytes().saturating_sub(response.body.bytes()));
            response.memory = Some(memory);
        }
        Ok(response)
    }

    /// Returns how many bytes a request may work on besides its body: more than any if it has no bound, since expressions are compiled
    /// or evaluated, or objects are converted by a webhook. What a get, a watch and a history work on is known when it is read.
    async fn work(&self, target: &Target) -> usize {
        let is_write = matches!(target.verb, Verb::Create | Verb::Update | Verb::Patch);
        let has_no_bound = target.handler.has_conversion_webhook()
            || is_write
                && (matches!(target.handler.role, Role::Definition | Role::AdmissionConfiguration)
                    || target.handler.has_rules()
                    || self.writer.is_reviewed(target));
        match target.verb {
            _ if has_no_bound => usize::MAX,
            Verb::List | Verb::DeleteCollection => self.reader.collection_work(&target.handler).await,
            Verb::Create | Verb::Watch => 0,
            Verb::Get if target.subresource.is_empty() || target.part() == Some(Subresource::History) => 0,
            Verb::Get | Verb::Update | Verb::Patch | Verb::Delete => {
                let entry = self.objects.store.peek(target.key().as_bytes());
                entry.ok().flatten().map_or(0, |entry| entry.value.len())
            }
        }
    }

    /// Carries out a request. Each verb is boxed, so that the future of a request is not as large as that of the largest verb.
    fn dispatch(&self, target: Target, request: Box<Request>) -> CarryingOut<'_> {
        match target.verb {
            _ if target.part().is_some_and(Subresource::is_connection) => {
                Box::pin(async move { self.subresources.connect(&target, &request).await })
            }
            Verb::Get if target.subresource.is_empty() => {
                Box::pin(async move { self.reader.get(&target, &request).await })
            }
            Verb::Get if target.part() == Some(Subresource::History) => {
                Box::pin(async move { self.history.get(target, &request).await })
            }
            Verb::Get => Box::pin(async move { self.subresources.get(&target, &request).await }),
            Verb::List => Box::pin(async move { self.reader.list(&target, &request).await }),
            Verb::Watch => Box::pin(self.reader.watch(target, *request)),
            Verb::Create if target.subresource.is_empty() && target.handler.resource.is_stored() => {
                Box::pin(async move { self.writer.create(&target, &request).await })
            }
            Verb::Create => Box::pin(async move { self.subresources.post(&target, &request).await }),
            Verb::Update | Verb::Patch => {
                Box::pin(async move { self.writer.modify(&target, &request).await })
            }
            Verb::Delete => Box::pin(async move { self.writer.delete(&target, &request).await }),
            Verb::DeleteCollection => {
                Box::pin(async move { self.writer.delete_collection(&target, &request).await })
            }
        }
    }
}

/// Runs a future until a deadline. A timer is made only once the future waits, which most requests never do.
async fn before<F: Future>(deadline: tokio::time::Instant, future: F) -> Option<F::Output> {
    let (mut future, mut timer) = (pin!(future), pin!(None));
    poll_fn(|context| {
        if let Poll::Ready(output) = future.as_mut().poll(context) {
            return Poll::Ready(Some(output));
        }
        if timer.is_none() {
            // The deadline also holds for a future that uses all of its turn.
            timer.set(Some(tokio::task::unconstrained(tokio::time::sleep_until(deadline))));
        }
        match timer.as_mut().as_pin_mut() {
            Some(timer) => timer.poll(context).map(|()| None),
            None => Poll::Pending,
        }
    })
    .await
}

impl Handler for Server {
    fn handle(self: Arc<Self>, request: GuardedRequest) -> impl Future<Output = Response> + Send {
        Box::pin(self.answer(request)) as Pin<Box<dyn Future<Output = Response> + Send>>
    }
}

impl<'s> Received<'s> {
    fn read(head: &Parts, web: Option<&'s WebService>) -> Received<'s> {
        Received {
            web: web.filter(|web| web.is_for(head)),
            path: RequestPath::parse(head.uri.path()),
            query: Query::parse(head.uri.query().unwrap_or_default()),
            attributes: None,
        }
    }

    /// Returns what the request asks for.
    fn attributes(&mut self, head: &Parts) -> Arc<Attributes> {
        let (path, query) = (&self.path, &self.query);
        let read = || {
            let no_query = Query::default();
            let query = query.as_ref().unwrap_or(&no_query);
            Arc::new(request_attributes(&head.method, head.uri.path(), path, query))
        };
        self.attributes.get_or_insert_with(read).clone()
    }
}

/// What a request is about, for metrics and errors. Only what is served is recorded: anything else would let clients add metrics
/// without bound.
struct RequestInfo {
    /// What it names, once its head is passed on.
    uri: Uri,
    verb: &'static str,
    group: Text,
    resource: Text,
    offer: MediaTypes,
    /// What flow control says of it.
    flow: Option<Arc<FlowHeaders>>,
    credential_warnings: Vec<String>,
    /// What is recorded of the request, if it is audited.
    trail: Option<AuditTrail>,
}

impl Default for RequestInfo {
    fn default() -> RequestInfo {
        RequestInfo {
            uri: Uri::default(),
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
