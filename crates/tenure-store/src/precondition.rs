//! Preconditions of a transaction: what it expects of a key, and the conflict when the key is different.

use crate::{Entry, Revision};
use bytes::Bytes;
use std::fmt;

/// The state in which a transaction expects a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Expected {
    /// No expectation: the key may exist or not.
    Anything,
    /// The key does not exist.
    Absent,
    /// The key exists, at any revision.
    Present,
    /// The key exists and was last modified at this revision.
    At(Revision),
}

impl Expected {
    /// Tells whether the current entry of a key meets the expectation.
    pub fn holds(self, current: Option<&Entry>) -> bool {
        match self {
            Expected::Anything => true,
            Expected::Absent => current.is_none(),
            Expected::Present => current.is_some(),
            Expected::At(revision) => current.is_some_and(|entry| entry.modified == revision),
        }
    }
}

impl fmt::Display for Expected {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Expected::Anything => f.write_str("anything"),
            Expected::Absent => f.write_str("it to be absent"),
            Expected::Present => f.write_str("it to be present"),
            Expected::At(revision) => write!(f, "revision {revision}"),
        }
    }
}

/// A key that was not in the state that a transaction expected.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Conflict {
    /// The key.
    pub key: Bytes,
    /// What the transaction expected.
    pub expected: Expected,
    /// The current entry, so that a retry needs no further read.
    pub current: Option<Entry>,
}

impl fmt::Display for Conflict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let key = self.key.escape_ascii();
        match &self.current {
            Some(entry) => {
                write!(f, "{key}: expected {}, but it is at revision {}", self.expected, entry.modified)
            }
            None => write!(f, "{key}: expected {}, but it is absent", self.expected),
        }
    }
}
