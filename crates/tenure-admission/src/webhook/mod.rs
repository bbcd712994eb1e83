//! Admission webhooks: their configuration, the review that is sent, the client that sends it, and what follows from the
//! response. The client serves conversion webhooks too.

mod bounded_map;
mod client;
mod config;
mod dispatch;
mod endpoint;
mod review;
mod tls;

pub use client::WebhookClient;
pub(crate) use config::{AdmissionWebhook, FailurePolicy};
pub(crate) use dispatch::{at_variant, from_variant, mutate, validate};
pub use endpoint::Endpoint;
pub(crate) use review::request;
