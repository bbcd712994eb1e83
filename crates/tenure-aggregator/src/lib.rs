//! API aggregation: an `APIService` with a `service` hands a group and version to an extension API server.
//!
//! [`Aggregator`] is the state: which groups and versions are proxied, and what their servers published. [`Aggregator::proxy`] passes
//! a request on with the identity of its user (`proxy`, `headers`, `transport`); [`Aggregator::run`] follows the APIServices of the
//! store, checks that their servers are available (`availability`), reads their discovery and OpenAPI (`discovery`, `openapi`), and
//! registers what this server serves itself (`registration`). Nothing that an extension server does, or fails to do, may hold up
//! this server: every call has a deadline, everything that is kept has a limit, and each server is followed by a task of its own.
//!
//! The crate exists because its border keeps extension servers away from all other requests. It does not know who may make a
//! request, or how a write is decided. Internal: no promises about its API.

mod aggregator;
mod api_service;
mod authentication_config;
mod availability;
mod controller;
mod discovery;
mod fetch;
mod headers;
mod openapi;
mod proxy;
mod publication;
mod registration;
mod resolver;
mod token_tracking;
mod transport;
mod writer;

pub use aggregator::{Aggregator, AggregatorOptions};
pub use api_service::{ApiService, ServiceReference};
pub use authentication_config::ClusterAuthentication;
pub use proxy::ProxyRequest;
pub use resolver::Routing;
pub use transport::{ProxyBody, ProxyClientCertificate};
pub use writer::ApiServiceWriter;
