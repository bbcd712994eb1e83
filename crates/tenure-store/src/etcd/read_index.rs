//! Linearizable reads: asks etcd for the newest revision of the store and waits until the mirror has it. All reads that begin
//! while a query is under way share the next one.

use super::call_error::CallError;
use super::load::{Newest, newest};
use super::mirror::Mirror;
use crate::{Error, Result};
use parking_lot::Mutex;
use std::sync::Arc;
use tokio::sync::{mpsc, oneshot};
use tokio::time::{Instant, timeout_at};

type Waiter = oneshot::Sender<Result<i64, CallError>>;

/// The timeout of one query; each read has a deadline of its own.
const QUERY_TIMEOUT: std::time::Duration = std::time::Duration::from_secs(3);

#[derive(Debug)]
pub(super) struct ReadIndex {
    queries: mpsc::UnboundedSender<Waiter>,
}

/// Why the last query failed, if it did.
pub(super) type Health = Arc<Mutex<Option<CallError>>>;

impl ReadIndex {
    /// Creates the read index and the task that serves it.
    pub(super) fn new(mirror: Arc<Mirror>, health: Health) -> (ReadIndex, impl Future<Output = ()>) {
        let (queries, requested) = mpsc::unbounded_channel();
        (ReadIndex { queries }, serve(mirror, requested, health))
    }

    /// Waits until the mirror shows everything that was committed before this call.
    pub(super) async fn sync(&self, mirror: &Mirror, deadline: Instant) -> Result<()> {
        let (sender, answer) = oneshot::channel();
        let unavailable = |error: CallError| Error::Unavailable { reason: error.to_string().into() };
        let late = || unavailable(CallError::Unreachable("no answer in time".to_owned()));
        self.queries.send(sender).map_err(|_| Error::Closed)?;
        let newest = timeout_at(deadline, answer).await.map_err(|_| late())?.map_err(|_| Error::Closed)?;
        mirror.wait(newest.map_err(unavailable)?, deadline).await.map_err(unavailable)
    }
}

async fn serve(mirror: Arc<Mirror>, mut requested: mpsc::UnboundedReceiver<Waiter>, health: Health) {
    while let Some(first) = requested.recv().await {
        let mut waiters = vec![first];
        while let Ok(waiter) = requested.try_recv() {
            waiters.push(waiter);
        }
        let reached = mirror.reached();
        let mut found = newest(&mirror, Instant::now() + QUERY_TIMEOUT).await;
        if let Ok(Newest { current, .. }) = &found
            && *current < reached
        {
            found = Err(CallError::Unreachable(format!(
                "it is at revision {current}, but was at {reached}: it has lost writes or was restored from a backup"
            )));
        }
        *health.lock() = found.as_ref().err().cloned();
        let answer = found.map(|newest| newest.marked);
        for waiter in waiters {
            let _ = waiter.send(answer.clone());
        }
    }
}
