//! The API server: the Kubernetes API over a store.
//!
//! `server.rs` builds the parts in the order of their dependencies, `handler_chain.rs` lists what every request passes: `admission`, `write`,
//! `subresources`, `controllers`, over the catalog and the objects of `tenure-catalog` and the protocol of `tenure-http`. The crate
//! does not know terminals, and decides no rule of a particular kind.
//!
//! The crate exists for programs that embed the API server, and is the composition root of all others. Internal: no promises about
//! its API.

mod admission;
mod aggregation;
mod audit;
mod bootstrap_roles;
mod controllers;
mod deprecation;
mod fight_events;
mod flow_control;
mod fork;
mod handler_chain;
mod nonresource;
mod permission;
mod read;
mod request_time;
mod server;
mod services;
mod statusz;
mod subresources;
mod write;

pub use controllers::{ControllerDelays, Controllers};
pub use fork::ForkOptions;
pub use handler_chain::BODY_BYTES;
pub use server::{DEFAULT_CONCURRENCY, Server, ServerOptions};
pub use tenure_aggregator::{AggregatorOptions, ClusterAuthentication, ProxyClientCertificate, Routing};
pub use tenure_authentication::{IdentityOptions, TokenKeys, TokenOptions, TokenWebhookOptions};
pub use tenure_authorization::{
    Authorization, AuthorizerOptions, WebhookFailure, WebhookOptions, read_configuration,
};
pub use tenure_catalog::{Clock, Identifiers, history::HistoryOptions};
pub use tenure_profile::{Improvement, Profile};
