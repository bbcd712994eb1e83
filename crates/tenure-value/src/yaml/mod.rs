//! YAML in and out, the way Kubernetes reads and shows it. The grammar is `saphyr-parser`'s; what a scalar
//! means, how keys become names and what merging does is decided here.

mod message;
mod read;
mod scalar;
mod write;

pub use message::{duplicates_message, error_message};
pub use read::{parse, parse_all, parse_all_checked, parse_checked};
pub use write::{Line, to_lines, to_string};

use crate::{Duplicate, Error, Limits, Value, json};

/// Reads one document that may be JSON or YAML, as the body of an apply may.
pub fn parse_any(text: &[u8], limits: &Limits) -> Result<Value, Error> {
    parse_any_checked(text, limits).map(|(value, _)| value)
}

/// Reads one document that may be JSON or YAML, and reports names that occur more than once in an object.
/// What begins like JSON is read as such first, which is far faster; what then is not JSON may still be YAML.
pub fn parse_any_checked(text: &[u8], limits: &Limits) -> Result<(Value, Vec<Duplicate>), Error> {
    if text.trim_ascii_start().starts_with(b"{") {
        match json::parse_as_yaml(text, limits) {
            Err(Error::Syntax { .. } | Error::Number { .. }) => {}
            other => return other,
        }
    }
    parse_checked(text, limits)
}
