//! Decoding errors, with the path of the field.

use std::fmt;

/// An error in a protobuf document, and where.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Error {
    /// The path of the field as in JSON: `spec.containers[0].name`; empty for the document itself.
    pub path: String,
    /// What is wrong.
    pub kind: ErrorKind,
}

/// What is wrong with a protobuf document.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ErrorKind {
    /// The prefix is missing.
    #[error("does not start with the bytes 6b 38 73 00 (\"k8s\" and a zero)")]
    NoPrefix,
    /// The document or a part of it is truncated.
    #[error("the value is truncated")]
    Truncated,
    /// A number has too many bytes or exceeds its range.
    #[error("a number exceeds 64 bits")]
    Number,
    /// The key of a field is invalid.
    #[error(
        "a field has the number {0} and the wire type {1}; numbers start at 1, wire types are 0, 1, 2 and 5"
    )]
    Key(u64, u8),
    /// A field has another wire type than its declared type.
    #[error("has wire type {found}, expected {wanted}")]
    WireType {
        /// What was found.
        found: u8,
        /// The wire type of the declared type.
        wanted: u8,
    },
    /// A string is not UTF-8.
    #[error("is not valid UTF-8")]
    Utf8,
    /// An invalid value.
    #[error("{0}")]
    Value(String),
    /// Messages are nested too deep.
    #[error("is nested more than {0} levels deep")]
    Depth(usize),
    /// There are too many values.
    #[error("has more than {0} values")]
    Nodes(usize),
    /// The document is too long.
    #[error("has more than {0} bytes")]
    Bytes(usize),
    /// The kind has no protobuf encoding.
    #[error("no kind {kind:?} is registered for version {api_version:?} in protobuf")]
    Kind {
        /// The version.
        api_version: String,
        /// The kind.
        kind: String,
    },
}

impl From<ErrorKind> for Error {
    fn from(kind: ErrorKind) -> Error {
        Error { path: String::new(), kind }
    }
}

impl Error {
    /// Prepends the name of the enclosing field to the path.
    pub(super) fn within(mut self, name: &str) -> Error {
        if !self.path.is_empty() && !self.path.starts_with('[') {
            self.path.insert(0, '.');
        }
        self.path.insert_str(0, name);
        self
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.path.is_empty() {
            write!(f, "{}: ", self.path)?;
        }
        self.kind.fmt(f)
    }
}

impl std::error::Error for Error {}
