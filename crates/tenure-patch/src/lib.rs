//! Strategic merge patch whole, JSON merge patch and JSON patch, on one document tree.
//!
//! The three live in [`strategic`], [`merge`] and [`json`]. All of them take documents and give documents or
//! a [`PatchError`] that says what is wrong, where, and what would be right; none of them needs a server.

mod error;
pub mod json;
pub mod lint;
pub mod merge;
mod pointer;
pub mod strategic;

pub use error::{Class, Conflict, Fault, PatchError};
