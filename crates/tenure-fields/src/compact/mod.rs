//! Field sets in fewer bytes than `FieldsV1`, in three forms: nested lists, nested lists with a table of
//! strings, and bytes. The bytes are what a store keeps; the format is described in
//! `docs/compact-fields.md`, and what is stored once must be readable for ever.

pub mod binary;
mod fingerprint;
mod form;
pub mod generate;
pub mod nested_lists;
mod record;
mod table;
pub mod tables;

pub use binary::{ManagerRecord, decode_object, encode_object};
pub use form::Form;
pub use table::{Part, Pattern, Table};
