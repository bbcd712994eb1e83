//! Maps etcd's revisions to those of the store. Transactions that wait together go to etcd in one batch, which gets one
//! revision there; the slot of a transaction in its batch is the lower part of its revision in the store. Slots are stored
//! behind each value, and for deletions in the mark.

use crate::Revision;
use crate::encryption::Protection;
use bytes::Bytes;

/// How many transactions could share one revision of etcd.
const SLOTS_PER_REVISION: u64 = 128;

/// The position of a transaction among those that share its revision of etcd.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Slot(u8);

impl Slot {
    pub(super) const FIRST: Slot = Slot(0);
    /// The last slot.
    pub(super) const LAST: Slot = Slot(127);

    /// Returns the slot at a position; there are at most 128.
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

/// The difference between the store's revisions and those derived from etcd's. An import increases it, so that revisions
/// never go back.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Offset(pub(super) u64);

impl Offset {
    /// Returns the smallest offset with which all revisions after this one of etcd are at least a certain number.
    pub(super) fn reaching(number: u64, etcd: u64) -> Offset {
        Offset(number.saturating_sub(etcd.saturating_mul(SLOTS_PER_REVISION)))
    }

    pub(super) fn revision(self, etcd: i64, slot: Slot) -> Revision {
        let etcd = u64::try_from(etcd).unwrap_or(0).saturating_mul(SLOTS_PER_REVISION);
        Revision::from_number(etcd.saturating_add(u64::from(slot.0)).saturating_add(self.0))
    }

    /// Returns etcd's revision of a revision; `None` if it is before all of etcd's.
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

/// The bit of the first slot that marks the value as encrypted.
const SEALED: u8 = 0x80;

/// Appends the slots to a value, and whether it is encrypted.
pub(super) fn append_slots(value: &[u8], protection: Protection, slots: Slots) -> Bytes {
    let flag = if protection == Protection::Sealed { SEALED } else { 0 };
    let mut stored = Vec::with_capacity(value.len() + 2);
    stored.extend_from_slice(value);
    stored.extend_from_slice(&[slots.created.byte() | flag, slots.modified.byte()]);
    stored.into()
}

/// Separates a value from its slots. A value that is too short to have any was not written by this store.
pub(super) fn split_slots(stored: &[u8]) -> (&[u8], Protection, Slots) {
    match stored.split_last_chunk() {
        Some((value, [created, modified])) => {
            let protection = if created & SEALED == 0 { Protection::Plaintext } else { Protection::Sealed };
            let created = Slot::from_byte(created & !SEALED);
            (value, protection, Slots { modified: Slot::from_byte(*modified), created })
        }
        None => (stored, Protection::Plaintext, Slots::default()),
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
    fn values_and_slots_round_trip() {
        let slots = Slots { modified: Slot::at(3), created: Slot::at(90) };
        for value in [&b""[..], b"v", b"a longer one"] {
            for protection in [Protection::Plaintext, Protection::Sealed] {
                assert_eq!(split_slots(&append_slots(value, protection, slots)), (value, protection, slots));
            }
        }
        assert_eq!(
            split_slots(b"x"),
            (&b"x"[..], Protection::Plaintext, Slots::default()),
            "not written by this store"
        );
        assert_eq!(split_slots(b"x\xff\xff").2.modified, Slot::LAST);
    }
}
