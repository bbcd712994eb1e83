//! Connections that leave HTTP: after a response of 101, the handler of the request has the connection.

use parking_lot::Mutex;
use std::{
    fmt,
    future::Future,
    io,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll, ready},
};
use tokio::{
    io::{AsyncRead, AsyncWrite},
    sync::oneshot,
};

/// The bytes of a connection after its protocol has changed.
pub type Upgraded = Box<dyn Duplex>;

/// A stream of bytes in both directions.
pub trait Duplex: AsyncRead + AsyncWrite + Send + Unpin + 'static {}

impl<S: AsyncRead + AsyncWrite + Send + Unpin + 'static> Duplex for S {}

/// Waits until the response that changes the protocol has been sent; an extension of requests that ask for another protocol over
/// HTTP/1.1. Of several clones, one gets the connection.
#[derive(Clone)]
pub struct OnUpgrade(Arc<Mutex<Option<oneshot::Receiver<Upgraded>>>>);

impl OnUpgrade {
    /// Returns the future, and what completes it.
    pub(super) fn new() -> (oneshot::Sender<Upgraded>, OnUpgrade) {
        let (sender, receiver) = oneshot::channel();
        (sender, OnUpgrade(Arc::new(Mutex::new(Some(receiver)))))
    }
}

impl Future for OnUpgrade {
    type Output = io::Result<Upgraded>;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let mut waiting = self.0.lock();
        let received = match &mut *waiting {
            Some(receiver) => ready!(Pin::new(receiver).poll(context)).ok(),
            None => None,
        };
        *waiting = None;
        let lost = || io::Error::other("the connection ended before its protocol changed");
        Poll::Ready(received.ok_or_else(lost))
    }
}

impl fmt::Debug for OnUpgrade {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OnUpgrade").finish_non_exhaustive()
    }
}
