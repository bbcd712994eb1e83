//! The error of an assertion that does not hold. It shows the expected and the actual state, also when a test unwraps it.

use std::fmt;

/// Why an assertion does not hold.
#[derive(Clone, PartialEq, Eq)]
pub struct AssertionError(String);

impl AssertionError {
    pub(crate) fn new(text: impl Into<String>) -> AssertionError {
        AssertionError(text.into())
    }
}

impl fmt::Display for AssertionError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// As readable as [`Display`](fmt::Display): this is what `unwrap` prints.
impl fmt::Debug for AssertionError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self}")
    }
}

impl std::error::Error for AssertionError {}
