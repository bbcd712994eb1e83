//! Reads a document by its type and writes it in the form in which the API shows it: decoded (checked against the type,
//! reduced to what the type can hold), changed by the rules of its nodes, encoded (what is always shown is added, what
//! is empty dropped). Every step returns the same memory where nothing changes.

mod decode;
mod encode;
mod shape;

pub use decode::{DecodeError, Decoded, MAX_STRICT_ERRORS, decode, decode_at};
pub use encode::{EmptyLists, Encoder, NoRules, NodeRules, Walk, is_absent};
pub use shape::{Absent, FieldShape, ScalarShape, Shape, ShapeId, Shapes, StructShape, is_zero};
