//! Why bytes could not be read, and in which field.

use std::fmt;

/// What is wrong with a protobuf document, and where.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Error {
    /// The field, in the words of JSON: `spec.containers[0].name`; empty for the document itself.
    pub path: String,
    /// What is wrong, and what would be right.
    pub fault: Fault,
}

/// What is wrong with a protobuf document.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Fault {
    /// The first bytes are others.
    #[error("does not begin with the bytes 6b 38 73 00 (\"k8s\" and a zero)")]
    NoPrefix,
    /// The document or a part of it stops early.
    #[error("the bytes end before the value does")]
    Cut,
    /// A number has too many bytes or does not fit.
    #[error("a number takes more than 64 bits")]
    Number,
    /// The key of a field makes no sense.
    #[error(
        "a field has the number {0} and the wire type {1}; numbers begin with 1, wire types are 0, 1, 2 and 5"
    )]
    Key(u64, u8),
    /// A field is written as something else than its type.
    #[error("is written with wire type {found}, expected {wanted}")]
    WireType {
        /// What was found.
        found: u8,
        /// What the field's type is written with.
        wanted: u8,
    },
    /// A row of the table of messages does not compile.
    #[error("data/protobuf.json: {0}")]
    Table(String),
    /// A string is not UTF-8.
    #[error("is not valid UTF-8")]
    Utf8,
    /// A value that only looks like its type.
    #[error("{0}")]
    Value(String),
    /// Messages are nested too deeply.
    #[error("is nested more than {0} levels deep")]
    Depth(usize),
    /// There are too many values.
    #[error("has more than {0} values")]
    Nodes(usize),
    /// The document is too long.
    #[error("has more than {0} bytes")]
    Bytes(usize),
    /// The kind has no protobuf form.
    #[error("no kind {kind:?} is registered for version {api_version:?} in protobuf")]
    Kind {
        /// The version.
        api_version: String,
        /// The kind.
        kind: String,
    },
}

impl From<Fault> for Error {
    fn from(fault: Fault) -> Error {
        Error { path: String::new(), fault }
    }
}

impl Error {
    /// Returns this error as seen from around: the name of the field comes first.
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
        self.fault.fmt(f)
    }
}

impl std::error::Error for Error {}
