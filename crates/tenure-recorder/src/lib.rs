//! The history of objects of any Kubernetes API server, kept by following it.
//!
//! - [`Follow`] lists and watches the objects of a kind and survives what happens to servers and connections.
//! - [`Recorder`] follows every kind and writes what it sees into an [`Archive`]: every version as a delta, with its manager.
//! - [`Archive`] keeps the history in a directory, in the store and the encodings of the server, and [`HistoryEndpoint`] serves it under
//!   the paths of the server.
//! - [`observed_item`] describes a single change that was seen, for callers that keep no history.
//!
//! The crate exists because the API server that people have keeps no old values. It does not know terminals or command lines, and
//! it never writes to a cluster. Internal: no promises about its API.

#![cfg_attr(not(test), warn(clippy::unwrap_used, clippy::expect_used, clippy::panic))]

mod archive;
mod audit;
#[cfg(unix)]
mod audit_log;
mod endpoint;
mod error;
mod follow;
mod frame;
mod object_key;
mod observed;
mod reader;
mod recorder;
mod secret_key;
#[cfg(test)]
mod week;

pub use archive::{Archive, ArchiveOptions, Observation, Position};
pub use audit::AuditEndpoint;
#[cfg(unix)]
pub use audit_log::follow_audit_log;
pub use endpoint::{Access, HistoryEndpoint};
pub use error::RecorderError;
pub use follow::{Follow, Sight};
pub use object_key::ObjectKey;
pub use observed::{milliseconds, observed_field_item, observed_item, version};
pub use recorder::{Recorder, RecorderOptions};
