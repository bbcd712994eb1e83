//! One immutable, shared document tree: JSON and YAML in, JSON and YAML out.
//!
//! A [`Value`] is cheap to clone and cheap to compare: objects are sorted slices of fields behind an
//! [`Arc`](std::sync::Arc), arrays are slices behind one, and an untouched subtree is shared by every
//! document that contains it. Integers stay integers and floats stay floats.
//!
//! ```
//! use tenure_value::Value;
//!
//! let port = Value::object([("containerPort", Value::from(80)), ("name", Value::from("http"))]);
//! assert_eq!(port.get("containerPort"), Some(&Value::Int(80)));
//! ```

mod array;
mod error;
pub mod json;
mod limits;
mod object;
mod order;
#[cfg(feature = "serde")]
mod serde;
mod value;
pub mod yaml;

pub use array::Array;
pub use error::{Duplicate, Error, Position};
pub use limits::Limits;
pub use object::{Object, ObjectBuilder};
#[cfg(feature = "serde")]
pub use serde::{from_value, to_value};
/// A short or shared string: up to 23 bytes stay inline, longer ones are reference counted.
pub use smol_str::SmolStr as Text;
pub use value::{Kind, Value};
