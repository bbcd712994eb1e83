//! Server-side apply and field ownership for Kubernetes objects, as a library: no server, no cluster, no I/O.
//!
//! [`Applier`] is the short way. It takes typed objects, such as those of `k8s-openapi`, or [`Value`]s:
//!
//! ```
//! # #[cfg(feature = "builtin")] {
//! use tenure_apply::{Applier, ApplyError};
//! use tenure_value::Value;
//!
//! let config = |replicas: i64| -> Value {
//!     format!(r#"{{"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {{"name": "web"}},
//!         "spec": {{"replicas": {replicas}}}}}"#).parse().unwrap()
//! };
//! let live = Applier::new("alice").apply(None, &config(1))?.object;
//!
//! let Err(ApplyError::Conflicts(conflicts)) = Applier::new("bob").apply(&live, &config(2)) else {
//!     panic!("alice owns the field");
//! };
//! assert_eq!(conflicts.to_string(), r#"Apply failed with 1 conflict: conflict with "alice": .spec.replicas"#);
//!
//! let taken = Applier::new("bob").force().apply(&live, &config(2))?;
//! assert_eq!(taken.managers.iter().map(|manager| manager.name.as_str()).collect::<Vec<_>>(), ["bob"]);
//! # }
//! # Ok::<(), tenure_apply::ApplyError>(())
//! ```
//!
//! Servers use the functions behind it: [`apply`] for server-side apply and [`update`] for every other write. Both take
//! the live object with its managers and return the next state. The time, the manager's name, the types and the
//! conversion between versions are arguments, so the same inputs always give the same result. Afterwards the caller
//! fills in defaults, validates, and [settles](State::settle) the state: an unchanged one need not be stored.
//!
//! The crate knows nothing of HTTP, storage, validation and defaults. Where Kubernetes and Tenure differ, [`Profile`]
//! decides.
//!
//! The crate exists for programs that apply without a server. Public API: it follows semantic versioning.
//!
//! [`Value`]: tenure_value::Value

#![cfg_attr(not(test), warn(clippy::unwrap_used, clippy::expect_used, clippy::panic))]

mod applier;
mod apply;
mod compact_managers;
mod conflict;
mod document;
mod error;
mod inspect;
#[cfg(feature = "k8s-openapi")]
mod k8s_openapi;
mod kubernetes_text;
mod managed_fields_form;
mod manager;
mod managers;
mod reset;
mod scale;
mod time;
mod tracking;
mod transfer;
mod update;
mod versions;
mod write;

pub use applier::{Applied, Applier};
pub use apply::{ApplyRule, BEFORE_FIRST_APPLY, Decision, Force, LAST_APPLIED, Trace, apply, apply_traced};
pub use compact_managers::CompactManagers;
pub use conflict::{Cause, Conflict, Conflicts, Owner};
pub use document::{Difference, reordered};
pub use error::ApplyError;
pub use inspect::{FieldOwners, OwnershipChange, extract, ownership, ownership_by_place, ownership_changes};
pub use kubernetes_text::kubernetes_type_errors;
pub use managed_fields_form::ManagedFieldsForm;
pub use manager::{Identity, Manager, Operation};
pub use managers::{MAX_MANAGERS, Managers};
pub use reset::ResetFields;
pub use scale::{ReplicasAt, SCALE_VERSION, from_scale, to_scale};
pub use tenure_profile::{Improvement, Profile};
pub use time::Timestamp;
pub use tracking::MAX_UPDATERS;
pub use transfer::{Adoption, adopt, release, transfer};
pub use update::{Requested, update};
pub use versions::{Emptied, Evolution, SingleVersion, Versions};
pub use write::{Live, Presence, Settled, State, Write};

/// The examples of the README are tests.
#[cfg(all(doctest, feature = "builtin"))]
#[doc = include_str!("../README.md")]
struct Readme;
