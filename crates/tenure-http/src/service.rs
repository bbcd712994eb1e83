//! The requests of a connection: each is passed to the handler with what is known of the client, and counted until its response is
//! sent. A stream over HTTP/1.1 does not go through hyper: it takes the connection over (`http1`), unless the crate is built with
//! `library-connections`.

use super::{
    Response, ResponseBody,
    connections::{ActiveRequest, Purpose},
    handover::{Handover, Takeover},
    sent_body::{SentBody, hyper_response},
    shutdown::Shutdown,
    upgrade::OnUpgrade,
    websocket::Upgrade,
};
use hyper::{
    HeaderMap, Method, Request, StatusCode, Version,
    body::{Body, Incoming},
    header,
};
use std::{
    convert::Infallible,
    future::Future,
    net::SocketAddr,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
};
use tenure_transport::serving::{ClientCertificate, FrontProxy};

/// The paths that tell whether the server is healthy.
const HEALTH_PATHS: [&str; 3] = ["/livez", "/readyz", "/healthz"];

/// The address that a request came from; an extension of the request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ClientAddress(pub SocketAddr);

/// A handler whose type is erased, so that the code of connections is compiled once, in this crate, and not for every handler.
pub(super) type Respond =
    Arc<dyn Fn(Request<Incoming>) -> Pin<Box<dyn Future<Output = Response> + Send>> + Send + Sync>;

/// Who the client of a connection is, by its certificate.
#[derive(Default)]
pub(super) struct Identities {
    pub certificate: Option<ClientCertificate>,
    pub front_proxy: Option<FrontProxy>,
}

/// Serves the requests of one connection.
pub(super) struct Service {
    pub respond: Respond,
    pub shutdown: Shutdown,
    pub purpose: Purpose,
    pub client: SocketAddr,
    pub identities: Identities,
    /// How a response takes the connection over; `None` where requests share it, as in HTTP/2.
    pub handover: Option<Arc<Handover>>,
}

impl hyper::service::Service<Request<Incoming>> for Service {
    type Response = hyper::Response<SentBody>;
    type Error = Infallible;
    type Future = Responding;

    fn call(&self, mut request: Request<Incoming>) -> Responding {
        if let Some(handover) = &self.handover {
            handover.note_body(request.body().size_hint().exact().unwrap_or(u64::MAX));
        }
        let Identities { certificate, front_proxy } = &self.identities;
        request.extensions_mut().insert(ClientAddress(self.client));
        if let Some(certificate) = certificate {
            request.extensions_mut().insert(certificate.clone());
        }
        if let Some(front_proxy) = front_proxy {
            request.extensions_mut().insert(*front_proxy);
        }
        if request.extensions_mut().remove::<hyper::upgrade::OnUpgrade>().is_some()
            && let Some(handover) = &self.handover
        {
            let (sender, upgrade) = OnUpgrade::new();
            handover.await_upgrade(sender);
            request.extensions_mut().insert(upgrade);
        }
        let is_head = request.method() == Method::HEAD;
        let handover = self.handover.clone().filter(|_| {
            !cfg!(feature = "library-connections")
                && self.purpose == Purpose::Any
                && request.method() == Method::GET
                && request.version() == Version::HTTP_11
                && is_alone(request.headers())
        });
        let upgrade = Upgrade::of(&mut request);
        let is_answered = self.purpose == Purpose::Any || HEALTH_PATHS.contains(&request.uri().path());
        let response = is_answered.then(|| (self.respond)(request));
        let running = Some(self.shutdown.entry.connection.start_request());
        Responding { response, upgrade, is_head, running, handover, shutdown: self.shutdown.clone() }
    }
}

/// Whether a request is no more than its head, and the connection stays open after it.
fn is_alone(headers: &HeaderMap) -> bool {
    let stays = |value: &header::HeaderValue| value.as_bytes().eq_ignore_ascii_case(b"keep-alive");
    headers.get_all(header::CONNECTION).iter().all(stays)
        && headers.get_all(header::CONTENT_LENGTH).iter().all(|length| length.as_bytes() == b"0")
        && ![header::TRANSFER_ENCODING, header::EXPECT, header::UPGRADE]
            .into_iter()
            .any(|name| headers.contains_key(name))
}

/// A request that is being answered.
pub(super) struct Responding {
    /// `None` if the connection is not for such requests.
    response: Option<Pin<Box<dyn Future<Output = Response> + Send>>>,
    upgrade: Option<Upgrade>,
    is_head: bool,
    /// `None` when the response is passed on.
    running: Option<ActiveRequest>,
    handover: Option<Arc<Handover>>,
    shutdown: Shutdown,
}

impl Future for Responding {
    type Output = Result<hyper::Response<SentBody>, Infallible>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        // A response that takes the connection over is never returned.
        let Some(running) = self.running.take() else { return Poll::Pending };
        let response = match &mut self.response {
            Some(response) => match response.as_mut().poll(context) {
                Poll::Ready(response) => response,
                Poll::Pending => {
                    self.running = Some(running);
                    return Poll::Pending;
                }
            },
            None => Response::busy("there are too many connections, try again later"),
        };
        // Frees what the request needed: the response may last.
        self.response = None;
        let response = match (self.upgrade.take(), &self.handover, response) {
            (Some(upgrade), _, response) => {
                // The request lasts as long as the WebSocket, its response ends at once.
                let lasting = self.shutdown.entry.connection.start_request();
                upgrade.respond(response, lasting, self.shutdown.clone())
            }
            (None, _, response) if self.is_head => response.without_body(),
            (
                None,
                Some(handover),
                Response { code: StatusCode::OK, headers, body: ResponseBody::Stream(stream), .. },
            ) => {
                handover.take_over(Takeover { headers, stream, request: running });
                return Poll::Pending;
            }
            (None, _, response) => response,
        };
        Poll::Ready(Ok(hyper_response(response, running)))
    }
}
