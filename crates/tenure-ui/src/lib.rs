//! The page: the owners of every field of the objects of a cluster, and changes of ownership, in a browser.
//!
//! [`Page`] responds to the requests below `/ui/`. It serves the files of the page, which are part of the binary, signs users in, and
//! has one endpoint for each thing that the page shows. A signed-in user has a [`Cluster`](tenure_client::Cluster), through which
//! every request goes with the user's own credentials; the page can do nothing that the user may not do.
//!
//! Everything about ownership is computed by `tenure-ownership` and `tenure-client`, as for the commands. This crate turns it into
//! JSON; the scripts of the page only show it. The crate listens on no socket: the caller passes requests to [`Page::respond`].
//!
//! The crate exists because `serve` and `ui` show the same page. Internal: no promises about its API.

#![cfg_attr(not(test), warn(clippy::unwrap_used, clippy::expect_used, clippy::panic))]

mod asset;
mod body;
mod endpoint;
mod error;
mod page;
mod request;
mod session;
mod undo_steps;
mod vault;

pub use asset::total_compressed_bytes;
pub use body::{PageBody, PageLines};
pub use error::PageError;
pub use page::{Contexts, Page};
