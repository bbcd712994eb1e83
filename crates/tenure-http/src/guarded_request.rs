//! A request as the listener hands it on: its host, its origin and its path were checked, and its body can be read only within limits
//! of size, time and memory. A handler gets nothing else, so that no endpoint can leave these steps out.

use super::{
    MemoryBudget, RequestBody, Reservation,
    body_reader::{BodyFault, discard_body, read_body_within},
    request_guard::{self, HostGuard},
};
use bytes::Bytes;
use hyper::http::request::Parts;
use std::time::Duration;
use tenure_meta::{ApiError, Reason};

/// How long a body may take to arrive.
const BODY_TIME: Duration = Duration::from_secs(30);

/// A request whose head was checked.
#[derive(Debug)]
pub struct GuardedRequest {
    /// Boxed, since it is passed on from step to step.
    head: Box<Parts>,
    body: BoundedBody,
}

/// The body of a request, which may not have arrived yet. It can be read within limits, dropped, or passed on as it arrives.
#[derive(Debug)]
pub struct BoundedBody(RequestBody);

impl GuardedRequest {
    /// Checks the head of a request. The body of one that is refused is read and dropped, so that its client sees the response.
    pub async fn check(
        guard: HostGuard,
        request: hyper::Request<RequestBody>,
    ) -> Result<GuardedRequest, ApiError> {
        let (head, body) = request.into_parts();
        match request_guard::check(guard, &head) {
            Ok(()) => Ok(GuardedRequest { head: Box::new(head), body: BoundedBody(body) }),
            Err(refusal) => {
                Box::pin(discard_body(body)).await;
                Err(refusal)
            }
        }
    }

    /// Returns the head.
    pub fn head(&self) -> &Parts {
        &self.head
    }

    /// Returns the head and the body.
    pub fn into_parts(self) -> (Box<Parts>, BoundedBody) {
        (self.head, self.body)
    }
}

impl BoundedBody {
    /// Reads the body, of at most so many bytes. What is large is reserved in a budget as it arrives.
    pub async fn read(
        self,
        limit: usize,
        budget: &MemoryBudget,
    ) -> Result<(Bytes, Option<Reservation>), ApiError> {
        let read = read_body_within(self.0, limit, BODY_TIME, budget).await;
        read.map_err(|fault| match fault {
            BodyFault::TooLarge => ApiError::new(
                Reason::RequestEntityTooLarge,
                format!("Request entity too large: limit is {limit}"),
            ),
            BodyFault::NoMemory => no_memory(),
            BodyFault::Broken(why) => ApiError::bad_request(why),
        })
    }

    /// Reads what arrives of the body of a refused request and drops it, within limits of size and time.
    pub async fn discard(self) {
        discard_body(self.0).await;
    }

    /// Returns the body as it arrives, for what passes it on and keeps none of it.
    pub fn into_stream(self) -> RequestBody {
        self.0
    }
}

/// Returns the error of a request that does not fit into memory together with those in flight.
pub fn no_memory() -> ApiError {
    let mut error = ApiError::new(
        Reason::TooManyRequests,
        "the server has too many large requests in flight, try again later",
    );
    error.retry_after = Some(1);
    error
}
