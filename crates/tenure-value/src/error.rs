//! The crate's one error. Every variant that comes from a text says where in it; the words of a syntax
//! problem are those that clients of Kubernetes already know.

use std::fmt;

/// A place in a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Position {
    /// The number of bytes before it.
    pub offset: usize,
    /// The line, counted from 1.
    pub line: usize,
    /// The character of the line, counted from 1.
    pub column: usize,
}

impl Position {
    /// Finds line and column of a byte offset.
    pub fn of(text: &[u8], offset: usize) -> Position {
        let before = text.get(..offset).unwrap_or(text);
        let line = before.iter().filter(|byte| **byte == b'\n').count() + 1;
        let start = before.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
        let starts_character = |byte: &&u8| **byte & 0xC0 != 0x80;
        let column = before.iter().skip(start).filter(starts_character).count() + 1;
        Position { offset, line, column }
    }
}

impl fmt::Display for Position {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}, column {}", self.line, self.column)
    }
}

/// Why a text is not a document, or a document is not the type it should be.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The text breaks the grammar.
    #[error("{position}{}: {problem}", within(.path))]
    Syntax {
        /// What was found, and in the place of what.
        problem: String,
        /// Where it was found.
        position: Position,
        /// The field being read, such as `spec.ports[1]`; empty at the top.
        path: String,
    },
    /// A number has no finite 64-bit float.
    #[error("{position}{}: number {number} is out of range", within(.path))]
    Number {
        /// The number as written.
        number: String,
        /// Where it begins.
        position: Position,
        /// The field that holds it.
        path: String,
    },
    /// The text is longer than the limit.
    #[error("the document has {bytes} bytes; at most {limit} are accepted")]
    TooLarge {
        /// How long it is.
        bytes: usize,
        /// How long it may be.
        limit: usize,
    },
    /// Lists and objects are nested more deeply than the limit.
    #[error("{position}: more than {limit} lists and objects inside one another")]
    TooDeep {
        /// Where the limit was passed.
        position: Position,
        /// How deep the document may be.
        limit: usize,
    },
    /// There are more values than the limit, aliases expanded.
    #[error("{position}: the document has more than {limit} values")]
    TooManyNodes {
        /// Where the limit was passed.
        position: Position,
        /// How many values there may be.
        limit: usize,
    },
    /// Aliases make the document larger than the limit.
    #[error("{position}: aliases expand the document to more than {limit} bytes")]
    ExpandedTooLarge {
        /// Where the limit was passed.
        position: Position,
        /// How many bytes names and scalars may have together.
        limit: usize,
    },
    /// A typed value has no document, or a document does not fit the type.
    #[error("{path}{}{problem}", if .path.is_empty() { "" } else { ": " })]
    Conversion {
        /// The field, such as `spec.ports[1]`; empty at the top.
        path: String,
        /// What does not fit, and what would.
        problem: String,
    },
}

fn within(path: &str) -> String {
    if path.is_empty() { String::new() } else { format!(", in {path}") }
}

impl Error {
    /// Returns what is wrong without saying where.
    pub fn problem(&self) -> String {
        match self {
            Error::Syntax { problem, .. } | Error::Conversion { problem, .. } => problem.clone(),
            Error::Number { number, .. } => format!("number {number} is out of range"),
            Error::TooLarge { .. } => self.to_string(),
            Error::TooDeep { limit, .. } => format!("more than {limit} lists and objects inside one another"),
            Error::TooManyNodes { limit, .. } => format!("the document has more than {limit} values"),
            Error::ExpandedTooLarge { limit, .. } => {
                format!("aliases expand the document to more than {limit} bytes")
            }
        }
    }

    /// Returns where in the text it is wrong, where that is known.
    pub fn position(&self) -> Option<Position> {
        match self {
            Error::Syntax { position, .. }
            | Error::Number { position, .. }
            | Error::TooDeep { position, .. }
            | Error::TooManyNodes { position, .. }
            | Error::ExpandedTooLarge { position, .. } => Some(*position),
            Error::TooLarge { .. } | Error::Conversion { .. } => None,
        }
    }
}

/// A name that occurs twice in one object; the later value was taken.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Duplicate {
    /// The object, such as `spec.ports[1]`; empty at the top.
    pub object: String,
    /// The name.
    pub name: crate::Text,
    /// Where it stands first.
    pub first: Position,
    /// Where it stands again.
    pub again: Position,
}

impl Duplicate {
    /// How many are reported of one document.
    pub const MOST: usize = 100;

    /// Returns the path of the field, such as `spec.ports[1].name`.
    pub fn path(&self) -> String {
        if self.object.is_empty() { self.name.to_string() } else { format!("{}.{}", self.object, self.name) }
    }
}

impl fmt::Display for Duplicate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: duplicate field \"{}\", first at {}", self.again, self.path(), self.first)
    }
}
