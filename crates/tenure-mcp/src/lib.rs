//! A Model Context Protocol server: objects with their owners, plans and undo for agents.
//!
//! - [`Server`] has the tools, resources and prompts; it speaks over any pair of streams ([`Server::serve`]) and over streamable HTTP
//!   ([`http::serve`]).
//! - Everything that writes is a pinned plan that this server made, [`Guard`] says what may be read and planned at all,
//!   and [`Quota`] how much is changed in a minute.
//! - Plans that a person has to approve wait in [`tenure_client::Approvals`].
//! - [`AuditLog`] has a line for each call.
//!
//! The crate exists because the protocol's library and its dependencies stay out of everything else. It does not know terminals, flags
//! or the home directory, and nothing about how ownership is computed: that is in `tenure-client` and `tenure-ownership`. Internal: no
//! promises about its API.

#![cfg_attr(not(test), warn(clippy::unwrap_used, clippy::expect_used, clippy::panic))]

mod arguments;
mod audit;
mod context;
mod guard;
pub mod http;
mod plans;
mod prompt;
mod quota;
mod reply;
mod resource;
mod schema;
mod secrets;
mod server;
mod text;
mod tool;

pub use audit::AuditLog;
pub use context::{Context, KeepUndo, Rehearsal, RehearsalFuture};
pub use guard::Guard;
pub use quota::Quota;
pub use server::Server;
