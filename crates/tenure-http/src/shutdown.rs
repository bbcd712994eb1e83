//! Shutdown of connections. One that is unused or between requests closes at once; running requests may finish.
//!
//! A watch channel tells the connections to close, and tells the listener when the last of them has: each holds a
//! receiver. Hyper alone would wait for the first request of a connection that never sends one.

use super::ResponseBody;
use bytes::Bytes;
use hyper::body::{Body, Frame, SizeHint};
use hyper_util::server::graceful::GracefulConnection;
use std::{
    convert::Infallible,
    pin::{Pin, pin},
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    task::{Context, Poll},
    time::Duration,
};
use tokio::{sync::watch, time::timeout};

/// How long a connection between requests may take to send what is left of its last response and to say goodbye.
const GOODBYE_TIME: Duration = Duration::from_millis(100);

/// The connections of a listener.
#[derive(Default)]
pub(super) struct Connections {
    stop: watch::Sender<bool>,
}

impl Connections {
    /// Returns what a new connection needs to close in time.
    pub fn subscribe(&self) -> Shutdown {
        Shutdown { stop: self.stop.subscribe(), requests: Requests::default() }
    }

    /// Asks all connections to close, and waits until they have.
    pub async fn close(&self) {
        self.stop.send_replace(true);
        self.stop.closed().await;
    }
}

/// The side of a connection.
#[derive(Clone)]
pub(super) struct Shutdown {
    stop: watch::Receiver<bool>,
    requests: Requests,
}

impl Shutdown {
    /// Waits until the connection should close.
    pub async fn requested(&mut self) {
        // An error means that the listener is gone.
        let _ = self.stop.wait_for(|stop| *stop).await;
    }

    /// Returns the counter of the requests of this connection.
    pub fn requests(&self) -> Requests {
        self.requests.clone()
    }

    /// Serves a connection until it ends or should close.
    pub async fn drive<C: GracefulConnection>(mut self, connection: C) -> Result<(), C::Error> {
        let mut connection = pin!(connection);
        tokio::select! {
            ended = &mut connection => return ended,
            () = self.requested() => {}
        }
        if !self.requests.any_started() {
            return Ok(());
        }
        connection.as_mut().graceful_shutdown();
        if self.requests.running() == 0 {
            return timeout(GOODBYE_TIME, connection).await.unwrap_or(Ok(()));
        }
        connection.await
    }
}

/// Counts the requests of a connection.
#[derive(Clone, Default)]
pub(super) struct Requests(Arc<Counts>);

#[derive(Default)]
struct Counts {
    started: AtomicUsize,
    ended: AtomicUsize,
}

impl Requests {
    /// Counts a request that begins.
    pub fn start(&self) -> RunningRequest {
        self.0.started.fetch_add(1, Ordering::Relaxed);
        RunningRequest(self.0.clone())
    }

    fn any_started(&self) -> bool {
        self.0.started.load(Ordering::Relaxed) > 0
    }

    fn running(&self) -> usize {
        let ended = self.0.ended.load(Ordering::Relaxed);
        self.0.started.load(Ordering::Relaxed).saturating_sub(ended)
    }
}

/// A request that has not ended.
pub(super) struct RunningRequest(Arc<Counts>);

impl RunningRequest {
    /// Returns a body with which the request ends.
    pub fn track(self, body: ResponseBody) -> TrackedBody {
        TrackedBody { body, _request: self }
    }
}

impl Drop for RunningRequest {
    fn drop(&mut self) {
        self.0.ended.fetch_add(1, Ordering::Relaxed);
    }
}

/// The body of a response whose request is counted.
pub(super) struct TrackedBody {
    body: ResponseBody,
    _request: RunningRequest,
}

impl Body for TrackedBody {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        Pin::new(&mut self.body).poll_frame(context)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}
