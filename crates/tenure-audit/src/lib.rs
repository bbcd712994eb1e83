//! The sinks of audit events: a log file with rotation, and a webhook that receives batches.
//!
//! A request waits for no sink, except for a log that is written event by event ([`LogMode::Blocking`]). Each other sink has a bounded
//! queue and a worker of its own; an event that finds the queue full is dropped and counted, and the worker reports the count. Which requests are recorded is decided before, by the
//! policy ([`tenure_auth::audit::Policy`]).

mod auditor;
mod error;
mod log;
mod log_queue;
mod log_sink;
mod request_headers;
mod webhook;

pub use auditor::{AuditOptions, Auditor};
pub use error::AuditError;
pub use log::{LogFormat, LogMode, LogOptions};
pub use request_headers::RequestHeaders;
pub use webhook::WebhookOptions;
