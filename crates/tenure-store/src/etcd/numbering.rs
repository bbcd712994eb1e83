//! How the store's revisions are made of etcd's. Transactions that were waiting together go to etcd as one, and get one
//! revision there; the turn that each had in it is the lower part of its revision in the store. What must tell the
//! turn later has it written down: behind each value, and for deletions in the mark.

use crate::Revision;
use bytes::Bytes;

/// How many transactions could share a revision of etcd.
const TURNS: u64 = 128;

/// The place of a transaction among those that share its revision of etcd.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Turn(u8);

impl Turn {
    pub(super) const FIRST: Turn = Turn(0);
    /// No turn is after this one.
    pub(super) const LAST: Turn = Turn(127);

    /// Returns the turn with so many before it; there are at most 128.
    pub(super) fn at(place: usize) -> Turn {
        u8::try_from(place).map_or(Turn::LAST, Turn::from_byte)
    }

    pub(super) fn from_byte(byte: u8) -> Turn {
        Turn(byte).min(Turn::LAST)
    }

    pub(super) fn byte(self) -> u8 {
        self.0
    }
}

/// How far the store's revisions are above those made of etcd's. An import raises it, so that revisions never go back.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Offset(pub(super) u64);

impl Offset {
    /// Returns the least offset with which all revisions after this one of etcd are at least a certain number.
    pub(super) fn reaching(number: u64, etcd: u64) -> Offset {
        Offset(number.saturating_sub(etcd.saturating_mul(TURNS)))
    }

    pub(super) fn revision(self, etcd: i64, turn: Turn) -> Revision {
        let etcd = u64::try_from(etcd).unwrap_or(0).saturating_mul(TURNS);
        Revision::from_number(etcd.saturating_add(u64::from(turn.0)).saturating_add(self.0))
    }

    /// Returns etcd's number of a revision; none for one that is before all of etcd's.
    pub(super) fn etcd(self, revision: Revision) -> Option<i64> {
        let number = revision.get().checked_sub(self.0)? / TURNS;
        i64::try_from(number).ok().filter(|number| *number > 0)
    }

    /// Returns the turn of a revision.
    pub(super) fn turn(self, revision: Revision) -> Turn {
        Turn::at(usize::try_from(revision.get().saturating_sub(self.0) % TURNS).unwrap_or(0))
    }
}

/// The turns of the transactions that last changed an entry and that created it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Turns {
    pub(super) modified: Turn,
    pub(super) created: Turn,
}

/// Writes the turns behind a value.
pub(super) fn seal(value: &[u8], turns: Turns) -> Bytes {
    let mut sealed = Vec::with_capacity(value.len() + 2);
    sealed.extend_from_slice(value);
    sealed.extend_from_slice(&[turns.created.byte(), turns.modified.byte()]);
    sealed.into()
}

/// Parts a value from the turns behind it. What is too short to have any was not written by this store.
pub(super) fn unseal(sealed: &[u8]) -> (&[u8], Turns) {
    match sealed.split_last_chunk() {
        Some((value, [created, modified])) => {
            let (created, modified) = (Turn::from_byte(*created), Turn::from_byte(*modified));
            (value, Turns { modified, created })
        }
        None => (sealed, Turns::default()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn revisions_and_their_parts_are_the_same() {
        let offset = Offset(1000);
        let mut last = Revision::ZERO;
        for (etcd, turn) in [(1, 0), (1, 127), (2, 0), (2, 1), (70_000, 5)] {
            let revision = offset.revision(etcd, Turn::at(turn));
            assert!(revision > last, "they are in the order of etcd's revisions and then of the turns");
            assert_eq!((offset.etcd(revision), offset.turn(revision)), (Some(etcd), Turn::at(turn)));
            last = revision;
        }
        assert_eq!(offset.etcd(Revision::from_number(1000)), None);
        assert_eq!(offset.etcd(Revision::ZERO), None);
        assert!(Offset::reaching(5000, 7).revision(8, Turn::FIRST) >= Revision::from_number(5000));
        assert_eq!(Offset::reaching(5000, 70), Offset(0));
    }

    #[test]
    fn values_come_back_with_their_turns() {
        let turns = Turns { modified: Turn::at(3), created: Turn::at(90) };
        for value in [&b""[..], b"v", b"a longer one"] {
            assert_eq!(unseal(&seal(value, turns)), (value, turns));
        }
        assert_eq!(unseal(b"x"), (&b"x"[..], Turns::default()), "not ours, but no reason to fall");
        assert_eq!(unseal(b"x\xff\xff").1.modified, Turn::LAST);
    }
}
