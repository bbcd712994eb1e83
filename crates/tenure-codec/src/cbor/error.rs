//! Decoding errors, with the byte and the path of the field.

use std::fmt;

/// An error in a CBOR document, and where.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Error {
    /// The offset of the data item in the document.
    pub offset: usize,
    /// The path of the field: `spec.containers[0].name`; empty for the document itself.
    pub path: String,
    /// What is wrong.
    pub kind: ErrorKind,
}

/// What is wrong with a CBOR document.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ErrorKind {
    /// The document ends inside a data item.
    #[error("unexpected end of the document")]
    Truncated,
    /// There are bytes after the document.
    #[error("{0} bytes after the end of the document")]
    Extraneous(usize),
    /// The first byte of a data item means nothing.
    #[error("{0:#04x} does not start a data item")]
    Head(u8),
    /// An indefinite string has a chunk that is not a definite string of the same type.
    #[error("a chunk of an indefinite-length string must be a definite-length string of the same type")]
    Chunk,
    /// A map has a key twice.
    #[error("found duplicate map key {0:?}")]
    DuplicateKey(String),
    /// A key of a map is not a string.
    #[error("map key must be a string, got {0}")]
    Key(&'static str),
    /// A string is not UTF-8.
    #[error("invalid UTF-8 string")]
    Utf8,
    /// An integer does not fit 64 signed bits.
    #[error("integer is out of range; it must fit 64 signed bits")]
    Integer,
    /// A float is NaN or infinite.
    #[error("floating-point {0} has no representation in JSON")]
    Float(&'static str),
    /// A simple value other than false, true and null.
    #[error("simple value {0} is not accepted; only false, true and null are")]
    Simple(u8),
    /// A tag that is not accepted.
    #[error("tag {0} (bignum) is not accepted")]
    Bignum(u64),
    /// The content of a time tag is not a time.
    #[error("tag {0} must enclose {1}")]
    Time(u64, &'static str),
    /// Lists, maps and tags are nested too deep.
    #[error("nested more than {0} levels deep")]
    Depth(usize),
    /// There are too many values.
    #[error("the document has more than {0} values")]
    Nodes(usize),
    /// The document is too long.
    #[error("the document has {bytes} bytes; at most {limit} are accepted")]
    Bytes {
        /// Its length.
        bytes: usize,
        /// The maximum length.
        limit: usize,
    },
}

impl Error {
    pub(crate) fn new(offset: usize, kind: ErrorKind) -> Box<Error> {
        Box::new(Error { offset, path: String::new(), kind })
    }

    /// Prepends the name of an enclosing field, or the position in an enclosing list, to the path.
    pub(crate) fn within(mut self: Box<Error>, name: &str) -> Box<Error> {
        if !self.path.is_empty() && !self.path.starts_with('[') {
            self.path.insert(0, '.');
        }
        self.path.insert_str(0, shortened(name));
        self
    }
}

/// How many bytes of a name an error shows.
const SHOWN: usize = 64;

/// Returns the beginning of a name, so that the path of a deep and hostile document stays short.
pub(crate) fn shortened(name: &str) -> &str {
    let end = (0..=SHOWN.min(name.len())).rev().find(|at| name.is_char_boundary(*at));
    &name[..end.unwrap_or_default()]
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "byte {}", self.offset)?;
        if !self.path.is_empty() {
            write!(f, ", in {}", self.path)?;
        }
        write!(f, ": {}", self.kind)
    }
}

impl std::error::Error for Error {}
