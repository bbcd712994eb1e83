//! Connections: to other servers, with the TLS, certificates and kubeconfig that they need, and the certificates of a server's own
//! listener; and what is read again while a server runs.
//!
//! - [`ConnectOptions`] finds a server as `kubectl` does: kubeconfig files, contexts, exec credential plugins, client certificates,
//!   tokens, proxies, or the service account of a pod. [`Connection`] sends requests to it.
//! - [`Transport`] keeps connections open, with the certificates that [`TrustedCertificates`] accepts.
//! - [`ReviewWebhook`] sends documents to webhooks that review them; [`WebClient`] reads documents of other servers over HTTPS.
//! - [`serving`] has the certificate, the token and the kubeconfig of a server, and the client certificates that it accepts.
//! - [`random_bytes`] is the one source of randomness of the server and the commands; the store, which uses no other crate, has its own.
//! - [`Reloadable`] and [`Reloader`] replace keys, tokens and certificates without a restart.
//!
//! The crate exists because the server and the commands both connect: it is below both. It does not know what a request is for, and
//! decides nothing about ownership. Internal: no promises about its API.

#![cfg_attr(not(test), warn(clippy::unwrap_used, clippy::expect_used, clippy::panic))]

mod any_certificate;
mod config;
mod connection;
mod connector;
mod dialer;
mod error;
mod escape;
mod exec;
mod kubeconfig;
mod randomness;
mod reloadable;
mod reloader;
mod review;
mod review_version;
pub mod serving;
mod suggest;
mod tls;
mod transport;
mod trusted_certificates;
mod web;

pub use any_certificate::AnyCertificate;
pub use config::{
    ConnectOptions, HistoryServer, Impersonate, REQUEST_TIMEOUT, SILENCE, contexts, current_context,
};
pub use connection::Connection;
pub use dialer::Dialer;
pub use error::ConnectError;
pub use escape::escaped;
pub use randomness::{NoRandomness, random_bytes, random_hex};
pub use reloadable::Reloadable;
pub use reloader::Reloader;
pub use review::ReviewWebhook;
pub use review_version::ReviewVersion;
pub use suggest::{did_you_mean, nearest_name};
pub use transport::{
    BoxError, Connecting, Dial, Sending, Transport, TransportBody, TransportTls, whole_body,
};
pub use trusted_certificates::TrustedCertificates;
pub use web::{WebClient, WebError, WebResponse};
