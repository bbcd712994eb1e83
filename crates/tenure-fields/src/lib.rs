//! Field paths and field sets: the fields of a document that a manager owns. The crate does not know managers
//! or how types merge.
//!
//! The crate exists for programs that read and compute with `managedFields`. Public API: it follows semantic versioning.
//!
//! ```
//! use tenure_fields::{FieldSet, Path, fields_v1};
//!
//! let set: FieldSet = fields_v1::parse(br#"{"f:spec":{"f:replicas":{}}}"#)?;
//! let path = Path::parse(".spec.replicas")?;
//! assert!(set.has(&path));
//! assert_eq!(fields_v1::to_vec(&set), br#"{"f:spec":{"f:replicas":{}}}"#);
//! # Ok::<(), tenure_fields::Error>(())
//! ```
//!
//! A [`Path`] leads from the root of a document to one of its values; a [`FieldSet`] is a set of paths,
//! stored as a sorted trie with shared subtrees, so union, intersection and difference take one traversal of
//! both and cost no more than the difference.

mod algebra;
mod builder;
pub mod compact;
mod declared;
mod edit;
mod error;
mod exact;
pub mod fields_v1;
mod memo;
mod order;
mod path;
mod resolve;
mod set;
mod text;
mod type_paths;
mod walk;

pub use builder::FieldSetBuilder;
pub use declared::Duplicates;
pub use error::Error;
pub use path::{Path, PathElement};
pub use set::{FieldSet, Node};
pub use text::Quoted;
pub use walk::Paths;

/// The examples of the README are tests.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
