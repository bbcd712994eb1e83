//! The pack: a schema as bytes from which single types can be decoded. Whatever changes here changes the
//! bytes, so [`MAGIC`] changes with it and the built-in pack is written again.
//!
//! ```text
//! magic            8 bytes
//! counts           u32 each, little endian: texts, types, names, kinds
//! text offsets     u32 × (texts + 1), from the start of the text area
//! type offsets     u32 × (types + 1), from the start of the type area
//! names            (u32 text, u32 type) × names, sorted by text
//! kinds            (u32 text, u32 type) × kinds, sorted by text
//! text area        UTF-8
//! type area        one record per type; numbers are LEB128, texts and types are written as their numbers
//! ```

mod read;
mod write;

pub(crate) use read::Pack;
pub(crate) use write::write;

const MAGIC: &[u8; 8] = b"tenure\x001";

/// The first byte of a type's record.
mod tag {
    pub const STRUCT: u8 = 0;
    pub const MAP: u8 = 1;
    pub const LIST: u8 = 2;
    pub const SCALAR: u8 = 3;
    pub const UNTYPED: u8 = 4;
}

/// How a list's items are told apart.
mod list {
    pub const ATOMIC: u8 = 0;
    pub const SET: u8 = 1;
    pub const KEYED: u8 = 2;
}

/// The first byte of a value.
mod value {
    pub const NULL: u8 = 0;
    pub const FALSE: u8 = 1;
    pub const TRUE: u8 = 2;
    pub const INT: u8 = 3;
    pub const UINT: u8 = 4;
    pub const FLOAT: u8 = 5;
    pub const STRING: u8 = 6;
    pub const ARRAY: u8 = 7;
    pub const OBJECT: u8 = 8;
}

/// Bits of the byte that says which parts follow and which flags are set.
mod flag {
    pub const ATOMIC: u8 = 1;
    pub const PRESERVES_UNKNOWN: u8 = 2;
    pub const EMBEDDED_RESOURCE: u8 = 4;

    pub const NULLABLE: u8 = 1;
    pub const DEFAULT: u8 = 2;
    pub const REQUIRED: u8 = 4;
    pub const PATCH_MARKS: u8 = 8;

    pub const MERGE: u8 = 1;
    pub const REPLACE: u8 = 2;
    pub const RETAIN_KEYS: u8 = 4;
    pub const MERGE_KEY: u8 = 8;
}

/// The kinds of scalar, in the order of their numbers.
const SCALARS: [crate::ScalarKind; 6] = {
    use crate::ScalarKind::*;
    [Boolean, Integer, Number, String, IntOrString, Quantity]
};
