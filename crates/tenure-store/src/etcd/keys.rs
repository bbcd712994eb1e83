//! The keys under the prefix. Entries have a prefix of their own, so that the keys that the store needs for itself can be
//! watched in the same order without being mistaken for entries.

use super::revisions::Slot;
use crate::index::successor;
use bytes::Bytes;

/// The length of what follows the key in the name of a ledger record.
const RECORD_SUFFIX: usize = 1 + 32 + 16 + 2;

/// The names under the prefix.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Keys {
    prefix: String,
}

/// The meaning of a key under the prefix.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Meaning<'a> {
    /// An entry of the store.
    Entry(&'a [u8]),
    /// The mark of a server: the last transaction that it committed.
    Mark(&'a [u8]),
    /// The store is frozen.
    Freeze,
    /// A ledger record about a key.
    Record(&'a [u8]),
    /// A key without meaning for the mirror.
    Other,
}

impl Keys {
    pub(super) fn under(prefix: &str) -> Keys {
        Keys { prefix: prefix.to_owned() }
    }

    /// The format and the offset of the revisions.
    pub(super) fn format(&self) -> Bytes {
        self.name("format")
    }

    /// Present while the store is frozen.
    pub(super) fn freeze(&self) -> Bytes {
        self.name("frozen")
    }

    /// Held by the leader.
    pub(super) fn leader(&self) -> Bytes {
        self.name("leader")
    }

    /// Written by every batch of a server.
    pub(super) fn mark(&self, server: &str) -> Bytes {
        self.name(&format!("mark/{server}"))
    }

    /// Required to be unchanged by every batch of a server.
    pub(super) fn fence(&self, server: &str) -> Bytes {
        self.name(&format!("fence/{server}"))
    }

    pub(super) fn marks(&self) -> (Bytes, Bytes) {
        range(self.name("mark/"))
    }

    /// Returns the server that a mark is of.
    pub(super) fn server_of_mark<'a>(&self, key: &'a [u8]) -> Option<&'a str> {
        match self.meaning(key) {
            Meaning::Mark(server) => std::str::from_utf8(server).ok(),
            _ => None,
        }
    }

    pub(super) fn entry(&self, key: &[u8]) -> Bytes {
        let mut name = Vec::with_capacity(self.prefix.len() + 5 + key.len());
        name.extend_from_slice(self.prefix.as_bytes());
        name.extend_from_slice(b"data/");
        name.extend_from_slice(key);
        name.into()
    }

    pub(super) fn entries(&self) -> (Bytes, Bytes) {
        range(self.name("data/"))
    }

    /// The ledger record that a transaction, known by its server, batch and slot, leaves about a key.
    pub(super) fn record(&self, key: &[u8], server: &str, number: u64, slot: Slot) -> Bytes {
        let mut name = Vec::with_capacity(self.prefix.len() + 4 + key.len() + RECORD_SUFFIX);
        name.extend_from_slice(self.prefix.as_bytes());
        name.extend_from_slice(b"log/");
        name.extend_from_slice(key);
        name.extend_from_slice(format!("/{server:0>32.32}{number:016x}{:02x}", slot.byte()).as_bytes());
        name.into()
    }

    pub(super) fn records(&self) -> (Bytes, Bytes) {
        range(self.name("log/"))
    }

    pub(super) fn all(&self) -> (Bytes, Bytes) {
        range(self.name(""))
    }

    pub(super) fn meaning<'a>(&self, key: &'a [u8]) -> Meaning<'a> {
        let Some(name) = key.strip_prefix(self.prefix.as_bytes()) else { return Meaning::Other };
        if let Some(entry) = name.strip_prefix(b"data/") {
            return Meaning::Entry(entry);
        }
        if let Some(record) = name.strip_prefix(b"log/") {
            let key = record.len().checked_sub(RECORD_SUFFIX).and_then(|length| record.get(..length));
            return key.map_or(Meaning::Other, Meaning::Record);
        }
        match name.strip_prefix(b"mark/") {
            Some(server) => Meaning::Mark(server),
            None if name == b"frozen" => Meaning::Freeze,
            None => Meaning::Other,
        }
    }

    fn name(&self, name: &str) -> Bytes {
        format!("{}{name}", self.prefix).into()
    }
}

/// Returns the range of all keys with a prefix, as etcd writes it.
fn range(prefix: Bytes) -> (Bytes, Bytes) {
    // A single zero byte is etcd's way to say "to the end".
    let end = successor(&prefix).unwrap_or_else(|| vec![0]);
    (prefix, end.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_have_the_meaning_that_they_were_made_for() {
        let keys = Keys::under("/tenure/");
        assert_eq!(keys.meaning(&keys.entry(b"frozen")), Meaning::Entry(b"frozen"));
        assert_eq!(keys.meaning(&keys.mark("a")), Meaning::Mark(b"a"));
        let record = keys.record(b"k/1", "0123456789abcdef0123456789abcdef", 7, Slot::at(3));
        assert_eq!(keys.meaning(&record), Meaning::Record(b"k/1"));
        assert_eq!(keys.server_of_mark(&keys.mark("a")), Some("a"));
        assert_eq!(keys.meaning(&keys.freeze()), Meaning::Freeze);
        for other in [keys.format(), keys.leader(), keys.fence("a"), "/else".into()] {
            assert_eq!(keys.meaning(&other), Meaning::Other);
        }
        assert_eq!(keys.entries(), ("/tenure/data/".into(), "/tenure/data0".into()));
    }
}
