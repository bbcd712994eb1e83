//! Sends random conversations to two API servers and compares the responses: objects of built-in kinds and of custom resources with
//! random definitions are created, updated, patched in four ways, applied by several managers, scaled and deleted; or
//! an object of any built-in kind is written in ways of which one thing is wrong.
//!
//! A [`Conversation`] is generated from a seed alone, so that a difference can be reproduced. A difference is [shrunk](shrink) to the
//! fewest requests and fields that still differ. Nothing here knows which server is right.

mod client;
mod compare;
mod conversation;
mod generate;
mod quoted;
mod random;
mod server;
mod shrink;

pub use client::{Client, ClientError};
pub use compare::{Difference, Errors};
pub use conversation::{Conversation, Step, run};
pub use random::Random;
pub use server::LocalServer;
pub use shrink::shrink;
