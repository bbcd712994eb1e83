//! Shutdown of connections. One that is unused or between requests closes at once; running requests may finish.
//!
//! A watch channel signals the connections to close, and the listener when the last one has closed: each holds a
//! receiver. Hyper alone would wait for the first request of a connection that never sends one.

use super::connections::Entry;
use hyper::{
    body::{Body, Incoming},
    rt::{Read, Write, bounds::Http2ServerConnExec},
    server::conn::http2,
    service::HttpService,
};
use std::{error::Error, future::Future, pin::Pin, sync::Arc, time::Duration};
use tokio::{sync::watch, time::timeout};

/// How long a connection between requests may take to send what is left of its last response and to say goodbye.
const GOODBYE_TIME: Duration = Duration::from_millis(100);

/// Why a connection failed.
pub(super) type ConnectionError = Box<dyn std::error::Error + Send + Sync>;

/// A connection that can end after its running requests.
pub(super) trait HttpConnection: Future<Output = Result<(), Self::Fault>> {
    /// Why the connection failed.
    type Fault: Into<ConnectionError>;

    /// Ends the connection after its running requests.
    fn finish(self: Pin<&mut Self>);
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
    type Fault = hyper::Error;

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

    /// Serves a connection until it ends or should close. It is boxed: a future keeps its arguments, and this one would contain the
    /// connection twice.
    pub async fn drive<C: HttpConnection>(
        mut self,
        mut connection: Pin<Box<C>>,
    ) -> Result<(), ConnectionError> {
        tokio::select! {
            ended = &mut connection => return ended.map_err(Into::into),
            () = self.requested() => {}
        }
        let state = &self.entry.connection;
        if !state.is_used() {
            return Ok(());
        }
        connection.as_mut().finish();
        if state.is_idle() {
            return timeout(GOODBYE_TIME, connection).await.unwrap_or(Ok(())).map_err(Into::into);
        }
        tokio::select! {
            ended = connection => ended.map_err(Into::into),
            // The client does not read: there is nothing to wait for.
            () = state.closed() => Ok(()),
        }
    }
}
