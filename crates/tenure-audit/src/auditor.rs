//! The auditor: the policy and the queues of the sinks.

use crate::{
    AuditError, LogOptions, WebhookOptions,
    log::LogFile,
    webhook::{Batches, Webhook},
};
use std::{
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering::Relaxed},
        mpsc::{Receiver, SyncSender, TrySendError, sync_channel},
    },
    thread,
    time::Duration,
};
use tenure_auth::audit::{Event, Policy};
use tenure_value::Value;
use tokio::sync::{mpsc, oneshot};

/// How many events the queue of the log holds.
const LOG_QUEUE: usize = 10_000;
/// How long the sinks may take to write the queued events when the server stops.
const CLOSE_TIME: Duration = Duration::from_secs(5);

/// Which requests are audited, and where events go.
#[derive(Clone, Debug, Default)]
pub struct AuditOptions {
    /// Which requests are recorded, and how much of each.
    pub policy: Policy,
    /// The log file, if there is one.
    pub log: Option<LogOptions>,
    /// The webhook, if there is one.
    pub webhook: Option<WebhookOptions>,
}

/// Records audit events.
pub struct Auditor {
    policy: Policy,
    log: Option<SyncSender<LogMessage>>,
    webhook: Option<mpsc::Sender<Value>>,
    /// Ends the task of the webhook once its queue is sent.
    stop: tokio::sync::watch::Sender<bool>,
    dropped: Arc<AtomicU64>,
}

/// A message to the worker of the log.
enum LogMessage {
    Event(Value),
    /// Reports when everything before it is written.
    Flush(oneshot::Sender<()>),
}

impl Auditor {
    /// Opens the sinks and starts their workers. The caller runs in a Tokio runtime.
    pub async fn start(options: AuditOptions) -> Result<Arc<Auditor>, AuditError> {
        let AuditOptions { policy, log, webhook } = options;
        let dropped = Arc::new(AtomicU64::new(0));
        let log = match log {
            None => None,
            Some(options) => {
                let path = options.path.clone();
                let file = LogFile::open(options).map_err(|source| AuditError::Log { path, source })?;
                let (sender, receiver) = sync_channel(LOG_QUEUE);
                let dropped = dropped.clone();
                thread::spawn(move || write_log(file, &receiver, &dropped));
                Some(sender)
            }
        };
        let stop = tokio::sync::watch::Sender::new(false);
        let webhook = match webhook {
            None => None,
            Some(options) => {
                let (sender, receiver) = mpsc::channel(options.queue);
                let webhook = Webhook::connect(&options).await?;
                tokio::spawn(
                    Batches::new(receiver, stop.subscribe(), options).send_to(webhook, dropped.clone()),
                );
                Some(sender)
            }
        };
        Ok(Arc::new(Auditor { policy, log, webhook, stop, dropped }))
    }

    /// Returns the policy.
    pub fn policy(&self) -> &Policy {
        &self.policy
    }

    /// Returns how many events were lost, because a sink was too slow or failed.
    pub fn dropped(&self) -> u64 {
        self.dropped.load(Relaxed)
    }

    /// Passes an event to the sinks, without waiting for them.
    pub fn record(&self, event: &Event<'_>) {
        let event = event.to_value();
        if let Some(webhook) = &self.webhook
            && webhook.try_send(event.clone()).is_err()
        {
            self.dropped.fetch_add(1, Relaxed);
        }
        if let Some(log) = &self.log
            && let Err(TrySendError::Full(_) | TrySendError::Disconnected(_)) =
                log.try_send(LogMessage::Event(event))
        {
            self.dropped.fetch_add(1, Relaxed);
        }
    }

    /// Waits until the sinks have written the queued events, for a few seconds at most.
    pub async fn close(&self) {
        self.stop.send_replace(true);
        let flush = async {
            if let Some(log) = &self.log {
                let (done, written) = oneshot::channel();
                if log.try_send(LogMessage::Flush(done)).is_ok() {
                    let _ = written.await;
                }
            }
            if let Some(webhook) = &self.webhook {
                webhook.closed().await;
            }
        };
        if tokio::time::timeout(CLOSE_TIME, flush).await.is_err() {
            tracing::error!("audit events were not written within {} s", CLOSE_TIME.as_secs());
        }
    }
}

/// Writes events until the auditor is dropped. All queued events are written before the file is flushed.
fn write_log(mut file: LogFile, queue: &Receiver<LogMessage>, dropped: &AtomicU64) {
    let mut reported = 0;
    while let Ok(first) = queue.recv() {
        let mut flushed = Vec::new();
        for message in std::iter::once(first).chain(queue.try_iter().take(LOG_QUEUE)) {
            match message {
                LogMessage::Event(event) => {
                    if let Err(error) = file.append(&event) {
                        dropped.fetch_add(1, Relaxed);
                        tracing::error!(%error, "cannot write the audit log");
                    }
                }
                LogMessage::Flush(done) => flushed.push(done),
            }
        }
        if let Err(error) = file.flush() {
            tracing::error!(%error, "cannot write the audit log");
        }
        for done in flushed {
            // The auditor may have given up waiting.
            let _ = done.send(());
        }
        let lost = dropped.load(Relaxed);
        if lost > reported {
            tracing::error!(lost = lost - reported, "audit events were lost");
            reported = lost;
        }
    }
}
