//! How the store's revisions are made of etcd's. Transactions that were waiting together go to etcd as one, and get one
//! revision there; the slot that each had in it is the lower part of its revision in the store. What must tell the
//! slot later has it written down: behind each value, and for deletions in the mark.

use crate::Revision;
use bytes::Bytes;

/// How many transactions could share a revision of etcd.
const SLOTS_PER_REVISION: u64 = 128;

/// The place of a transaction among those that share its revision of etcd.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Slot(u8);

impl Slot {
    pub(super) const FIRST: Slot = Slot(0);
    /// No slot is after this one.
    pub(super) const LAST: Slot = Slot(127);

    /// Returns the slot with so many before it; there are at most 128.
    pub(super) fn at(place: usize) -> Slot {
        u8::try_from(place).map_or(Slot::LAST, Slot::from_byte)
    }

    pub(super) fn from_byte(byte: u8) -> Slot {
        Slot(byte).min(Slot::LAST)
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
        Offset(number.saturating_sub(etcd.saturating_mul(SLOTS_PER_REVISION)))
    }

    pub(super) fn revision(self, etcd: i64, slot: Slot) -> Revision {
        let etcd = u64::try_from(etcd).unwrap_or(0).saturating_mul(SLOTS_PER_REVISION);
        Revision::from_number(etcd.saturating_add(u64::from(slot.0)).saturating_add(self.0))
    }

    /// Returns etcd's number of a revision; none for one that is before all of etcd's.
    pub(super) fn etcd(self, revision: Revision) -> Option<i64> {
        let number = revision.get().checked_sub(self.0)? / SLOTS_PER_REVISION;
        i64::try_from(number).ok().filter(|number| *number > 0)
    }

    /// Returns the slot of a revision.
    pub(super) fn slot(self, revision: Revision) -> Slot {
        Slot::at(usize::try_from(revision.get().saturating_sub(self.0) % SLOTS_PER_REVISION).unwrap_or(0))
    }
}

/// The slots of the transactions that last changed an entry and that created it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Slots {
    pub(super) modified: Slot,
    pub(super) created: Slot,
}

/// Writes the slots behind a value.
pub(super) fn seal(value: &[u8], slots: Slots) -> Bytes {
    let mut sealed = Vec::with_capacity(value.len() + 2);
    sealed.extend_from_slice(value);
    sealed.extend_from_slice(&[slots.created.byte(), slots.modified.byte()]);
    sealed.into()
}

/// Parts a value from the slots behind it. What is too short to have any was not written by this store.
pub(super) fn unseal(sealed: &[u8]) -> (&[u8], Slots) {
    match sealed.split_last_chunk() {
        Some((value, [created, modified])) => {
            let (created, modified) = (Slot::from_byte(*created), Slot::from_byte(*modified));
            (value, Slots { modified, created })
        }
        None => (sealed, Slots::default()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn revisions_and_their_parts_are_the_same() {
        let offset = Offset(1000);
        let mut last = Revision::ZERO;
        for (etcd, slot) in [(1, 0), (1, 127), (2, 0), (2, 1), (70_000, 5)] {
            let revision = offset.revision(etcd, Slot::at(slot));
            assert!(revision > last, "they are in the order of etcd's revisions and then of the slots");
            assert_eq!((offset.etcd(revision), offset.slot(revision)), (Some(etcd), Slot::at(slot)));
            last = revision;
        }
        assert_eq!(offset.etcd(Revision::from_number(1000)), None);
        assert_eq!(offset.etcd(Revision::ZERO), None);
        assert!(Offset::reaching(5000, 7).revision(8, Slot::FIRST) >= Revision::from_number(5000));
        assert_eq!(Offset::reaching(5000, 70), Offset(0));
    }

    #[test]
    fn values_come_back_with_their_turns() {
        let slots = Slots { modified: Slot::at(3), created: Slot::at(90) };
        for value in [&b""[..], b"v", b"a longer one"] {
            assert_eq!(unseal(&seal(value, slots)), (value, slots));
        }
        assert_eq!(unseal(b"x"), (&b"x"[..], Slots::default()), "not ours, but no reason to fall");
        assert_eq!(unseal(b"x\xff\xff").1.modified, Slot::LAST);
    }
}
