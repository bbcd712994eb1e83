//! The protobuf form of the built-in kinds: bytes to document and back, driven by one table of messages
//! (`data/protobuf.json`); no kind has code of its own. What stands on the wire although JSON leaves it out, and
//! the other way round, follows from how the table says each field is present: see `table.rs` first.

mod compose;
mod decode;
mod encode;
mod error;
mod managers;
mod plan;
mod scalar;
mod table;
#[allow(missing_docs)]
pub mod wire;

pub use compose::{event_of, item, item_held, list_around};
pub use decode::decode;
pub use encode::{encode, encode_held, event};
pub use error::Error;

use table::Table;

/// What every document begins with.
const MAGIC: &[u8] = b"k8s\0";

/// Whether a kind has a protobuf form.
pub fn knows(api_version: &str, kind: &str) -> bool {
    Table::builtin().kind(api_version, kind).is_some()
}
