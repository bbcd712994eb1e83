//! The sinks of audit events: a log file with rotation, and a webhook that receives batches.
//!
//! A request never waits for a sink. Each sink has a bounded queue and a worker of its own; an event that finds the
//! queue full is dropped and counted, and the worker reports the count. Which requests are recorded is decided before, by the
//! policy ([`tenure_auth::audit::Policy`]).

mod auditor;
mod error;
mod log;
mod log_queue;
mod webhook;

pub use auditor::{AuditOptions, Auditor};
pub use error::AuditError;
pub use log::{LogFormat, LogOptions};
pub use webhook::WebhookOptions;
