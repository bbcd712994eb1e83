//! What is recorded of a request: a policy decides how much, and events carry it.
//!
//! Writing events to a file or a webhook is for the crate `tenure-audit`.

mod context;
mod event;
mod policy;
mod stage;

pub use context::AuditContext;
pub use event::{Event, ObjectReference, ResponseStatus};
pub use policy::{Level, Policy, PolicyError, Selection};
pub use stage::Stage;
