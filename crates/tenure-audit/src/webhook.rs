//! The audit webhook: events are collected into batches and posted as an `EventList` to the server of a kubeconfig.

use crate::AuditError;
use std::{
    path::PathBuf,
    sync::Arc,
    sync::atomic::{AtomicU64, Ordering::Relaxed},
    time::Duration,
};
use tenure_transport::{ConnectOptions, Connection};
use tenure_value::Value;
use tokio::{
    sync::{mpsc, watch},
    time::{Instant, sleep, timeout_at},
};

/// The maximum number of attempts to send a batch.
const ATTEMPTS: u32 = 5;

/// The webhook.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WebhookOptions {
    /// The kubeconfig that names the server and the credentials.
    pub config: PathBuf,
    /// How many events may wait.
    pub queue: usize,
    /// The most events of a batch.
    pub batch_size: usize,
    /// How long a batch waits for more events.
    pub batch_wait: Duration,
    /// How long to wait before a batch that failed is sent again; doubled with every attempt.
    pub initial_backoff: Duration,
}

impl WebhookOptions {
    /// Returns the options with the defaults of kube-apiserver.
    pub fn new(config: impl Into<PathBuf>) -> WebhookOptions {
        WebhookOptions {
            config: config.into(),
            queue: 10_000,
            batch_size: 400,
            batch_wait: Duration::from_secs(30),
            initial_backoff: Duration::from_secs(10),
        }
    }
}

/// The server that receives events.
pub(crate) struct Webhook(Connection);

impl Webhook {
    /// Reads the kubeconfig. Nothing is sent yet.
    pub async fn connect(options: &WebhookOptions) -> Result<Webhook, AuditError> {
        let connect =
            ConnectOptions { kubeconfig: Some(options.config.clone()), ..ConnectOptions::default() };
        Ok(Webhook(Connection::open(&connect).await?))
    }

    async fn post(&self, list: &Value) -> Result<(), String> {
        let response = self.0.post(list, "application/json").await;
        match response.map_err(|error| error.to_string())?.status().as_u16() {
            200..=299 => Ok(()),
            code => Err(format!("{} answered with status {code}", self.0.server())),
        }
    }
}

/// The events that wait, in batches.
pub(crate) struct Batches {
    queue: mpsc::Receiver<Value>,
    stop: watch::Receiver<bool>,
    options: WebhookOptions,
}

impl Batches {
    pub fn new(
        queue: mpsc::Receiver<Value>,
        stop: watch::Receiver<bool>,
        options: WebhookOptions,
    ) -> Batches {
        Batches { queue, stop, options }
    }

    /// Sends batches until the auditor stops and the queue is empty.
    pub async fn send_to(mut self, webhook: Webhook, dropped: Arc<AtomicU64>) {
        while let Some(events) = self.next().await {
            let count = events.len() as u64;
            let list = Value::object([
                ("apiVersion", Value::from("audit.k8s.io/v1")),
                ("kind", Value::from("EventList")),
                ("metadata", Value::object::<&str>([])),
                ("items", Value::array(events)),
            ]);
            if let Err(why) = self.deliver(&webhook, &list).await {
                dropped.fetch_add(count, Relaxed);
                tracing::error!(lost = count, why, "audit webhook failed");
            }
        }
    }

    /// Waits for the next batch; `None` when no more follow.
    async fn next(&mut self) -> Option<Vec<Value>> {
        let first = tokio::select! {
            first = self.queue.recv() => first?,
            _ = self.stop.wait_for(|stop| *stop) => self.queue.try_recv().ok()?,
        };
        let mut events = vec![first];
        let deadline = Instant::now() + self.options.batch_wait;
        while events.len() < self.options.batch_size {
            let more = async {
                tokio::select! {
                    more = self.queue.recv() => more,
                    _ = self.stop.wait_for(|stop| *stop) => self.queue.try_recv().ok(),
                }
            };
            match timeout_at(deadline, more).await {
                Ok(Some(event)) => events.push(event),
                Ok(None) | Err(_) => break,
            }
        }
        Some(events)
    }

    async fn deliver(&mut self, webhook: &Webhook, list: &Value) -> Result<(), String> {
        let mut pause = self.options.initial_backoff;
        for attempt in 1.. {
            match webhook.post(list).await {
                Ok(()) => break,
                Err(why) if attempt >= ATTEMPTS || *self.stop.borrow() => return Err(why),
                Err(why) => tracing::warn!(why, attempt, "audit webhook failed, retrying"),
            }
            tokio::select! {
                () = sleep(pause) => {}
                _ = self.stop.wait_for(|stop| *stop) => {}
            }
            pause = pause.saturating_mul(2);
        }
        Ok(())
    }
}
