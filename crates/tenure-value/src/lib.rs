//! Immutable, shared documents, parsed from and formatted as JSON and YAML.
//!
//! A [`Value`] is cheap to clone and to compare: objects are sorted slices of fields behind an [`Arc`](std::sync::Arc),
//! arrays are slices behind an `Arc`, and an unchanged subtree is shared by all documents that contain it. Integers stay
//! integers and floats stay floats.
//!
//! The crate exists for programs that read, share and write documents. It does not know types or ownership. Public API: it follows
//! semantic versioning.
//!
//! ```
//! use tenure_value::Value;
//!
//! let port = Value::object([("containerPort", Value::from(80)), ("name", Value::from("http"))]);
//! assert_eq!(port.get("containerPort"), Some(&Value::Int(80)));
//! assert_eq!(port.to_string(), r#"{"containerPort":80,"name":"http"}"#);
//! ```
//!
//! Parsers enforce [`Limits`]; an [`Error`] says what is wrong, at which position and in which field:
//!
//! ```
//! use tenure_value::{Limits, json, yaml};
//!
//! let limits = Limits::default();
//! let error = json::parse(br#"{"spec":{"ports":[80,]}}"#, &limits).unwrap_err();
//! assert_eq!(
//!     error.to_string(),
//!     "line 1, column 22, in spec.ports[1]: invalid character ']' looking for beginning of value"
//! );
//! let value = yaml::parse(b"enabled: on\nmode: 0644\n", &limits)?;
//! assert_eq!(value.to_string(), r#"{"enabled":true,"mode":420}"#);
//! assert_eq!(yaml::to_string(&value), "enabled: true\nmode: 420\n");
//! # Ok::<(), tenure_value::Error>(())
//! ```

pub mod base64;
mod error;
pub mod go_text;
pub mod json;
mod limits;
mod number;
mod pointer;
mod prefix;
#[cfg(feature = "serde")]
mod serde;
mod stack;
pub mod time;
mod value;
pub mod yaml;

pub use error::{Duplicate, Error, Position};
pub use limits::Limits;
pub use number::{Float, LargeUint};
pub use pointer::Pointer;
#[cfg(feature = "serde")]
pub use serde::{from_value, to_value};
/// A short or shared string: up to 23 bytes stay inline, longer ones are reference counted.
pub use smol_str::SmolStr as Text;
pub use value::{Array, Kind, Object, ObjectBuilder, Value};

/// Internals shared with the other crates of this workspace; not part of the public API.
#[doc(hidden)]
pub mod private {
    pub use crate::{prefix::sort_prefix, stack::Stack};
}

/// The examples of the README are tests.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
