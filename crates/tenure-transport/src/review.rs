//! Review webhooks: a document is posted to the server of a kubeconfig, which returns it with its status.

use crate::{ConnectError, ConnectOptions, Connection};
use std::{path::PathBuf, time::Duration};
use tenure_value::{Limits, Value, json};
use tokio::time::{sleep, timeout};

/// How often a review is sent that the webhook is too busy for.
const ATTEMPTS: u32 = 5;
/// How long to wait before the second attempt; each further pause is half as long again.
const FIRST_PAUSE: Duration = Duration::from_millis(500);

/// A webhook that reviews documents.
pub struct ReviewWebhook {
    connection: Connection,
    timeout: Duration,
}

/// Why there is no answer.
enum Problem {
    /// The webhook is busy, or has an error that may pass.
    Passing(String),
    Lasting(String),
}

impl ReviewWebhook {
    /// Reads a kubeconfig, which names the server and the credentials. An answer may take as long as `timeout`. Nothing is sent yet.
    pub async fn connect(
        kubeconfig: impl Into<PathBuf>,
        timeout: Duration,
    ) -> Result<ReviewWebhook, ConnectError> {
        let connect = ConnectOptions { kubeconfig: Some(kubeconfig.into()), ..ConnectOptions::default() };
        Ok(ReviewWebhook { connection: Connection::open(&connect).await?, timeout })
    }

    /// Returns the address of the webhook.
    pub fn server(&self) -> &str {
        self.connection.server()
    }

    /// Sends a document, again if the webhook is busy, and returns the answer, which is an object; or why there is none. The kind
    /// of the answer does not matter, as in Kubernetes.
    pub async fn review(&self, document: &Value) -> Result<Value, String> {
        let mut pause = FIRST_PAUSE;
        for _ in 1..ATTEMPTS {
            match self.post(document).await {
                Ok(answer) => return Ok(answer),
                Err(Problem::Lasting(problem)) => return Err(problem),
                Err(Problem::Passing(_)) => sleep(pause).await,
            }
            pause += pause / 2;
        }
        self.post(document).await.map_err(|problem| match problem {
            Problem::Lasting(problem) | Problem::Passing(problem) => problem,
        })
    }

    async fn post(&self, document: &Value) -> Result<Value, Problem> {
        let sent = self.connection.post(document, "application/json, */*");
        let server = self.connection.server();
        let response = match timeout(self.timeout, sent).await {
            Err(_) => {
                let seconds = self.timeout.as_secs_f32();
                return Err(Problem::Lasting(format!("{server} did not answer within {seconds} seconds")));
            }
            Ok(Err(error)) => return Err(Problem::Lasting(error.to_string())),
            Ok(Ok(response)) => response,
        };
        let code = response.status().as_u16();
        match code {
            200..=299 => match json::parse(response.body(), &Limits::default()) {
                Ok(value) if value.as_object().is_some() => Ok(value),
                _ => Err(Problem::Lasting(format!("{server} answered without a document"))),
            },
            429 | 500 => Err(Problem::Passing(format!("{server} answered with status {code}"))),
            code => Err(Problem::Lasting(format!("{server} answered with status {code}"))),
        }
    }
}
