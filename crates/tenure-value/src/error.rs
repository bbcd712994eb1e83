//! The error type of the crate. Every variant that comes from a text has a position; the messages of syntax errors are
//! those of Kubernetes.

use std::fmt;

/// A position in a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Position {
    /// The byte offset.
    pub offset: usize,
    /// The line, counted from 1.
    pub line: usize,
    /// The column in characters, counted from 1.
    pub column: usize,
}

impl Position {
    /// Returns the position of a byte offset.
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

/// Why a text is not a valid document, or a document does not convert to a type.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The syntax is invalid.
    #[error("{position}{}: {problem}", within(.path))]
    Syntax {
        /// What was found, and in which context.
        problem: String,
        /// Where it was found.
        position: Position,
        /// The field being parsed, such as `spec.ports[1]`; empty at the root.
        path: String,
    },
    /// A number exceeds the range of 64-bit floats.
    #[error("{position}{}: number {number} is out of range", within(.path))]
    Number {
        /// The number as written.
        number: String,
        /// Where it begins.
        position: Position,
        /// The field that contains it.
        path: String,
    },
    /// The text is longer than the limit.
    #[error("the document has {bytes} bytes; at most {limit} are accepted")]
    TooLarge {
        /// Its length.
        bytes: usize,
        /// The maximum length.
        limit: usize,
    },
    /// Lists and objects are nested more deeply than the limit.
    #[error("{position}: nested more than {limit} levels deep")]
    TooDeep {
        /// Where the limit was exceeded.
        position: Position,
        /// The maximum depth.
        limit: usize,
    },
    /// The document has more values than the limit, with aliases expanded.
    #[error("{position}: the document has more than {limit} values")]
    TooManyNodes {
        /// Where the limit was exceeded.
        position: Position,
        /// The maximum number of values.
        limit: usize,
    },
    /// Aliases expand the document beyond the limit.
    #[error("{position}: aliases expand the document to more than {limit} bytes")]
    ExpandedTooLarge {
        /// Where the limit was exceeded.
        position: Position,
        /// The maximum number of bytes of all names and scalars.
        limit: usize,
    },
    /// A typed value cannot be represented as a document, or a document does not match the type.
    #[error("{path}{}{problem}", if .path.is_empty() { "" } else { ": " })]
    Conversion {
        /// The field, such as `spec.ports[1]`; empty at the root.
        path: String,
        /// What does not match, and what would.
        problem: String,
    },
}

fn within(path: &str) -> String {
    if path.is_empty() { String::new() } else { format!(", in {path}") }
}

impl Error {
    /// Returns the message without the position.
    pub fn problem(&self) -> String {
        match self {
            Error::Syntax { problem, .. } | Error::Conversion { problem, .. } => problem.clone(),
            Error::Number { number, .. } => format!("number {number} is out of range"),
            Error::TooLarge { .. } => self.to_string(),
            Error::TooDeep { limit, .. } => format!("nested more than {limit} levels deep"),
            Error::TooManyNodes { limit, .. } => format!("the document has more than {limit} values"),
            Error::ExpandedTooLarge { limit, .. } => {
                format!("aliases expand the document to more than {limit} bytes")
            }
        }
    }

    /// Returns the position in the text, if it is known.
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

/// A name that occurs more than once in an object, of which the last value was used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Duplicate {
    /// The object, such as `spec.ports[1]`; empty at the root.
    pub object: String,
    /// The name.
    pub name: crate::Text,
    /// The position of the first occurrence.
    pub first: Position,
    /// The position of a later occurrence.
    pub again: Position,
}

impl Duplicate {
    /// The maximum number of duplicates reported for a document.
    pub const MAX: usize = 100;

    /// How many bytes of the path of an object, and of a name, are reported.
    const MOST_BYTES: usize = 4096;

    /// Makes a report; a path or a name that is very long is cut.
    pub(crate) fn new(object: &str, name: &str, first: Position, again: Position) -> Duplicate {
        let cut = |text: &str| match text.len() > Duplicate::MOST_BYTES {
            true => {
                let end = (0..=Duplicate::MOST_BYTES).rev().find(|at| text.is_char_boundary(*at));
                format!("{}…", &text[..end.unwrap_or(0)])
            }
            false => text.to_string(),
        };
        Duplicate { object: cut(object), name: cut(name).into(), first, again }
    }

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
