//! The crate's one error. A variant about a text says where in it; a variant about a document names the
//! path, as conflict messages print it.

use crate::PathElement;
use tenure_value::Position;

/// Why a text is not a field set or a path, or a document does not fit its type.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The text is not the JSON of a field set.
    #[error("{position}: {problem}")]
    Syntax {
        /// What was found, and what would be right.
        problem: String,
        /// Where it was found.
        position: Position,
    },
    /// A member of a field set's JSON has a name that is not a path element.
    #[error("{name:?} is not a path element: {problem}")]
    Element {
        /// The member's name.
        name: String,
        /// What is wrong with it, and what would be right.
        problem: String,
    },
    /// A text is not a path, or not one into the document it was meant for.
    #[error("{text:?}, byte {offset}: {problem}")]
    Path {
        /// The text.
        text: String,
        /// How many bytes are before the place that is wrong.
        offset: usize,
        /// What is wrong there, and what would be right.
        problem: String,
    },
    /// A document does not fit its type.
    #[error("{path}: {problem}")]
    Document {
        /// The place in the document, as conflict messages print it.
        path: String,
        /// What is wrong there, and what would be right.
        problem: String,
    },
    /// The set is nested more deeply than any document may be.
    #[error("the field set has more than {limit} levels inside one another")]
    TooDeep {
        /// How many levels there may be.
        limit: usize,
    },
    /// The bytes are not the compact form of a field set or of an object's managers.
    #[error("byte {at}: {problem}")]
    Compact {
        /// How many bytes are before it.
        at: usize,
        /// What was found, and what would be right.
        problem: String,
    },
    /// The set was written with a table of strings that this release does not have.
    #[error(
        "table {version} is unknown; this release reads the tables up to {newest}, a later one wrote this"
    )]
    UnknownTable {
        /// The version of the table that is needed.
        version: u32,
        /// The newest version there is.
        newest: u32,
    },
    /// No form of a field set has this name.
    #[error("no form of a field set is named {name:?}; the forms are {names}")]
    UnknownForm {
        /// The name.
        name: String,
        /// The names there are.
        names: String,
    },
    /// The file of a table of strings is not one.
    #[error("line {line} of the table: {problem}")]
    Table {
        /// The line, counted from 1.
        line: usize,
        /// What would be right.
        problem: String,
    },
    /// A document holds more than may be written or read.
    #[error(
        "the field sets hold more than {limit}, counted as 16 for each node and 1 for each byte of a name"
    )]
    TooLarge {
        /// How much there may be.
        limit: u64,
    },
}

impl Error {
    /// Returns the error about a part of a document as one about the whole, of which the part is at `element`.
    pub(crate) fn below(mut self, element: &PathElement) -> Error {
        if let Error::Document { path, .. } = &mut self {
            *path = format!("{element}{path}");
        }
        self
    }
}
