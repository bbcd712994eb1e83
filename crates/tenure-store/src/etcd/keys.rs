//! Where everything lies under the prefix. The entries have a place of their own, so that what the store notes for
//! itself can be watched in the same order without being mistaken for them.

use crate::index::successor;
use bytes::Bytes;

/// The names under the prefix.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Keys {
    prefix: String,
}

/// What a key under the prefix is.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Meaning<'a> {
    /// An entry of the store.
    Entry(&'a [u8]),
    /// The mark of a server: the last transaction that it committed.
    Mark(&'a [u8]),
    /// That writing is not allowed.
    Freeze,
    /// Something that concerns others.
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

    /// Present while nothing may be written.
    pub(super) fn freeze(&self) -> Bytes {
        self.name("frozen")
    }

    /// Held by the server that leads.
    pub(super) fn leader(&self) -> Bytes {
        self.name("leader")
    }

    /// Written by every transaction of a server.
    pub(super) fn mark(&self, server: &str) -> Bytes {
        self.name(&format!("mark/{server}"))
    }

    /// What every transaction of a server requires to be unchanged.
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

    pub(super) fn all(&self) -> (Bytes, Bytes) {
        range(self.name(""))
    }

    pub(super) fn meaning<'a>(&self, key: &'a [u8]) -> Meaning<'a> {
        let Some(name) = key.strip_prefix(self.prefix.as_bytes()) else { return Meaning::Other };
        if let Some(entry) = name.strip_prefix(b"data/") {
            return Meaning::Entry(entry);
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
    fn names_mean_what_they_were_made_for() {
        let keys = Keys::under("/tenure/");
        assert_eq!(keys.meaning(&keys.entry(b"frozen")), Meaning::Entry(b"frozen"));
        assert_eq!(keys.meaning(&keys.mark("a")), Meaning::Mark(b"a"));
        assert_eq!(keys.server_of_mark(&keys.mark("a")), Some("a"));
        assert_eq!(keys.meaning(&keys.freeze()), Meaning::Freeze);
        for other in [keys.format(), keys.leader(), keys.fence("a"), "/else".into()] {
            assert_eq!(keys.meaning(&other), Meaning::Other);
        }
        assert_eq!(keys.entries(), ("/tenure/data/".into(), "/tenure/data0".into()));
    }
}
