//! Shutdown of connections. One that is unused or between requests closes at once; running requests may finish.
//!
//! A watch channel signals the connections to close, and the listener when the last one has closed: each holds a
//! receiver. Hyper alone would wait for the first request of a connection that never sends one.

use super::connections::Entry;
use hyper::{
    body::{Body, Incoming},
    rt::{Read, Write, bounds::Http2ServerConnExec},
    server::conn::{http1, http2},
    service::HttpService,
};
use std::{
    error::Error,
    future::Future,
    pin::{Pin, pin},
    sync::Arc,
    time::Duration,
};
use tokio::{sync::watch, time::timeout};

/// How long a connection between requests may take to send what is left of its last response and to say goodbye.
const GOODBYE_TIME: Duration = Duration::from_millis(100);

/// A connection that can end after its running requests. Hyper has no such trait for connections that can be upgraded.
pub(super) trait HttpConnection: Future<Output = hyper::Result<()>> {
    /// Ends the connection after its running requests.
    fn finish(self: Pin<&mut Self>);
}

impl<I, B, S> HttpConnection for http1::UpgradeableConnection<I, S>
where
    S: HttpService<Incoming, ResBody = B>,
    S::Error: Into<Box<dyn Error + Send + Sync>>,
    I: Read + Write + Unpin + Send + 'static,
    B: Body + 'static,
    B::Error: Into<Box<dyn Error + Send + Sync>>,
{
    fn finish(self: Pin<&mut Self>) {
        self.graceful_shutdown();
    }
}

impl<I, B, S, E> HttpConnection for http2::Connection<I, S, E>
where
    S: HttpService<Incoming, ResBody = B>,
    S::Error: Into<Box<dyn Error + Send + Sync>>,
    I: Read + Write + Unpin + 'static,
    B: Body + 'static,
    B::Error: Into<Box<dyn Error + Send + Sync>>,
    E: Http2ServerConnExec<S::Future, B>,
{
    fn finish(self: Pin<&mut Self>) {
        self.graceful_shutdown();
    }
}

/// Tells the connections of a listener to close.
#[derive(Default)]
pub(super) struct Connections {
    stop: watch::Sender<bool>,
}

impl Connections {
    /// Returns what a new connection needs to close in time.
    pub fn subscribe(&self, entry: Entry) -> Shutdown {
        Shutdown { stop: self.stop.subscribe(), entry: Arc::new(entry) }
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
    pub entry: Arc<Entry>,
}

impl Shutdown {
    /// Waits until the connection should close: the server stops, or the connection was idle or stalled for too long.
    pub async fn requested(&mut self) {
        tokio::select! {
            // An error means that the listener is gone.
            _ = self.stop.wait_for(|stop| *stop) => {}
            () = self.entry.connection.closed() => {}
        }
    }

    /// Serves a connection until it ends or should close.
    pub async fn drive<C: HttpConnection>(mut self, connection: C) -> hyper::Result<()> {
        let mut connection = pin!(connection);
        tokio::select! {
            ended = &mut connection => return ended,
            () = self.requested() => {}
        }
        let state = &self.entry.connection;
        if !state.is_used() {
            return Ok(());
        }
        connection.as_mut().finish();
        if state.is_idle() {
            return timeout(GOODBYE_TIME, connection).await.unwrap_or(Ok(()));
        }
        tokio::select! {
            ended = connection => ended,
            // The client does not read: there is nothing to wait for.
            () = state.closed() => Ok(()),
        }
    }
}
