//! The HTTPS client of admission and conversion webhooks: connections, certificates and addresses. The aggregator uses the parts.

mod bounded_map;
mod client;
mod credentials;
mod endpoint;
mod tls;

pub use client::{Stall, WebhookClient, WebhookInterceptor};
pub use credentials::{WebhookCredentials, WebhookUser};
pub use endpoint::ServiceEndpoint;
pub(crate) use tls::UNKNOWN_AUTHORITY;
pub use tls::{describe as describe_connection_error, server_verifier};
