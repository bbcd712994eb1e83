//! How a response takes its connection over from hyper: a stream until it ends, another protocol for good.

use super::{BodyStream, connections::ActiveRequest, upgrade::Upgraded};
use hyper::HeaderMap;
use parking_lot::Mutex;
use std::sync::{
    Arc,
    atomic::{AtomicBool, AtomicU64, Ordering::Relaxed},
};
use tokio::sync::oneshot;

/// What leads a connection out of hyper.
pub(super) struct Handover {
    stream: Mutex<Option<Box<Takeover>>>,
    upgrade: Mutex<Option<oneshot::Sender<Upgraded>>>,
    /// Whether everything that hyper has written was sent.
    is_flushed: AtomicBool,
    /// The length of the body of the request that came last.
    body_length: AtomicU64,
}

/// A stream that takes a connection over.
pub(super) struct Takeover {
    pub headers: HeaderMap,
    pub stream: BodyStream,
    pub request: ActiveRequest,
}

impl Handover {
    pub fn new() -> Arc<Handover> {
        let (stream, upgrade) = (Mutex::default(), Mutex::default());
        let (is_flushed, body_length) = (AtomicBool::new(true), AtomicU64::new(0));
        Arc::new(Handover { stream, upgrade, is_flushed, body_length })
    }

    /// Records the length of the body of a request; `u64::MAX` if it is not known.
    pub fn note_body(&self, length: u64) {
        self.body_length.store(length, Relaxed);
    }

    /// Returns the length of the body of the request that came last.
    pub fn body_length(&self) -> u64 {
        self.body_length.load(Relaxed)
    }

    /// Records that hyper writes.
    pub fn note_write(&self) {
        self.is_flushed.store(false, Relaxed);
    }

    /// Records that everything that hyper has written was sent.
    pub fn note_flush(&self) {
        self.is_flushed.store(true, Relaxed);
    }

    /// Passes the connection to a stream, when the responses before it have been sent.
    pub fn take_over(&self, stream: Takeover) {
        *self.stream.lock() = Some(Box::new(stream));
    }

    /// Passes the connection on if its protocol changes.
    pub fn await_upgrade(&self, sender: oneshot::Sender<Upgraded>) {
        *self.upgrade.lock() = Some(sender);
    }

    /// Returns the stream that takes the connection over. Hyper flushes whenever it returns, so that its buffer is empty if the last
    /// flush is complete.
    pub fn takeover(&self) -> Option<Box<Takeover>> {
        if self.is_flushed.load(Relaxed) { self.stream.lock().take() } else { None }
    }

    /// Returns what waits for the connection after its protocol has changed.
    pub fn upgrade(&self) -> Option<oneshot::Sender<Upgraded>> {
        self.upgrade.lock().take()
    }
}
