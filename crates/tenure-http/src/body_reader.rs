//! Reading the body of a request within limits of size, time and memory, and dropping the body of one that is refused.

use crate::memory::{MemoryBudget, Reservation};
use bytes::{Bytes, BytesMut};
use std::{pin::Pin, time::Duration};
use tokio::{sync::Semaphore, time::timeout};

/// How much of a refused body is read and dropped, and for how long: a client that is still sending would see a broken connection
/// instead of the response, and the connection could not carry the next request.
const DISCARDED_BYTES: usize = 8 * 1024 * 1024;
const DISCARD_TIME: Duration = Duration::from_secs(2);
/// How many refused bodies are read at a time: their requests need no credentials, and occupy memory meanwhile.
static DISCARDED_AT_ONCE: Semaphore = Semaphore::const_new(1000);
/// The memory of a request whose body has not arrived, besides the body.
const WAITING_BYTES: usize = 16 * 1024;
/// How long a body may pause.
const BODY_PAUSE: Duration = Duration::from_secs(10);

/// Why a body could not be read.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum BodyFault {
    /// The body exceeds the limit.
    TooLarge,
    /// The memory for bodies in flight is used up.
    NoMemory,
    /// The body did not arrive completely in time.
    Broken(String),
}

/// Reads a body within limits of size, time and memory. Memory is reserved as the body arrives: what a client only announces
/// takes none.
pub(crate) async fn read_body_within<B>(
    body: B,
    limit: usize,
    time_limit: Duration,
    budget: &MemoryBudget,
) -> Result<(Bytes, Option<Reservation>), BodyFault>
where
    B: hyper::body::Body<Error: Into<Box<dyn std::error::Error + Send + Sync>>>,
{
    let mut body = std::pin::pin!(body);
    if body.size_hint().lower() > limit as u64 {
        discard_body(body).await;
        return Err(BodyFault::TooLarge);
    }
    match timeout(time_limit, read_pieces(body.as_mut(), limit, budget)).await {
        Err(_) => {
            Err(BodyFault::Broken(format!("the body did not arrive within {} s", time_limit.as_secs())))
        }
        Ok(Err(fault @ (BodyFault::TooLarge | BodyFault::NoMemory))) => {
            discard_body(body).await;
            Err(fault)
        }
        Ok(read) => read,
    }
}

/// Reads what is left of the body of a refused request and drops it, within limits of size and time.
pub(crate) async fn discard_body<B: hyper::body::Body + Unpin>(mut body: B) {
    use http_body_util::BodyExt;
    use hyper::body::Buf;
    let Ok(_turn) = DISCARDED_AT_ONCE.try_acquire() else { return };
    let discard = async {
        let mut bytes = 0;
        while let Some(Ok(frame)) = body.frame().await
            && bytes < DISCARDED_BYTES
        {
            bytes += frame.data_ref().map_or(0, Buf::remaining);
        }
    };
    let _ = timeout(DISCARD_TIME, discard).await;
}

async fn read_pieces<B>(
    mut body: Pin<&mut B>,
    limit: usize,
    budget: &MemoryBudget,
) -> Result<(Bytes, Option<Reservation>), BodyFault>
where
    B: hyper::body::Body<Error: Into<Box<dyn std::error::Error + Send + Sync>>>,
{
    use http_body_util::BodyExt;
    use hyper::body::Buf;
    let (mut first, mut rest) = (Bytes::new(), BytesMut::new());
    let (mut waiting, mut memory) = (budget.small_reservation(), None);
    if !body.is_end_stream() && !waiting.grow(WAITING_BYTES) {
        return Err(BodyFault::NoMemory);
    }
    loop {
        let frame = match timeout(BODY_PAUSE, body.frame()).await {
            Err(_) => {
                let seconds = BODY_PAUSE.as_secs();
                return Err(BodyFault::Broken(format!("nothing of the body arrived for {seconds} s")));
            }
            Ok(None) => break,
            Ok(Some(Err(error))) => {
                let error = error.into();
                return Err(BodyFault::Broken(format!("the body did not arrive completely: {error}")));
            }
            Ok(Some(Ok(frame))) => frame,
        };
        // Trailers are of no interest.
        let Ok(mut data) = frame.into_data() else { continue };
        let (so_far, more) = (first.len() + rest.len(), data.remaining());
        if so_far + more > limit {
            return Err(BodyFault::TooLarge);
        }
        if so_far + more > MemoryBudget::SMALL {
            let memory = memory.get_or_insert_with(|| budget.reservation());
            if !memory.grow((so_far + more).saturating_sub(memory.bytes())) {
                return Err(BodyFault::NoMemory);
            }
        } else if !body.is_end_stream() && !waiting.grow(more) {
            return Err(BodyFault::NoMemory);
        }
        // Most bodies come in one piece, which is taken as it is.
        if so_far == 0 {
            first = data.copy_to_bytes(more);
        } else {
            if rest.is_empty() {
                rest.extend_from_slice(&std::mem::take(&mut first));
            }
            rest.extend_from_slice(&data.copy_to_bytes(more));
        }
    }
    Ok((if rest.is_empty() { first } else { rest.freeze() }, memory))
}
