//! The protobuf encoding of Kubernetes API objects, converted to and from JSON documents.
//!
//! It is driven by one table of messages (`data/protobuf.json`); no kind has code of its own. Which fields
//! are encoded although JSON omits them, and the other way round, follows from the presence of each field in
//! the table.
//!
//! Kinds that are not in the table, such as custom resources, have no protobuf encoding.
//!
//! ```
//! use tenure_value::{Limits, Value};
//!
//! let object: Value = r#"{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a"},"data":{"k":"v"}}"#.parse()?;
//! let bytes = tenure_codec::protobuf::encode(&object)?;
//! assert!(bytes.starts_with(b"k8s\0"));
//! assert_eq!(tenure_codec::protobuf::decode(&bytes, &Limits::default())?.at(["data", "k"]), Some(&"v".into()));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod compose;
mod decode;
mod encode;
mod error;
mod managers;
mod plan;
mod scalar;
mod table;

pub mod wire;

pub use compose::{event, event_from_encoded, item, item_with_managers, list_envelope};
pub use decode::decode;
pub use encode::{encode, encode_with_managers};
pub use error::{Error, ErrorKind};
pub use managers::ShownManagers;

use table::Table;

/// The prefix of every document.
pub const MAGIC: &[u8] = b"k8s\0";

/// Whether a kind has a protobuf encoding.
pub fn knows(api_version: &str, kind: &str) -> bool {
    Table::builtin().kind(api_version, kind).is_some()
}
