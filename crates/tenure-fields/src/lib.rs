//! Field paths and field sets: which parts of a document a manager owns. Knows neither managers nor how types merge.
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
//! A [`Path`] leads from the root of a document to one of its parts; a [`FieldSet`] is a set of paths,
//! kept as a sorted trie whose subtrees are shared, so that union, intersection and difference are one
//! walk over both and cost no more than what differs.

mod algebra;
mod builder;
pub mod compact;
mod declared;
mod edit;
mod error;
pub mod fields_v1;
mod order;
mod path;
mod places;
mod recent;
mod resolve;
mod set;
mod text;
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
