//! A body that is made while it is sent: a future that hands over pieces, run only when the client is ready for the
//! next. Nothing is queued between the two, so that a client that does not read costs what it costs to wait.

use bytes::Bytes;
use std::{
    fmt,
    future::{Future, poll_fn},
    pin::Pin,
    sync::{Arc, Mutex, PoisonError},
    task::{Context, Poll},
};

/// Bytes to come.
pub struct BodyStream {
    /// None when there is nothing more to come.
    work: Option<Pin<Box<dyn Future<Output = ()> + Send>>>,
    sender: BodySender,
}

/// Where the pieces of a [`BodyStream`] are handed over.
#[derive(Clone, Default)]
pub struct BodySender(Arc<Mutex<Option<Bytes>>>);

impl BodySender {
    /// Hands a piece over and waits until it has been taken.
    pub async fn send(&self, piece: Bytes) {
        self.put(Some(piece));
        // No waker is kept: whoever takes the piece runs this future again for the next one.
        poll_fn(|_| if self.is_empty() { Poll::Ready(()) } else { Poll::Pending }).await;
    }

    fn put(&self, piece: Option<Bytes>) -> Option<Bytes> {
        std::mem::replace(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner), piece)
    }

    fn is_empty(&self) -> bool {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).is_none()
    }
}

impl BodyStream {
    /// Makes a stream of a future that gets the sender; it ends when the future does.
    pub fn new<F: Future<Output = ()> + Send + 'static>(make: impl FnOnce(BodySender) -> F) -> BodyStream {
        let sender = BodySender::default();
        BodyStream { work: Some(Box::pin(make(sender.clone()))), sender }
    }

    /// Runs the future until it has handed over a piece, waits for something, or has ended.
    pub fn poll_next(&mut self, context: &mut Context<'_>) -> Poll<Option<Bytes>> {
        let Some(work) = &mut self.work else { return Poll::Ready(None) };
        if work.as_mut().poll(context).is_ready() {
            self.work = None;
        }
        match self.sender.put(None) {
            Some(piece) => Poll::Ready(Some(piece)),
            None if self.work.is_none() => Poll::Ready(None),
            None => Poll::Pending,
        }
    }
}

impl fmt::Debug for BodyStream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BodyStream").field("over", &self.work.is_none()).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};

    #[test]
    fn the_future_goes_no_further_than_its_reader() {
        let made = Arc::new(AtomicUsize::new(0));
        let counted = made.clone();
        let mut stream = BodyStream::new(|sender| async move {
            for piece in ["a", "b", "c"] {
                counted.fetch_add(1, SeqCst);
                sender.send(Bytes::from_static(piece.as_bytes())).await;
            }
        });
        let mut context = Context::from_waker(std::task::Waker::noop());
        for (piece, so_far) in [("a", 1), ("b", 2), ("c", 3)] {
            assert_eq!(stream.poll_next(&mut context), Poll::Ready(Some(piece.into())));
            assert_eq!(made.load(SeqCst), so_far);
        }
        assert_eq!(stream.poll_next(&mut context), Poll::Ready(None));
        assert_eq!(stream.poll_next(&mut context), Poll::Ready(None));
    }
}
