//! The topology of types: which parts of a document merge, by which keys, and which are atomic.
//!
//! A [`Schema`] is a flat table of types with all references resolved; code that traverses a document with a
//! type does not need OpenAPI. Use a [`TypeRef`] for this: it is `Copy`, and every step down (a field, an
//! item, a map value) returns the next one.
//!
//! The types of the built-in kinds are embedded (feature `builtin`, on by default) as `Schema::builtin`; each
//! type is decoded on first use. [`openapi`] compiles types from OpenAPI documents, [`crd`] from
//! CustomResourceDefinitions.
//!
//! The crate exists for programs that need the merge rules of a type. It does not know the contents of documents, or patches.
//! Public API: it follows semantic versioning.

#![cfg_attr(not(test), warn(clippy::unwrap_used, clippy::expect_used, clippy::panic))]

pub mod audit;
#[cfg(feature = "builtin")]
pub mod builtin;
pub mod crd;
mod error;
pub mod merging;
pub mod openapi;
mod outline;
mod pack;
mod schema;
mod spelling;
mod topology;
mod type_path;

pub use error::SchemaError;
pub use outline::Outline;
pub use schema::{Schema, SchemaBuilder, TypeRef};
pub use topology::{
    Field, Fields, Key, List, ListTopology, Map, PatchMarks, PatchStrategy, Relation, Scalar, ScalarKind,
    Slot, Struct, Type, TypeId, UnknownFields,
};
pub use type_path::{Located, TypePath, TypeStep};

/// The examples of the README are tests.
#[cfg(all(doctest, feature = "builtin"))]
#[doc = include_str!("../README.md")]
struct Readme;
