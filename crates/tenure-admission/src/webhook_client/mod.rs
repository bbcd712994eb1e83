//! The HTTPS client of admission and conversion webhooks: connections, certificates and addresses.

mod bounded_map;
mod client;
mod endpoint;
mod tls;

pub use client::{WebhookClient, WebhookInterceptor};
pub use endpoint::Endpoint;
