//! JSON. The parser accepts what Go's decoder accepts, and keeps integers; the printer writes, byte for byte,
//! what Kubernetes writes for the same document.

mod frequent_names;
mod name_cache;
mod name_key;
mod number;
mod parse;
mod part_index;
mod print;
mod reader;
mod string;

pub(crate) use number::rewritten;
pub(crate) use parse::parse_as_yaml;
pub use parse::{parse, parse_checked};
pub use print::{ObjectPrinter, Style, write_styled, write_text};
pub use reader::Reader;

use crate::{Error, Limits, Value};
use std::{fmt, str::FromStr};

/// Appends the value as compact JSON.
pub fn write(value: &Value, out: &mut Vec<u8>) {
    write_styled(value, Style::Kubernetes, out);
}

/// Returns the value as compact JSON.
pub fn to_vec(value: &Value) -> Vec<u8> {
    let mut out = Vec::with_capacity(960);
    write(value, &mut out);
    out
}

/// Returns the value as compact JSON.
pub fn to_string(value: &Value) -> String {
    // The printer emits complete characters or ASCII escapes, so this conversion never replaces anything.
    String::from_utf8(to_vec(value))
        .unwrap_or_else(|broken| String::from_utf8_lossy(broken.as_bytes()).into())
}

/// Formats the value as compact JSON.
impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&to_string(self))
    }
}

/// Parses JSON within the default [`Limits`].
impl FromStr for Value {
    type Err = Error;

    fn from_str(text: &str) -> Result<Value, Error> {
        parse(text.as_bytes(), &Limits::default())
    }
}
