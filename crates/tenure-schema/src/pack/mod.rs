//! The pack: a binary format for schemas from which single types can be decoded. A change of the format
//! changes [`MAGIC`], and the built-in pack must be generated again.
//!
//! ```text
//! magic            8 bytes
//! counts           u32 each, little endian: strings, types, names, kinds
//! string offsets   u32 × (strings + 1), from the start of the string area
//! type offsets     u32 × (types + 1), from the start of the type area
//! names            (u32 string, u32 type) × names, sorted by string
//! kinds            (u32 string, u32 type) × kinds, sorted by string
//! string area      UTF-8
//! type area        one record per type; numbers are LEB128, strings and types are indices
//! ```
//!
//! A delta is a pack that says what differs from another one, its base. Strings and types are numbered on from those of the base,
//! so a type keeps its number:
//!
//! ```text
//! magic            8 bytes
//! counts           as above, of what the delta itself has
//! base             u32 each: strings and types of the base, and how many of these are replaced
//! tables           as above; a name or kind of type 0xffffffff is gone
//! replaced         u32 × replaced: the types of the base whose records come first in the type area, sorted
//! areas            as above
//! ```

mod read;

pub(crate) use read::Pack;

pub(crate) const MAGIC: &[u8; 8] = b"tenure\x001";

pub(crate) const DELTA_MAGIC: &[u8; 8] = b"tenure\x00d";

/// The type of a name or kind of the base that a delta does not have.
pub(crate) const GONE: u32 = u32::MAX;

/// The first byte of a type's record.
pub(crate) mod tag {
    pub const STRUCT: u8 = 0;
    pub const MAP: u8 = 1;
    pub const LIST: u8 = 2;
    pub const SCALAR: u8 = 3;
    pub const UNTYPED: u8 = 4;
}

/// The topology of a list.
pub(crate) mod list {
    pub const ATOMIC: u8 = 0;
    pub const SET: u8 = 1;
    pub const KEYED: u8 = 2;
}

/// The first byte of a value.
pub(crate) mod value {
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

/// Flags, and bits that say which parts follow.
pub(crate) mod flag {
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

/// The kinds of scalars, by their code.
pub(crate) const SCALARS: [crate::ScalarKind; 6] = {
    use crate::ScalarKind::*;
    [Boolean, Integer, Number, String, IntOrString, Quantity]
};
