//! Audit: a policy decides how much of a request is recorded, and events contain it.
//!
//! Writing events to a file or a webhook is done by the crate `tenure-audit`.

mod context;
mod event;
mod policy;
mod stage;

pub use context::AuditContext;
pub use event::{Event, ObjectReference, RequestRecord, RequestText, ResponseStatus};
pub use policy::{Level, Policy, PolicyError, Selection};
pub use stage::{Stage, Stages};
