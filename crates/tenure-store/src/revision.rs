//! The store's clock: one number, raised by every transaction that changes something.

use std::fmt;

/// A state of the whole store: what it held after the transaction of this number.
///
/// Revisions only grow and are never given twice. They are ordered, but there is no arithmetic on them: a
/// caller gets one from the store and hands it back.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Revision(u64);

impl Revision {
    /// The empty store, before its first write.
    pub const ZERO: Revision = Revision(0);

    /// Takes back a number that [`Revision::get`] once gave, from a client or from a file.
    pub const fn from_number(number: u64) -> Revision {
        Revision(number)
    }

    /// Returns the number, to show to a client or to write to a file.
    pub const fn get(self) -> u64 {
        self.0
    }

    /// Returns the revision that the next transaction gets.
    pub(crate) const fn next(self) -> Revision {
        Revision(self.0 + 1)
    }

    /// Returns a revision that leaves so many unused.
    pub(crate) const fn skip(self, count: u64) -> Revision {
        Revision(self.0.saturating_add(count))
    }

    /// Returns the revision `count` transactions before this one, or zero.
    pub(crate) const fn back(self, count: u64) -> Revision {
        Revision(self.0.saturating_sub(count))
    }

    /// Returns how many transactions lie between an earlier revision and this one.
    pub(crate) const fn since(self, earlier: Revision) -> u64 {
        self.0.saturating_sub(earlier.0)
    }
}

impl fmt::Display for Revision {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}
