//! CEL values. Parts of documents are borrowed; values created by an expression are shared.

mod collection;
mod compare;
mod document;
mod number;
mod opaque;
mod time;

pub use collection::{List, Made, Map, MapKey};
pub(crate) use compare::{Index, check_scalars, key_of};
pub(crate) use number::go_float;
pub use opaque::Opaque;
pub use time::{Duration, Timestamp};

use crate::types::Decl;
use std::{collections::BTreeMap, sync::Arc};
use tenure_value::Text;

/// A CEL value. Parts of documents are borrowed.
#[derive(Clone, Debug)]
pub enum Val<'v> {
    /// `null`.
    Null,
    /// `true` or `false`.
    Bool(bool),
    /// An integer.
    Int(i64),
    /// An unsigned integer.
    UInt(u64),
    /// A floating point number.
    Double(f64),
    /// A string.
    String(Text),
    /// Bytes.
    Bytes(Arc<[u8]>),
    /// A timestamp.
    Timestamp(Timestamp),
    /// A duration.
    Duration(Duration),
    /// A type, by its name.
    Type(Text),
    /// A list.
    List(List<'v>),
    /// A map or an object.
    Map(Map<'v>),
    /// A value, or empty.
    Optional(Option<Arc<Val<'v>>>),
    /// A value of a type from a function library.
    Opaque(Arc<dyn Opaque>),
}

impl<'v> Val<'v> {
    /// Returns a list of values.
    pub fn list(items: Vec<Val<'v>>) -> Val<'v> {
        Val::List(List::Made(Arc::new(Made::list(items))))
    }

    /// Returns a map of values.
    pub fn map(entries: BTreeMap<MapKey, Val<'v>>) -> Val<'v> {
        Val::Map(Map::Made(Arc::new(Made::map(entries))))
    }

    /// Returns how deep the lists, maps and optional values that an expression created are nested in this one.
    pub fn depth(&self) -> usize {
        match self {
            Val::List(list) => list.depth(),
            Val::Map(map) => map.depth(),
            // Each was checked when it was created, so that this does not recurse for long.
            Val::Optional(Some(value)) => 1 + value.depth(),
            _ => 0,
        }
    }

    /// Returns a value of a type from a function library.
    pub fn opaque(value: impl Opaque) -> Val<'v> {
        Val::Opaque(Arc::new(value))
    }

    /// Returns an optional value.
    pub fn optional(value: Option<Val<'v>>) -> Val<'v> {
        Val::Optional(value.map(Arc::new))
    }

    /// Returns the Rust value behind an opaque value, if it has this type.
    pub fn downcast<T: Opaque>(&self) -> Option<&T> {
        match self {
            Val::Opaque(value) => (**value).as_any().downcast_ref(),
            _ => None,
        }
    }

    /// Returns the result of `size`, by which costs are also counted.
    pub fn size(&self) -> Option<u64> {
        Some(match self {
            Val::String(text) => count_chars(text),
            Val::Bytes(bytes) => bytes.len() as u64,
            Val::List(list) => list.len() as u64,
            Val::Map(map) => map.len() as u64,
            Val::Opaque(value) => return value.size(),
            _ => return None,
        })
    }

    /// Returns the name of the type.
    pub fn type_name(&self) -> &str {
        match self {
            Val::Null => "null_type",
            Val::Bool(_) => "bool",
            Val::Int(_) => "int",
            Val::UInt(_) => "uint",
            Val::Double(_) => "double",
            Val::String(_) => "string",
            Val::Bytes(_) => "bytes",
            Val::Timestamp(_) => "google.protobuf.Timestamp",
            Val::Duration(_) => "google.protobuf.Duration",
            Val::Type(_) => "type",
            Val::List(_) => "list",
            Val::Map(map) => map.type_name(),
            Val::Optional(_) => "optional_type",
            Val::Opaque(value) => value.type_name(),
        }
    }

    /// Whether this is the zero value of its type.
    pub fn is_zero(&self) -> bool {
        match self {
            Val::Null => true,
            Val::Bool(flag) => !flag,
            Val::Int(number) => *number == 0,
            Val::UInt(number) => *number == 0,
            Val::Double(number) => *number == 0.0,
            Val::String(text) => text.is_empty(),
            Val::Bytes(bytes) => bytes.is_empty(),
            Val::Duration(duration) => duration.nanoseconds() == 0,
            Val::List(list) => list.is_empty(),
            Val::Map(map) => map.is_empty(),
            Val::Optional(value) => value.is_none(),
            Val::Timestamp(_) | Val::Type(_) | Val::Opaque(_) => false,
        }
    }
}

/// Counts the characters of a string, with a fast path for ASCII.
pub(crate) fn count_chars(text: &str) -> u64 {
    if text.is_ascii() { text.len() as u64 } else { text.chars().count() as u64 }
}

impl From<bool> for Val<'_> {
    fn from(flag: bool) -> Self {
        Val::Bool(flag)
    }
}

impl From<i64> for Val<'_> {
    fn from(number: i64) -> Self {
        Val::Int(number)
    }
}

impl From<&str> for Val<'_> {
    fn from(text: &str) -> Self {
        Val::String(text.into())
    }
}

impl From<String> for Val<'_> {
    fn from(text: String) -> Self {
        Val::String(text.into())
    }
}

impl From<Text> for Val<'_> {
    fn from(text: Text) -> Self {
        Val::String(text)
    }
}

/// The declaration of a part of a document, if there is one.
pub(crate) type Declared<'v> = Option<&'v Decl>;
