//! The topology of types: which parts of a document merge, by what key, and which stand or fall as one.
//!
//! A [`Schema`] is a flat table of types, numbered, with every reference resolved; nothing that walks a
//! document under a type looks at OpenAPI again. Walk with a [`TypeRef`]: it is `Copy`, and every step
//! down (a field, an item, a map's value) gives the next one.
//!
//! The types of the built-in kinds are a pack inside the crate (feature `builtin`, on by default), `Schema::builtin`; a
//! type of it is decoded when first used. [`openapi`] compiles types from documents, [`crd`] from definitions of custom
//! resources.

#![cfg_attr(not(test), warn(clippy::unwrap_used, clippy::expect_used, clippy::panic))]

pub mod audit;
#[cfg(feature = "builtin")]
pub mod builtin;
pub mod crd;
mod error;
mod fields;
pub mod merging;
pub mod openapi;
mod outline;
mod pack;
mod schema;
mod spelling;
mod topology;
mod type_path;
mod type_ref;

pub use error::SchemaError;
pub use fields::Fields;
pub use outline::Outline;
pub use schema::{Schema, SchemaBuilder};
pub use topology::{
    Field, Key, List, ListTopology, Map, PatchMarks, PatchStrategy, Relation, Scalar, ScalarKind, Slot,
    Struct, Type, TypeId, UnknownFields,
};
pub use type_path::{Located, TypePath, TypeStep};
pub use type_ref::TypeRef;

/// The examples of the README are tests.
#[cfg(all(doctest, feature = "builtin"))]
#[doc = include_str!("../README.md")]
struct Readme;
