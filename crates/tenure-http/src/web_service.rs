//! Endpoints beside the API that sign their own users in, such as the page. Their requests pass the same steps as those of the API:
//! the body is read within a budget, what they compute leaves the workers, and the answer is counted until it is sent.

use super::{
    BoundedBody, ClientAddress, GuardedRequest, MemoryBudget, Response, guarded_request::no_memory,
    listener::Handler, offload::Offload,
};
use bytes::Bytes;
use hyper::http::request::Parts;
use std::{future::Future, net::IpAddr, pin::Pin, sync::Arc};
use tenure_meta::{ApiError, UserInfo};

/// The most bytes of a body of a user who is signed in: a manifest of many objects.
const USER_BYTES: usize = 16 << 20;
/// The most bytes of a body of a client that is not signed in: a kubeconfig.
const STRANGER_BYTES: usize = 1 << 20;
/// The most bytes of such bodies together. They have a budget of their own, so that they do not keep users out.
const STRANGERS_BYTES: usize = 32 << 20;
/// How many bytes a body occupies while it is worked on, for each byte of it.
const BYTES_PER_BODY_BYTE: usize = 8;

/// An endpoint beside the API.
pub trait WebEndpoint: Send + Sync + 'static {
    /// Whether a request is for this endpoint.
    fn is_for(&self, head: &Parts) -> bool;

    /// Returns the user who is signed in; `None` for a client that is not.
    fn user(&self, head: &Parts) -> Option<Arc<UserInfo>>;

    /// Whether the response to a request takes less than a millisecond, so that it does not wait behind others that compute.
    fn is_quick(&self, _head: &Parts) -> bool {
        false
    }

    /// Returns the response to a request that is refused before the endpoint sees it.
    fn refuse(&self, refusal: &ApiError) -> Response;

    /// Responds to a request whose body was read.
    fn respond(self: Arc<Self>, request: WebRequest) -> Pin<Box<dyn Future<Output = Response> + Send>>;
}

/// A request to a [`WebEndpoint`].
pub struct WebRequest {
    /// The head.
    pub head: Parts,
    /// The body.
    pub body: Bytes,
    /// The address that the request came from.
    pub client: Option<IpAddr>,
    /// Where a response that lasts computes.
    pub offload: Arc<Offload>,
}

/// A web endpoint with the limits of its requests.
#[derive(Clone)]
pub struct WebService {
    endpoint: Arc<dyn WebEndpoint>,
    memory: MemoryBudget,
    strangers: MemoryBudget,
    offload: Arc<Offload>,
}

impl WebService {
    /// Serves an endpoint within a budget of memory.
    pub fn new(endpoint: Arc<dyn WebEndpoint>, memory: MemoryBudget, offload: Arc<Offload>) -> WebService {
        WebService { endpoint, memory, strangers: MemoryBudget::new(STRANGERS_BYTES), offload }
    }

    /// Whether a request is for the endpoint.
    pub fn is_for(&self, head: &Parts) -> bool {
        self.endpoint.is_for(head)
    }

    /// Returns the user who is signed in.
    pub fn user(&self, head: &Parts) -> Option<Arc<UserInfo>> {
        self.endpoint.user(head)
    }

    /// Reads the body and answers, both within the budget.
    pub async fn respond(&self, head: Parts, body: BoundedBody) -> Response {
        let method = head.method.clone();
        let response = self.carry_out(head, body).await;
        let response = response.unwrap_or_else(|refusal| self.endpoint.refuse(&refusal));
        self.memory.hold(response, &method)
    }

    async fn carry_out(&self, head: Parts, body: BoundedBody) -> Result<Response, ApiError> {
        let (limit, budget) = match self.endpoint.user(&head) {
            Some(_) => (USER_BYTES, &self.memory),
            None => (STRANGER_BYTES, &self.strangers),
        };
        let (body, mut memory) = body.read(limit, budget).await?;
        if let Some(memory) = &mut memory
            && !memory.grow(BYTES_PER_BODY_BYTE * body.len())
        {
            return Err(no_memory());
        }
        let client = head.extensions.get().map(|ClientAddress(address)| address.ip());
        let is_quick = self.endpoint.is_quick(&head);
        let request = WebRequest { head, body, client, offload: self.offload.clone() };
        let responding = self.endpoint.clone().respond(request);
        let response = if is_quick { responding.await } else { self.offload.run(responding).await };
        drop(memory);
        Ok(response)
    }
}

/// Serves the endpoint alone.
impl Handler for WebService {
    async fn handle(self: Arc<Self>, request: GuardedRequest) -> Response {
        let (head, body) = request.into_parts();
        self.respond(*head, body).await
    }
}
