//! What can go wrong when history is read.

use thiserror::Error;

/// A failure to read or rebuild history.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum HistoryError {
    /// A record is not one that this crate wrote, or was damaged.
    #[error("the history record of revision {revision} cannot be read: {problem}")]
    Damaged {
        /// The revision of the record.
        revision: u64,
        /// What is wrong with it.
        problem: String,
    },
    /// The records do not lead further back: older ones were trimmed, or writes were not recorded.
    #[error(
        "the history of this object begins after revision {oldest}; older changes were trimmed or not recorded"
    )]
    TooOld {
        /// The oldest revision that can be rebuilt.
        oldest: u64,
    },
    /// The object did not exist at the requested revision.
    #[error("the object did not exist at revision {revision}")]
    Absent {
        /// The requested revision.
        revision: u64,
    },
    /// A path cannot be read.
    #[error("{path}: {problem}")]
    Path {
        /// The path as given.
        path: String,
        /// What is wrong with it.
        problem: String,
    },
}

/// The reason why bytes are not a record.
pub(crate) type Problem = String;
