//! Audit: a policy decides how much of a request is recorded, events contain it, and sinks write them: a log file with rotation, and a
//! webhook that receives batches.
//!
//! [`Policy`], [`Event`] and [`AuditContext`] are pure. [`Auditor`] has the sinks. A request waits for no sink, except for a log that is
//! written event by event ([`LogMode::Blocking`]). Each other sink has a bounded queue and a worker of its own; an event that finds the
//! queue full is dropped and counted, and the worker reports the count.
//!
//! The crate exists because what is recorded must not depend on how a request is carried out, which it does not know. Internal: no
//! promises about its API.

mod auditor;
mod context;
mod error;
mod event;
mod log;
mod log_queue;
mod log_sink;
mod policy;
mod request_headers;
mod stage;
mod webhook;

pub use auditor::{AuditOptions, Auditor};
pub use context::AuditContext;
pub use error::AuditError;
pub use event::{Event, ObjectReference, RequestRecord, RequestText, ResponseStatus};
pub use log::{LogFormat, LogMode, LogOptions};
pub use policy::{Level, Policy, PolicyError, Selection};
pub use request_headers::RequestHeaders;
pub use stage::{Stage, Stages};
pub use webhook::WebhookOptions;
