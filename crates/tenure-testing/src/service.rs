//! Requests to a test server: a tower service, in the process.

use crate::{
    body::TestBody,
    fault::Effect,
    record::{ACTOR, Actor},
    request_info::RequestInfo,
    server::{Inner, TestServer},
};
use bytes::Bytes;
use http::{
    HeaderMap, HeaderName, HeaderValue, Request, Response,
    header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE},
};
use http_body::Body;
use http_body_util::BodyExt;
use std::{
    convert::Infallible,
    fmt,
    future::Future,
    pin::Pin,
    sync::{Arc, atomic::Ordering::Relaxed},
    task::{Context, Poll},
};
use tenure_http::{PLAIN, RequestBody};
use tenure_meta::{ApiError, Reason};
use tenure_store::Store;
use tenure_value::Value;
use tower_service::Service;

const MODIFIED: &str =
    "the object has been modified; please apply your changes to the latest version and try again";

/// Sends requests to a [`TestServer`](crate::TestServer) without a socket. A request without an `Authorization` header is the
/// administrator's.
#[derive(Clone)]
pub struct TestService {
    inner: Arc<Inner>,
    caller: Caller,
}

/// The user of requests without credentials.
#[derive(Clone)]
enum Caller {
    Administrator,
    Anonymous,
    User(Arc<[(HeaderName, HeaderValue)]>),
}

impl TestServer {
    /// Returns the service that answers requests.
    pub fn service(&self) -> TestService {
        TestService { inner: self.inner.clone(), caller: Caller::Administrator }
    }
}

impl TestService {
    /// Makes requests as another user, by impersonation.
    pub fn as_user(mut self, name: &str, groups: &[&str]) -> TestService {
        let header = |name: &'static str, value: &str| {
            Some((HeaderName::from_static(name), HeaderValue::from_str(value).ok()?))
        };
        let user = header("impersonate-user", name).into_iter();
        let groups = groups.iter().filter_map(|group| header("impersonate-group", group));
        self.caller = Caller::User(user.chain(groups).collect());
        self
    }

    /// Makes requests without credentials, unless they have their own.
    pub fn anonymous(mut self) -> TestService {
        self.caller = Caller::Anonymous;
        self
    }

    /// Answers a request.
    pub async fn respond<B>(&self, request: Request<B>) -> Response<TestBody>
    where
        B: Body + Send + 'static,
        B::Data: Send,
    {
        let (mut head, body) = request.into_parts();
        self.identify(&mut head.headers);
        // A body that breaks off is as long as it came; the server says what is wrong with it.
        let body = body.collect().await.map(|body| body.to_bytes()).unwrap_or_default();
        self.inner.respond(Request::from_parts(head, body)).await
    }

    fn identify(&self, headers: &mut HeaderMap) {
        if headers.contains_key(AUTHORIZATION) || matches!(self.caller, Caller::Anonymous) {
            return;
        }
        headers.insert(AUTHORIZATION, self.inner.authorization.clone());
        if let Caller::User(identity) = &self.caller
            && !headers.contains_key("impersonate-user")
        {
            for (name, value) in identity.iter() {
                headers.append(name.clone(), value.clone());
            }
        }
    }
}

impl fmt::Debug for TestService {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TestService").finish_non_exhaustive()
    }
}

impl<B> Service<Request<B>> for TestService
where
    B: Body + Send + 'static,
    B::Data: Send,
{
    type Response = Response<TestBody>;
    type Error = Infallible;
    type Future = Pin<Box<dyn Future<Output = Result<Response<TestBody>, Infallible>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<B>) -> Self::Future {
        let service = self.clone();
        Box::pin(async move { Ok(service.respond(request).await) })
    }
}

impl Inner {
    /// Responds to a request whose body has been read, with the effects of faults.
    pub(crate) async fn respond(&self, mut request: Request<Bytes>) -> Response<TestBody> {
        let running = self.running();
        let (method, uri, headers) = (request.method(), request.uri(), request.headers());
        let info = RequestInfo::read(running.server.catalog(), method, uri, headers, request.body());
        if info.is_write()
            && let Some(revision) = self.view_of
        {
            return failure(&ApiError::new(
                Reason::MethodNotAllowed,
                format!(
                    "this is a view of revision {revision}, which cannot change; write to the server itself, or to a fork"
                ),
            ));
        }
        if info.is_write() {
            self.has_work.store(true, Relaxed);
        }
        self.start_controllers(&running);
        let is_watch = info.verb == "watch";
        if is_watch && self.faults.concern_events() {
            prefer_json(request.headers_mut());
        }
        let mut stale = None;
        if !self.faults.is_empty() {
            for latency in self.faults.take_all(&info, |effect| matches!(effect, Effect::Latency(_))) {
                if let Effect::Latency(time) = latency.effect {
                    tokio::time::sleep(time).await;
                }
            }
            if let Some(refusal) = self.refusal(&info) {
                return failure(&refusal);
            }
            let wanted = |effect: &Effect| matches!(effect, Effect::StaleRead { .. });
            if let Some(taken) = self.faults.take(&info, wanted) {
                match self.stale_view(&taken).await {
                    Ok(view) => stale = Some(view),
                    Err(error) => return failure(&error),
                }
            }
        }
        if self.is_ahead(&info) {
            let why = "the server was restored to an earlier state, of which this version is not a part";
            let expired = ApiError::new(Reason::Expired, format!("too old resource version: {why}"));
            return failure(&expired);
        }
        let server = stale.unwrap_or_else(|| running.server.clone());
        let user = match info.user.is_empty() {
            true => "admin".to_string(),
            false => info.user.clone(),
        };
        let verb = if info.is_apply { "apply".to_string() } else { info.verb.clone() };
        let actor = Arc::new(Actor { verb, manager: info.manager.clone(), user });
        let answer = ACTOR.scope(actor, server.respond(request.map(RequestBody::from))).await;
        let is_json = answer
            .headers
            .get(CONTENT_TYPE)
            .is_some_and(|value| value.as_bytes().starts_with(b"application/json"));
        let mut body = TestBody::whole(answer.body, answer.memory);
        if is_watch && answer.code.is_success() {
            let expired = too_old(info.resource_version, running.store.known().get());
            let event = Value::object([("type", Value::from("ERROR")), ("object", expired.status())]);
            body = body.watched(info, self.faults.clone(), format!("{event}\n").into(), is_json);
        } else if !self.faults.is_empty()
            && self.faults.take(&info, |effect| *effect == Effect::CutResponse).is_some()
        {
            body = body.cut();
        }
        let mut response = Response::new(body);
        (*response.status_mut(), *response.headers_mut()) = (answer.code, answer.headers);
        response
    }

    /// Returns the error of a request that a fault fails.
    fn refusal(&self, info: &RequestInfo) -> Option<ApiError> {
        let is_refusal = |effect: &Effect| match effect {
            Effect::Conflict | Effect::TooManyRequests { .. } | Effect::InternalError => true,
            Effect::TooOld => info.verb != "watch",
            _ => false,
        };
        Some(match self.faults.take(info, is_refusal)?.effect {
            Effect::Conflict => ApiError::conflict(&info.group, &info.resource, &info.name, MODIFIED),
            Effect::TooManyRequests { retry_after } => {
                let why = "the server has received too many requests and has asked us to try again later";
                let mut error = ApiError::new(Reason::TooManyRequests, why);
                error.retry_after = Some(retry_after);
                error
            }
            Effect::TooOld => too_old(info.resource_version, self.running().store.known().get()),
            _ => ApiError::internal("Internal error occurred: injected by the test"),
        })
    }
}

/// Returns the error about a version that the history does not have any more.
fn too_old(asked: Option<u64>, current: u64) -> ApiError {
    ApiError::new(Reason::Expired, format!("too old resource version: {} ({current})", asked.unwrap_or(1)))
}

/// Returns the response with the status of an error.
pub(crate) fn failure(error: &ApiError) -> Response<TestBody> {
    let answer = tenure_http::Response::failure(error, PLAIN);
    let mut response = Response::new(TestBody::whole(answer.body, None));
    (*response.status_mut(), *response.headers_mut()) = (answer.code, answer.headers);
    response
}

/// Requests JSON instead of protobuf, whose events cannot be changed.
fn prefer_json(headers: &mut HeaderMap) {
    let is_protobuf = |accept: &HeaderValue| accept.to_str().is_ok_and(|accept| accept.contains("protobuf"));
    if headers.get(ACCEPT).is_some_and(is_protobuf) {
        headers.insert(ACCEPT, HeaderValue::from_static("application/json"));
    }
}
