//! The way of an object's content: decoded (checked against its type, reduced to what the type can hold),
//! defaulted by rules, encoded (what is always shown is added, what is empty dropped). Every step returns
//! the same memory where nothing changes.

mod before;
mod decode;
mod edit;
mod encode;
mod function;
mod image;
mod path;
mod rule;
mod shape;

pub(crate) use before::Before;
pub(crate) use decode::decode;
pub use decode::{DecodeError, Decoded};
pub(crate) use edit::{Edit, Rebuild, map_items};
pub(crate) use encode::{EmptyLists, Encoder, Walk};
pub(crate) use function::qos_class;
pub use path::FieldPath;
pub use rule::Surroundings;
pub(crate) use rule::{Condition, Place, Rule, condition_of, is_absent, place};
pub(crate) use shape::{Absent, Shape, ShapeId, Shapes, StructShape};
