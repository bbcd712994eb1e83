//! Decodes documents by their types and encodes them as the API shows them: decoding checks a document
//! against its type and reduces it to what the type can represent, rules change its nodes, encoding adds
//! fields that are always shown and drops empty ones. Every step shares memory where nothing changes.

mod decode;
mod encode;
mod go_time;
mod go_type;
mod shape;

pub use decode::{DecodeError, Decoded, MAX_STRICT_ERRORS, decode, decode_at};
pub use encode::{EmptyLists, Encoder, NoRules, NodeRules, Walk, is_absent};
pub use shape::{Absent, FieldShape, GoTypes, ScalarShape, Shape, ShapeId, Shapes, StructShape, is_zero};
