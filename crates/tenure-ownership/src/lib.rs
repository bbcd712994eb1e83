//! Field ownership of Kubernetes objects, computed from documents: the live object with its `managedFields`, a manifest,
//! and the schema of the kind.
//!
//! - [`LiveObject`] splits an object as a server shows it into its content and its managers; [`LiveObject::field`] finds a field
//!   that a person named, in any notation.
//! - [`Blame`] lists the owners of every line and field.
//! - [`Explanation`] explains one field: owners, merge rules, and the effect of each kind of write.
//! - [`Plan`] is the result of a server-side apply before it happens, computed offline or from a server's dry run.
//! - [`SavedPlan`] is a plan of many objects that is kept: pinned to what it relies on, approved by its digest, undone as a plan
//!   ([`AppliedPlan`]).
//! - [`diagnosis`] names the cause of a conflict and its remedies.
//! - [`settle`] turns the decision about a conflict into a manifest and the fields to force.
//! - [`Change`] is what a write did to an object: its authors, values and owners.
//! - [`Summary`] and [`Survey`] count the fields, owners and managers of one object and of many; [`Overview`] finds what deserves
//!   attention in many.
//! - [`SideBySide`] pairs the lines of two states of an object.
//! - [`client_side`] takes over what was applied on the client, as `kubectl` does.
//! - [`effect`] describes how a type merges.
//! - [`Handover`] moves ownership without changing values: transfer, release, adopt, migrate, and the undo of each.
//!
//! The crate is pure: no I/O, no clock, no terminal. Commands and user interfaces read documents, call it, and show
//! the result; every result can be turned into a document with `to_value`.
//!
//! The crate exists for everything that shows or changes ownership: commands, the page, bindings, programs. Public API: it follows
//! semantic versioning.
//!
//! ```
//! use tenure_ownership::{ApplyingManager, ForcedFields, LiveObject, Manifest, Profile, Verdict, plan};
//! use tenure_apply::Timestamp;
//! use tenure_schema::Schema;
//!
//! let live = LiveObject::read(&r#"{
//!     "apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "settings", "managedFields": [{
//!         "manager": "alice", "operation": "Apply", "apiVersion": "v1", "fieldsType": "FieldsV1",
//!         "fieldsV1": {"f:data": {"f:colour": {}}}}]},
//!     "data": {"colour": "blue"}}"#.parse()?)?;
//! let config = r#"{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "settings"},
//!     "data": {"colour": "green"}}"#.parse()?;
//! let ty = Schema::builtin().kind("v1", "ConfigMap").ok_or("unknown kind")?;
//!
//! let manifest = Manifest::new(config, "settings.yaml", ty);
//! let bob = ApplyingManager { manager: "bob".into(), force: ForcedFields::None, now: Timestamp::from_unix(1_800_000_000) };
//! let plan = plan::offline(&manifest, Some(&live), &bob, Profile::kubernetes());
//! let Verdict::Conflicts(conflicts, _) = &plan.verdict else { panic!("alice owns it") };
//! assert_eq!(conflicts[0].path.to_string(), ".data.colour");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

#![cfg_attr(not(test), warn(clippy::unwrap_used, clippy::expect_used, clippy::panic))]

mod blame;
mod change;
pub mod client_side;
mod default_value;
pub mod diagnosis;
pub mod effect;
mod error;
mod field;
pub mod handover;
mod live;
mod manifest;
mod overview;
mod owned;
pub mod owner;
mod path;
pub mod plan;
mod refusal;
mod saved;
mod settle;
mod side_by_side;
mod summary;
mod survey;
mod target;
mod why;

pub use blame::{Blame, Field, Line, Ownership};
pub use change::Change;
pub use diagnosis::{ConflictCause, Diagnosis};
pub use error::OwnershipError;
pub use handover::{Handover, Undo};
pub use live::{LiveObject, without_managers};
pub use manifest::{ApplyingManager, ForcedFields, Manifest};
pub use overview::Overview;
pub use owned::OwnedFields;
pub use plan::{Action, Difference, Plan, Verdict};
pub use refusal::{Cause, Refusal};
pub use saved::{
    AppliedPlan, AppliedStep, ClusterIdentity, Pinning, PlannedStep, PlannedWrite, SavedPlan, Stale,
    Staleness, Withholding,
};
pub use settle::{Settlement, settle};
pub use side_by_side::{RowKind, SideBySide, SideBySideRow};
pub use summary::Summary;
pub use survey::{ManagerActivity, Survey};
pub use target::{Target, kind_word};
pub use tenure_apply::Conflict;
pub use tenure_profile::Profile;
pub use why::{Effect, Explanation};
