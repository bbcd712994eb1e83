//! YAML as Kubernetes reads and `kubectl` prints it. The grammar comes from `saphyr-parser`; the meaning of
//! scalars, keys and merges is defined here.

mod message;
mod read;
mod scalar;
mod write;

pub use message::{duplicates_message, error_message};
pub use read::{parse, parse_all, parse_all_checked, parse_checked};
pub use write::{Line, to_lines, to_string};

use crate::{Duplicate, Error, Limits, Value, json};

/// Parses a document that is JSON or YAML, such as the body of an apply request.
pub fn parse_any(text: &[u8], limits: &Limits) -> Result<Value, Error> {
    parse_any_checked(text, limits).map(|(value, _)| value)
}

/// Parses a document that is JSON or YAML, and returns the fields that occur more than once in an object. A
/// text that starts like JSON is first parsed as JSON, which is much faster; if that fails it may still be
/// YAML.
pub fn parse_any_checked(text: &[u8], limits: &Limits) -> Result<(Value, Vec<Duplicate>), Error> {
    parse_json_checked(text, limits).unwrap_or_else(|| parse_checked(text, limits))
}

/// Parses a document that is JSON; `None` if it is not, so that it can only be YAML. JSON is one document: it
/// cannot contain the line that begins the next one.
pub fn parse_json_checked(text: &[u8], limits: &Limits) -> Option<Result<(Value, Vec<Duplicate>), Error>> {
    if !text.trim_ascii_start().starts_with(b"{") {
        return None;
    }
    match json::parse_as_yaml(text, limits) {
        Err(Error::Syntax { .. } | Error::Number { .. }) => None,
        parsed => Some(parsed),
    }
}
