//! Strategic merge patch, JSON merge patch and JSON patch on one document model.
//!
//! - [`strategic`] applies and calculates strategic merge patches, as Kubernetes defines them.
//! - [`merge`] applies and calculates JSON merge patches (RFC 7396).
//! - [`json`] applies and calculates JSON patches (RFC 6902).
//! - [`lint`] checks a strategic merge patch without a live document.
//!
//! All functions take documents and return documents or a [`PatchError`] that says what is wrong, where, and what
//! would be right. They run in time linear in their input, up to a logarithm.
//!
//! This crate does not know who owns a field, and does no I/O.
//!
//! The crate exists for programs that patch documents without a server. Public API: it follows semantic versioning.
//!
//! ```
//! use tenure_patch::merge;
//! use tenure_value::Value;
//!
//! let live: Value = r#"{"a": 1, "b": 2}"#.parse().unwrap();
//! let patch: Value = r#"{"b": null}"#.parse().unwrap();
//! assert_eq!(merge::apply(&live, &patch).to_string(), r#"{"a":1}"#);
//! ```

mod error;
pub mod json;
pub mod lint;
pub mod merge;
mod pointer;
pub mod strategic;

pub use error::{Conflict, ErrorClass, ErrorKind, PatchError};

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
