//! The topology of types: which parts of a document merge, by what key, and which stand or fall as one.
//!
//! A [`Schema`] is a flat table of types, numbered, with every reference resolved; nothing that walks a
//! document under a type looks at OpenAPI again. Walk with a [`TypeRef`]: it is `Copy`, and every step
//! down (a field, an item, a map's value) gives the next one.

mod schema;
mod topology;

pub use schema::{Schema, SchemaBuilder, TypeRef};
pub use topology::{
    Field, Key, List, ListTopology, Map, PatchMarks, PatchStrategy, Relation, Scalar, ScalarKind, Slot,
    Struct, Type, TypeId, UnknownFields,
};
