//! A client for Kubernetes API servers that keeps objects as documents, so that nothing a server adds is lost.
//!
//! - [`Cluster`] sends requests, discovers the kinds that the server has ([`Resource`]) and returns their types, and says
//!   whether it is Kubernetes or Tenure ([`Cluster::profile`]).
//! - [`Cluster::page`] and [`Cluster::watch`] read the objects of a kind page by page and follow their changes.
//! - [`Draft`] is a manifest for a server; [`plan`] and [`apply`] show and carry out a server-side apply of it.
//! - [`save`] makes a plan that can be kept; [`carry_out`] carries it out under its pins, and [`undo_plan`] computes its undo.
//! - [`Approvals`] has plans that wait for the decision of a person, in files.
//! - [`Past`], [`PastChange`] and [`Restored`] read the history of an object, undo a change of it and bring it back.
//! - [`UndoStep`] is what can be undone later, kept in an [`UndoDirectory`].
//! - [`hand_over`] and [`undo`] move ownership without changing values.
//!
//! The crate exists because the commands and the page use a server in the same way. Connections are in `tenure-transport`, pure
//! computations in `tenure-ownership`; it does not know files of manifests, terminals or command lines. Internal: no promises about its
//! API.

#![cfg_attr(not(test), warn(clippy::unwrap_used, clippy::expect_used, clippy::panic))]

mod apply;
mod cluster;
mod error;
mod handover;
mod managed_fields;
mod order;
mod past;
mod resource;
mod response;
mod saved;
mod select;
mod undo_steps;
mod watch;

pub use apply::{Draft, Mode, apply, plan};
pub use cluster::{APPLY_PATCH, Cluster, JSON_PATCH, REQUESTS_AT_ONCE};
pub use error::ClientError;
pub use handover::{Rebase, hand_over, undo};
pub use order::{PHASES, establish, phase};
pub use past::{Log, Past, PastChange, Restored};
pub use resource::{Resource, Scope};
pub use response::Response;
pub use saved::{
    ApprovalDecision, ApprovalError, Approvals, Atomicity, CarriedOut, End, Pending, UndoConflict, UndoPlan,
    WaitingPlan, applied_from_history, carry_out, carry_out_atomically, carry_out_together, deletion, save,
    stale, undo_plan,
};
pub use select::{Found, Page, Selection};
pub use undo_steps::{KeptStep, UndoDirectory, UndoStep, Undoable};
pub use watch::{Event, Initial, Watch};
