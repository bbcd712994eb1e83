//! What the packages of Tenure for other languages share: the engines on documents, with one error for all of them, and a test
//! server with a socket in the process. A package converts documents of its language to [`Value`]s and back, and [`Error`]s to
//! exceptions; no rule is written twice.
//!
//! - [`Types`] finds the type of a document: a built-in one, or that of a definition or an OpenAPI document.
//! - [`call`] calls an engine by its name: patches, apply and update, blame, why and plan, field sets.
//! - [`TestServer`] is a control plane with a loopback socket; [`manifests`] and [`serving_certificate`] are what suites need besides.
//!
//! The crate exists so that the packages are thin; it does not know any language. Internal: no promises about its API.

#![cfg_attr(not(test), warn(clippy::unwrap_used, clippy::expect_used, clippy::panic))]

mod apply;
mod call;
mod compatibility;
mod environment;
mod error;
mod fields;
mod kind_versions;
mod ownership;
mod patch;
mod server;
mod types;

pub use call::call;
pub use environment::{manifests, serving_certificate};
pub use error::{Conflict, Error, ErrorKind};
pub use server::{Fault, Snapshot, TestServer};
pub use tenure_value::{Limits, Object, Text, Value, json};
pub use types::Types;

use apply::{Applied, Writing};
use ownership::Planned;
use tenure_profile::Profile;

/// The version of the packages.
pub const VERSION: &str = env!("CARGO_PKG_VERSION");
/// The version of Kubernetes that the engines and the test server are of.
pub const KUBERNETES_VERSION: &str = tenure_profile::KubernetesVersion::DEFAULT.name();
