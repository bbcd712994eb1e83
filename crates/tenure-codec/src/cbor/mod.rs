//! CBOR as the Kubernetes API uses it, converted to and from JSON documents. It works for every kind, custom resources included.
//!
//! Output is deterministic (RFC 8949, 4.2.1): definite lengths, the shortest numbers, map keys in the order of their bytes. Strings
//! are byte strings; a field of bytes, such as an entry of a Secret's `data`, is the bytes themselves in tag 22. Input may have text
//! or byte strings, indefinite lengths and tags.
//!
//! ```
//! use tenure_value::{Limits, Value};
//!
//! let object: Value = r#"{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a"},"data":{"k":"v"}}"#.parse()?;
//! let bytes = tenure_codec::cbor::encode(&object);
//! assert!(bytes.starts_with(&[0xd9, 0xd9, 0xf7]));
//! assert_eq!(tenure_codec::cbor::decode(&bytes, &Limits::default())?, object);
//!
//! let error = tenure_codec::cbor::decode(b"\xa1\x44data\xa2\x41k\x01\x41k\x02", &Limits::default()).unwrap_err();
//! assert_eq!(error.to_string(), "byte 10, in data: found duplicate map key \"k\"");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod byte_fields;
mod compose;
mod decode;
mod encode;
mod error;
mod float;
mod later;
mod length;
mod tag;

pub use compose::{event, event_from_encoded, list_envelope};
pub use decode::{decode, decode_sequence};
pub use encode::{encode, item};
pub use error::{Error, ErrorKind};
pub use length::encoded_length;

/// The tag that announces CBOR, as the first bytes of every document.
pub const SELF_DESCRIBED: [u8; 3] = [0xd9, 0xd9, 0xf7];
