//! The logical clock of the store: a number that every transaction increments that changes something.

use std::fmt;

/// A state of the whole store: its content after the transaction of this number.
///
/// Revisions only grow and are never assigned twice. They are ordered, but there is no arithmetic on them: a caller gets one
/// from the store and passes it back.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Revision(u64);

impl Revision {
    /// The empty store, before its first write.
    pub const ZERO: Revision = Revision(0);

    /// Creates a revision from the number that [`Revision::get`] returned, from a client or a file.
    pub const fn from_number(number: u64) -> Revision {
        Revision(number)
    }

    /// Returns the number, for a client or a file.
    pub const fn get(self) -> u64 {
        self.0
    }

    /// Returns the revision of the next transaction.
    pub(crate) const fn next(self) -> Revision {
        Revision(self.0 + 1)
    }

    /// Returns the revision `count` after this one.
    pub(crate) const fn skip(self, count: u64) -> Revision {
        Revision(self.0.saturating_add(count))
    }

    /// Returns the revision `count` transactions before this one, or zero.
    #[cfg(test)]
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
