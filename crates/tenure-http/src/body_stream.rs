//! A response body that is produced while it is sent. A future sends chunks and is polled only when the connection is
//! ready for the next one. Nothing is queued, so a client that does not read costs no more than a waiting future.

use bytes::Bytes;
use parking_lot::Mutex;
use std::{
    fmt,
    future::{Future, poll_fn},
    pin::Pin,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering::Relaxed},
    },
    task::{Context, Poll},
};

/// A body produced by a future.
pub struct BodyStream {
    /// `None` when the body is complete.
    work: Option<Pin<Box<dyn Future<Output = ()> + Send>>>,
    sender: BodySender,
    /// Each of them ends the body when it completes.
    ends: Vec<Pin<Box<dyn Future<Output = ()> + Send>>>,
    /// Dropped when the body is complete or the client has disconnected.
    guard: Option<Box<dyn Send>>,
}

/// Sends the chunks of a [`BodyStream`].
#[derive(Clone, Default)]
pub struct BodySender(Arc<Sent>);

#[derive(Default)]
struct Sent {
    chunk: Mutex<Option<Bytes>>,
    is_broken: AtomicBool,
}

impl BodySender {
    /// Sends a chunk and waits until the connection has accepted it.
    pub async fn send(&self, chunk: Bytes) {
        self.put(Some(chunk));
        // No waker is needed: the connection polls this future again when it has accepted the chunk.
        poll_fn(|_| if self.is_empty() { Poll::Ready(()) } else { Poll::Pending }).await;
    }

    /// Declares that the body is incomplete: the client sees a broken response, not the end of it.
    pub fn fail(&self) {
        self.0.is_broken.store(true, Relaxed);
    }

    fn put(&self, chunk: Option<Bytes>) -> Option<Bytes> {
        std::mem::replace(&mut self.0.chunk.lock(), chunk)
    }

    fn is_empty(&self) -> bool {
        self.0.chunk.lock().is_none()
    }
}

impl BodyStream {
    /// Creates a body from a future that receives the sender; the body ends when the future does.
    pub fn new<F: Future<Output = ()> + Send + 'static>(make: impl FnOnce(BodySender) -> F) -> BodyStream {
        let sender = BodySender::default();
        BodyStream { work: Some(Box::pin(make(sender.clone()))), sender, ends: Vec::new(), guard: None }
    }

    /// Ends the body when a future completes, even if more is to be sent. A body can have several ends; the first one counts.
    pub fn until(mut self, end: impl Future<Output = ()> + Send + 'static) -> BodyStream {
        self.ends.push(Box::pin(end));
        self
    }

    /// Keeps a value until the body is complete or the client has disconnected.
    pub fn with_guard(mut self, guard: impl Send + 'static) -> BodyStream {
        self.guard = Some(Box::new(guard));
        self
    }

    fn finish(&mut self) {
        (self.work, self.guard) = (None, None);
        self.ends.clear();
    }

    /// Whether the body was declared incomplete.
    pub fn is_broken(&self) -> bool {
        self.sender.0.is_broken.load(Relaxed)
    }

    /// Polls the future until it has sent a chunk, is pending, or has ended.
    pub fn poll_next(&mut self, context: &mut Context<'_>) -> Poll<Option<Bytes>> {
        let Some(work) = &mut self.work else { return Poll::Ready(None) };
        if self.ends.iter_mut().any(|end| end.as_mut().poll(context).is_ready()) {
            self.finish();
            return Poll::Ready(None);
        }
        if work.as_mut().poll(context).is_ready() {
            self.finish();
        }
        match self.sender.put(None) {
            Some(chunk) => Poll::Ready(Some(chunk)),
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
    fn the_future_is_polled_only_for_the_next_chunk() {
        let made = Arc::new(AtomicUsize::new(0));
        let counted = made.clone();
        let mut stream = BodyStream::new(|sender| async move {
            for chunk in ["a", "b", "c"] {
                counted.fetch_add(1, SeqCst);
                sender.send(Bytes::from_static(chunk.as_bytes())).await;
            }
        });
        let mut context = Context::from_waker(std::task::Waker::noop());
        for (chunk, so_far) in [("a", 1), ("b", 2), ("c", 3)] {
            assert_eq!(stream.poll_next(&mut context), Poll::Ready(Some(chunk.into())));
            assert_eq!(made.load(SeqCst), so_far);
        }
        assert_eq!(stream.poll_next(&mut context), Poll::Ready(None));
        assert_eq!(stream.poll_next(&mut context), Poll::Ready(None));
    }

    #[test]
    fn the_first_of_several_ends_counts() {
        for first in [true, false] {
            let (end, ended) = tokio::sync::oneshot::channel::<()>();
            let (kept, never) = tokio::sync::oneshot::channel::<()>();
            let (one, other) = if first { (ended, never) } else { (never, ended) };
            let mut stream = BodyStream::new(|_| std::future::pending())
                .until(async move { drop(one.await) })
                .until(async move { drop(other.await) });
            let mut context = Context::from_waker(std::task::Waker::noop());
            assert_eq!(stream.poll_next(&mut context), Poll::Pending);
            end.send(()).unwrap();
            assert_eq!(stream.poll_next(&mut context), Poll::Ready(None), "the first: {first}");
            drop(kept);
        }
    }

    #[test]
    fn a_body_that_ends_early_drops_its_guard() {
        let (end, ended) = tokio::sync::oneshot::channel::<()>();
        let guard = Arc::new(());
        let mut stream = BodyStream::new(|sender| async move {
            sender.send(Bytes::from_static(b"a")).await;
            std::future::pending().await
        });
        stream = stream.until(async move { drop(ended.await) }).with_guard(guard.clone());
        let mut context = Context::from_waker(std::task::Waker::noop());
        assert_eq!(stream.poll_next(&mut context), Poll::Ready(Some("a".into())));
        assert_eq!(stream.poll_next(&mut context), Poll::Pending);
        assert_eq!(Arc::strong_count(&guard), 2);
        end.send(()).unwrap();
        assert_eq!(stream.poll_next(&mut context), Poll::Ready(None));
        assert_eq!(Arc::strong_count(&guard), 1);
    }
}
