//! The error type of the crate. A variant about a text has a position; a variant about a document has the
//! path, formatted as in conflict messages.

use crate::PathElement;
use tenure_value::Position;

/// Why a text is not a valid field set or path, or a document does not match its type.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The text is not a field set in JSON.
    #[error("{position}: {problem}")]
    Syntax {
        /// What was found, and what was expected.
        problem: String,
        /// Where it was found.
        position: Position,
    },
    /// A member name of a field set is not a path element.
    #[error("{name:?} is not a path element: {problem}")]
    Element {
        /// The member name.
        name: String,
        /// What is wrong, and what would be right.
        problem: String,
    },
    /// A text is not a path, or not a path in the given document.
    #[error("{text:?}, byte {offset}: {problem}")]
    Path {
        /// The text.
        text: String,
        /// The byte offset of the problem.
        offset: usize,
        /// What is wrong, and what would be right.
        problem: String,
    },
    /// A document does not match its type.
    #[error("{path}: {problem}")]
    Document {
        /// The path in the document, as in conflict messages.
        path: String,
        /// What is wrong, and what would be right.
        problem: String,
    },
    /// The set is nested deeper than any document may be.
    #[error("the field set is nested more than {limit} levels deep")]
    TooDeep {
        /// The maximum number of levels.
        limit: usize,
    },
    /// The bytes are not the binary encoding of a field set or of the managers of an object.
    #[error("byte {at}: {problem}")]
    Compact {
        /// The byte offset of the problem.
        at: usize,
        /// What was found, and what was expected.
        problem: String,
    },
    /// The set was encoded with a string table that this release does not have.
    #[error(
        "unknown table {version}; this release supports tables up to {newest}, the data was written by a later release"
    )]
    UnknownTable {
        /// The version of the table.
        version: u32,
        /// The newest supported version.
        newest: u32,
    },
    /// No encoding has this name.
    #[error("unknown encoding {name:?}; expected one of {names}")]
    UnknownEncoding {
        /// The name.
        name: String,
        /// The valid names.
        names: String,
    },
    /// A string table file is invalid.
    #[error("string table, line {line}: {problem}")]
    Table {
        /// The line, counted from 1.
        line: usize,
        /// What was expected.
        problem: String,
    },
    /// A document exceeds the size limit.
    #[error(
        "the field sets exceed the size limit of {limit}, counting 16 for each node and 1 for each byte of a name"
    )]
    TooLarge {
        /// The limit.
        limit: u64,
    },
}

impl Error {
    /// Prepends an element to the path of an error about a document.
    pub(crate) fn below(mut self, element: &PathElement) -> Error {
        if let Error::Document { path, .. } = &mut self {
            *path = format!("{element}{path}");
        }
        self
    }
}
