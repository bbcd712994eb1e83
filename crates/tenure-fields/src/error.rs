//! The crate's one error. A variant about a text says where in it; a variant about a document names the
//! path, as conflict messages print it.

use crate::PathElement;
use tenure_value::Position;

/// Why a text is not a field set or a path, or a document does not fit its type.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
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
