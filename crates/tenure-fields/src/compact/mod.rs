//! Field sets in fewer bytes than `FieldsV1`, in three encodings: nested lists, nested lists with a string
//! table, and binary. The binary encoding is used for storage; `docs/internals/compact-fields.md` describes the format,
//! and stored data must remain readable.

pub mod binary;
mod encoding;
mod fingerprint;
pub mod generate;
pub mod nested_lists;
mod record;
mod table;
pub mod tables;

pub use binary::{ManagerRecord, decode_object, decode_object_within, encode_object};
pub use encoding::Encoding;
pub use table::{Part, Pattern, Table};
