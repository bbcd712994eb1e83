//! Asking etcd how far the store is, for reads that must see every write that was answered before them. All who ask
//! while a question is under way share the next one.

use super::call_error::CallError;
use super::load::{Newest, newest};
use super::mirror::Mirror;
use crate::{Error, Result};
use parking_lot::Mutex;
use std::sync::Arc;
use tokio::sync::{mpsc, oneshot};
use tokio::time::{Instant, timeout_at};

type Asker = oneshot::Sender<Result<i64, CallError>>;

/// How long one question may take; who asked has a deadline of its own.
const QUESTION: std::time::Duration = std::time::Duration::from_secs(3);

#[derive(Debug)]
pub(super) struct ReadIndex {
    questions: mpsc::UnboundedSender<Asker>,
}

/// Why the last question was not answered, if it was not.
pub(super) type Health = Arc<Mutex<Option<CallError>>>;

impl ReadIndex {
    /// Makes a reader and the task that serves it.
    pub(super) fn new(mirror: Arc<Mirror>, health: Health) -> (ReadIndex, impl Future<Output = ()>) {
        let (questions, asked) = mpsc::unbounded_channel();
        (ReadIndex { questions }, serve(mirror, asked, health))
    }

    /// Waits until the mirror shows everything that was committed before this call.
    pub(super) async fn sync(&self, mirror: &Mirror, deadline: Instant) -> Result<()> {
        let (sender, answer) = oneshot::channel();
        let unavailable = |error: CallError| Error::Unavailable { reason: error.to_string().into() };
        let late = || unavailable(CallError::Unreachable("no answer in time".to_owned()));
        self.questions.send(sender).map_err(|_| Error::Closed)?;
        let newest = timeout_at(deadline, answer).await.map_err(|_| late())?.map_err(|_| Error::Closed)?;
        mirror.wait(newest.map_err(unavailable)?, deadline).await.map_err(unavailable)
    }
}

async fn serve(mirror: Arc<Mirror>, mut asked: mpsc::UnboundedReceiver<Asker>, health: Health) {
    while let Some(first) = asked.recv().await {
        let mut askers = vec![first];
        while let Ok(asker) = asked.try_recv() {
            askers.push(asker);
        }
        let reached = mirror.reached();
        let mut found = newest(&mirror, Instant::now() + QUESTION).await;
        if let Ok(Newest { current, .. }) = &found
            && *current < reached
        {
            found = Err(CallError::Unreachable(format!(
                "it is at revision {current}, but was at {reached}: it has lost writes or was restored from a backup"
            )));
        }
        *health.lock() = found.as_ref().err().cloned();
        let answer = found.map(|newest| newest.marked);
        for asker in askers {
            let _ = asker.send(answer.clone());
        }
    }
}
