//! Listing entries: the request and the answer.

use crate::{Entry, Revision};
use bytes::Bytes;

/// A request for the entries under a prefix, in the order of their keys.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ListRequest {
    /// The prefix of the keys; empty for all keys.
    pub prefix: Bytes,
    /// The first key to return, from [`Listing::next`] of the page before; empty for the beginning.
    pub from: Bytes,
    /// The most entries to return; `None` for all, zero to only count.
    pub limit: Option<usize>,
    /// The revision to read at; `None` for the current one.
    pub at: Option<Revision>,
}

impl ListRequest {
    /// Requests all current entries under a prefix.
    pub fn prefix(prefix: impl Into<Bytes>) -> ListRequest {
        ListRequest { prefix: prefix.into(), ..ListRequest::default() }
    }

    /// Starts at this key.
    pub fn from(self, key: impl Into<Bytes>) -> ListRequest {
        ListRequest { from: key.into(), ..self }
    }

    /// Limits the number of entries.
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
    /// The number of further entries.
    pub remaining: usize,
    /// The key of the first further entry, with which the next page starts.
    pub next: Option<Bytes>,
}
