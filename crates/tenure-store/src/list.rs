//! Reading many entries: the request and the answer.

use crate::{Entry, Revision};
use bytes::Bytes;

/// Asks for the entries under a prefix, in the order of their keys.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ListRequest {
    /// What the keys start with; empty for all.
    pub prefix: Bytes,
    /// The first key to give, from [`Listing::next`] of the page before; empty for the beginning.
    pub from: Bytes,
    /// The most entries to give; none for all of them, zero to only count.
    pub limit: Option<usize>,
    /// The revision to read at; none for the current one.
    pub at: Option<Revision>,
}

impl ListRequest {
    /// Asks for all current entries under a prefix.
    pub fn prefix(prefix: impl Into<Bytes>) -> ListRequest {
        ListRequest { prefix: prefix.into(), ..ListRequest::default() }
    }

    /// Starts at this key.
    pub fn from(self, key: impl Into<Bytes>) -> ListRequest {
        ListRequest { from: key.into(), ..self }
    }

    /// Gives at most so many entries.
    pub fn limit(self, limit: usize) -> ListRequest {
        ListRequest { limit: Some(limit), ..self }
    }

    /// Reads the state at this revision.
    pub fn at(self, revision: Revision) -> ListRequest {
        ListRequest { at: Some(revision), ..self }
    }
}

/// Entries under a prefix as they were at one revision.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Listing {
    /// The entries in the order of their keys.
    pub entries: Vec<Entry>,
    /// The revision they were read at; a watch after it misses nothing.
    pub revision: Revision,
    /// How many more entries follow.
    pub remaining: usize,
    /// The key of the first of those, with which the next page starts.
    pub next: Option<Bytes>,
}
