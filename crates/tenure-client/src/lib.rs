//! A client for Kubernetes API servers that keeps objects as documents, so that nothing a server adds is lost.
//!
//! - [`ConnectOptions`] finds the server as `kubectl` does: kubeconfig files, contexts, exec credential plugins, client
//!   certificates, tokens, proxies, or the service account of a pod.
//! - [`Cluster`] sends requests, discovers the kinds that the server has ([`Resource`]) and returns their types.
//! - [`Cluster::page`] and [`Cluster::watch`] read the objects of a kind page by page and follow their changes.
//! - [`Draft`] is a manifest for a server; [`plan`] and [`apply`] show and carry out a server-side apply of it.
//! - [`hand_over`] and [`undo`] move ownership without changing values.
//! - [`ReviewWebhook`] sends documents to webhooks that review them.
//! - [`WebClient`] reads documents of other servers over HTTPS.
//!
//! Pure computations are in `tenure-ownership`; this crate does not know files of manifests, terminals or command lines.

#![cfg_attr(not(test), warn(clippy::unwrap_used, clippy::expect_used, clippy::panic))]

mod apply;
mod cluster;
mod config;
mod connector;
mod error;
mod exec;
mod handover;
mod kubeconfig;
mod managed_fields;
mod resource;
mod response;
mod review;
mod select;
mod tls;
mod watch;
mod web;

pub use apply::{Draft, Mode, apply, plan};
pub use cluster::{APPLY_PATCH, Cluster, JSON_PATCH, REQUESTS_AT_ONCE};
pub use config::ConnectOptions;
pub use error::ClientError;
pub use handover::{Rebase, hand_over, undo};
pub use resource::{Resource, Scope, escaped};
pub use response::Response;
pub use review::ReviewWebhook;
pub use select::{Found, Page, Selection};
pub use watch::{Event, Watch};
pub use web::{WebClient, WebError, WebResponse};
