//! The auditor: the policy and the queues of the sinks.

use crate::{
    AuditError, Event, LogFormat, LogOptions, Policy, WebhookOptions,
    log::legacy,
    log_sink::LogSink,
    webhook::{Batches, Webhook},
};
use std::{
    cell::RefCell,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering::Relaxed},
    },
    time::Duration,
};
use tenure_value::Value;
use tokio::sync::mpsc;

/// How long the sinks may take to write the queued events when the server stops.
const CLOSE_TIME: Duration = Duration::from_secs(5);

/// The capacity above which the memory of a line is not kept for the next one.
const KEPT_CAPACITY: usize = 16 << 10;

thread_local! {
    /// The line of the event that a thread records, made outside of the lock of the queue.
    static SCRATCH: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
}

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
    log: Option<LogSink>,
    log_format: LogFormat,
    webhook: Option<mpsc::Sender<Value>>,
    /// Ends the task of the webhook once its queue is sent.
    stop: tokio::sync::watch::Sender<bool>,
    dropped: Arc<AtomicU64>,
}

impl Auditor {
    /// Opens the sinks and starts their workers. The caller runs in a Tokio runtime.
    pub async fn start(options: AuditOptions) -> Result<Arc<Auditor>, AuditError> {
        let AuditOptions { policy, log, webhook } = options;
        let dropped = Arc::new(AtomicU64::new(0));
        let log_format = log.as_ref().map_or(LogFormat::Json, |log| log.format);
        let log = match log {
            None => None,
            Some(options) => {
                let path = options.path.clone();
                let sink = LogSink::open(options, dropped.clone());
                Some(sink.map_err(|source| AuditError::Log { path, source })?)
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
        Ok(Arc::new(Auditor { policy, log, log_format, webhook, stop, dropped }))
    }

    /// Returns the policy.
    pub fn policy(&self) -> &Policy {
        &self.policy
    }

    /// Returns how many events were lost, because a sink was too slow or failed.
    pub fn dropped(&self) -> u64 {
        self.dropped.load(Relaxed)
    }

    /// Passes an event to the sinks, without waiting for those with a queue.
    pub fn record(&self, event: &Event<'_>) {
        if let Some(log) = &self.log {
            SCRATCH.with_borrow_mut(|line| {
                match self.log_format {
                    LogFormat::Json => event.write_json(line),
                    LogFormat::Legacy => line.extend_from_slice(legacy(&event.to_value()).as_bytes()),
                }
                line.push(b'\n');
                log.push(line);
                line.clear();
                line.shrink_to(KEPT_CAPACITY);
            });
        }
        if let Some(webhook) = &self.webhook
            && webhook.try_send(event.to_value()).is_err()
        {
            self.dropped.fetch_add(1, Relaxed);
        }
    }

    /// Waits until the sinks have written the queued events, for a few seconds at most.
    pub async fn close(&self) {
        self.stop.send_replace(true);
        let flush = async {
            if let Some(log) = &self.log {
                log.flush().await;
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
