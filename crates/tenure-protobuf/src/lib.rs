//! The protobuf encoding of Kubernetes API objects, to and from JSON documents.
//!
//! One table of messages (`data/protobuf.json`) drives it; no kind has code of its own. What is on the wire although JSON
//! leaves it out, and the other way round, follows from how the table says that each field is present.
//!
//! The crate knows neither HTTP nor watches nor storage: it turns a document into bytes and back. Kinds that the table
//! does not have, custom resources among them, have no protobuf encoding.
//!
//! ```
//! use tenure_value::{Limits, Value};
//!
//! let object: Value = r#"{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a"},"data":{"k":"v"}}"#.parse()?;
//! let bytes = tenure_protobuf::encode(&object)?;
//! assert!(bytes.starts_with(b"k8s\0"));
//! assert_eq!(tenure_protobuf::decode(&bytes, &Limits::default())?.at(["data", "k"]), Some(&"v".into()));
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

pub use compose::{event, event_of, item, item_held, list_around};
pub use decode::decode;
pub use encode::{encode, encode_held};
pub use error::Error;

use error::Fault;
use table::Table;

/// What every document begins with.
const MAGIC: &[u8] = b"k8s\0";

/// Compiles the table of messages; call it when a program starts. A row that does not compile is an error.
pub fn check() -> Result<(), Error> {
    Table::try_builtin().map(|_| ()).map_err(|reason| Fault::Table(reason.into()).into())
}

/// Whether a kind has a protobuf encoding.
pub fn knows(api_version: &str, kind: &str) -> bool {
    Table::builtin().kind(api_version, kind).is_some()
}
