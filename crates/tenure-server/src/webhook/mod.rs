//! The HTTPS client of admission and conversion webhooks.

mod bounded_map;
mod client;
mod endpoint;
mod tls;

pub(crate) use client::WebhookClient;
pub(crate) use endpoint::Endpoint;
