//! A request to an extension API server and its response. Both bodies pass as they come, and only as fast as they are read; a request
//! that is not a watch has the deadline of every request, so that a server that never ends cannot keep one.

use crate::{
    Aggregator, ApiService,
    headers::{Origin, asks_for_upgrade, forwarded, has_passed, returned},
    resolver::resolve,
    transport::ProxyBody,
};
use bytes::Bytes;
use futures::future::BoxFuture;
use http_body_util::BodyExt;
use hyper::{
    Request, StatusCode,
    body::Incoming,
    header::{self, HeaderName, HeaderValue},
    http::request::Parts,
};
use hyper_util::rt::TokioIo;
use std::{net::IpAddr, sync::Arc, time::Duration};
use tenure_http::{BodyStream, OnUpgrade, PLAIN, Response, ResponseBody};
use tenure_meta::{ApiError, Reason, UserInfo};
use tokio::{
    sync::OwnedSemaphorePermit,
    time::{Instant, timeout_at},
};

/// How long a discovery document may take.
const DISCOVERY_TIME: Duration = Duration::from_secs(5);
/// How long an extension server may take to begin a response that lasts.
const HEAD_TIME: Duration = Duration::from_secs(60);

/// A request to an extension API server.
pub struct ProxyRequest {
    /// The head as the client sent it.
    pub head: Parts,
    /// The body.
    pub body: ProxyBody,
    /// The user that the request runs as.
    pub user: Arc<UserInfo>,
    /// The address of the client.
    pub client: Option<IpAddr>,
    /// When the response must be complete; `None` if it may last.
    pub deadline: Option<Instant>,
    /// Completes when a response that lasts must end.
    pub end: Option<BoxFuture<'static, ()>>,
    /// Kept until the response is complete.
    pub guard: Box<dyn Send>,
}

impl Aggregator {
    /// Passes a request on to the extension server of an APIService.
    pub async fn proxy(&self, service: &ApiService, mut request: ProxyRequest) -> Response {
        let Some(reference) = service.proxied().filter(|_| service.is_available) else {
            return refusal(StatusCode::SERVICE_UNAVAILABLE, "service unavailable");
        };
        if has_passed(&request.head.headers, &self.via) {
            return refusal(
                StatusCode::LOOP_DETECTED,
                "the extension API server of this request is this API server: correct the service of the APIService",
            );
        }
        let path = request.head.uri.path_and_query().map_or("/", |path| path.as_str()).to_string();
        if has_dots(request.head.uri.path()) {
            return refusal(StatusCode::NOT_FOUND, "404 page not found");
        }
        let endpoint = match resolve(&*self.store, self.routing, reference, &path).await {
            Ok(endpoint) => endpoint,
            Err(why) => {
                tracing::warn!(apiservice = %service.name, why, "cannot resolve the service of an APIService");
                return refusal(StatusCode::SERVICE_UNAVAILABLE, "service unavailable");
            }
        };
        let is_discovery =
            path.trim_matches('/').split('/').count() == 3 && request.head.method == hyper::Method::GET;
        let now = Instant::now();
        let head_deadline = if is_discovery { now + DISCOVERY_TIME } else { now + HEAD_TIME };
        let head_deadline = request.deadline.map_or(head_deadline, |deadline| deadline.min(head_deadline));
        let upgrade = self.upgrade(&mut request.head);
        let upgrade = match upgrade {
            Ok(upgrade) => upgrade,
            Err(refused) => return *refused,
        };
        let host = request.head.headers.get(header::HOST).and_then(|host| host.to_str().ok());
        let host = host.or_else(|| request.head.uri.authority().map(|authority| authority.as_str()));
        let origin = Origin { client: request.client, host, uri: &path, via: &self.via };
        let mut outgoing = Request::new(request.body);
        *outgoing.method_mut() = request.head.method.clone();
        *outgoing.headers_mut() = forwarded(&request.head.headers, &request.user, &origin);
        *outgoing.uri_mut() = endpoint.url.clone();
        let sent = timeout_at(head_deadline, self.transport.send(service, &endpoint, outgoing)).await;
        let response = match sent {
            Ok(Ok(response)) => response,
            Ok(Err(why)) => {
                let why = format!("error trying to reach service: {why}");
                return refusal(StatusCode::SERVICE_UNAVAILABLE, &why);
            }
            Err(_) if request.deadline.is_some_and(|deadline| deadline <= Instant::now()) => {
                return too_late();
            }
            Err(_) => {
                let why = "error trying to reach service: context deadline exceeded";
                return refusal(StatusCode::SERVICE_UNAVAILABLE, why);
            }
        };
        if response.status().is_redirection() && response.headers().contains_key(header::LOCATION) {
            let why = "the backend attempted to redirect this request, which is not permitted";
            return refusal(StatusCode::BAD_GATEWAY, why);
        }
        if response.status() == StatusCode::SWITCHING_PROTOCOLS {
            return match upgrade {
                Some(upgrade) => self.tunnel(upgrade, response, request.end),
                None => refusal(
                    StatusCode::BAD_GATEWAY,
                    "the backend changed the protocol without being asked to",
                ),
            };
        }
        let (head, body) = response.into_parts();
        let mut response = Response::new(head.status, "application/json", Bytes::new());
        response.headers = returned(&head.headers);
        let stream = stream(body, request.deadline, request.guard);
        response.body = ResponseBody::Stream(match request.end {
            Some(end) => stream.until(end),
            None => stream,
        });
        response
    }

    /// Takes the connection of a request that asks for another protocol.
    fn upgrade(&self, head: &mut Parts) -> Result<Option<(OnUpgrade, OwnedSemaphorePermit)>, Box<Response>> {
        if !asks_for_upgrade(&head.headers) {
            return Ok(None);
        }
        let Ok(place) = self.tunnels.clone().try_acquire_owned() else {
            let why = "too many upgraded connections, try again later";
            return Err(Box::new(refusal(StatusCode::SERVICE_UNAVAILABLE, why)));
        };
        match head.extensions.remove::<OnUpgrade>() {
            Some(upgrade) => Ok(Some((upgrade, place))),
            None => {
                let why = "this connection cannot be upgraded: use HTTP/1.1";
                Err(Box::new(refusal(StatusCode::BAD_REQUEST, why)))
            }
        }
    }

    /// Connects the client with the extension server after both have changed the protocol.
    fn tunnel(
        &self,
        (client, place): (OnUpgrade, OwnedSemaphorePermit),
        response: hyper::Response<Incoming>,
        end: Option<BoxFuture<'static, ()>>,
    ) -> Response {
        let mut answer = Response::new(StatusCode::SWITCHING_PROTOCOLS, "", Bytes::new());
        answer.headers = returned(response.headers());
        answer.headers.insert(header::CONNECTION, HeaderValue::from_static("Upgrade"));
        answer
            .headers
            .extend(response.headers().get(header::UPGRADE).cloned().map(|value| (header::UPGRADE, value)));
        let mut stopping = self.stop.subscribe();
        tokio::spawn(async move {
            let _place = place;
            let copy = async {
                let (client, server) = (client.await, hyper::upgrade::on(response).await);
                if let (Ok(mut client), Ok(server)) = (client, server) {
                    let mut server = TokioIo::new(server);
                    // Either side may break off.
                    let _ = tokio::io::copy_bidirectional(&mut client, &mut server).await;
                }
            };
            let end = end.unwrap_or_else(|| Box::pin(std::future::pending()));
            tokio::select! {
                () = copy => {}
                () = end => {}
                _ = stopping.changed() => {}
            }
        });
        answer
    }
}

/// Returns the body of a response while it arrives. One that breaks off, or is not complete in time, breaks the response.
fn stream(mut body: Incoming, deadline: Option<Instant>, guard: Box<dyn Send>) -> BodyStream {
    BodyStream::new(|sender| async move {
        let _guard = guard;
        loop {
            let frame = match deadline {
                Some(deadline) => match timeout_at(deadline, body.frame()).await {
                    Ok(frame) => frame,
                    Err(_) => return sender.fail(),
                },
                None => body.frame().await,
            };
            match frame {
                None => return,
                Some(Err(_)) => return sender.fail(),
                Some(Ok(frame)) => {
                    // Trailers are of no interest.
                    if let Ok(chunk) = frame.into_data() {
                        sender.send(chunk).await;
                    }
                }
            }
        }
    })
}

/// Whether a path has segments that lead out of it.
fn has_dots(path: &str) -> bool {
    path.split('/').any(|segment| {
        let plain = segment.to_ascii_lowercase().replace("%2e", ".");
        plain == "." || plain == ".."
    })
}

/// Returns the response to a request that was not answered in time.
fn too_late() -> Response {
    let why = "the server was unable to return a response in the time allotted, but may still be processing the request";
    Response::failure(&ApiError::new(Reason::Timeout, why), PLAIN)
}

/// Returns the plain text by which the aggregator itself answers.
fn refusal(code: StatusCode, why: &str) -> Response {
    const CONTENT_TYPE_OPTIONS: HeaderName = header::X_CONTENT_TYPE_OPTIONS;
    Response::text(code, format!("{why}\n"))
        .with_header(CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_with_dots_are_recognized() {
        for (path, expected) in [
            ("/apis/g/v1/../../api", true),
            ("/apis/g/v1/%2e%2E/x", true),
            ("/apis/g/v1/./x", true),
            ("/apis/g.example.com/v1/things/a..b/...", false),
        ] {
            assert_eq!(has_dots(path), expected, "{path}");
        }
    }
}
