//! The mark that a server writes in every batch. It identifies the batch, tells how many transactions share the revision, and
//! contains what etcd itself does not keep: the time, and the slots of deletions.

use super::revisions::Slot;
use bytes::{Buf, Bytes};

/// The content of a mark.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Mark {
    /// The number of the batch; never zero.
    pub(super) number: u64,
    /// When it was written, in milliseconds since 1970.
    pub(super) written_at: u64,
    /// The last slot of the revision.
    pub(super) last: Slot,
    /// The keys that are deleted unless the conditions of their transaction fail, and its slot.
    pub(super) deletions: Vec<(Slot, Bytes)>,
}

impl Mark {
    pub(super) fn encode(&self) -> Bytes {
        let keys: usize = self.deletions.iter().map(|(_, key)| 3 + key.len()).sum();
        let mut bytes = Vec::with_capacity(17 + keys);
        bytes.extend_from_slice(&self.number.to_le_bytes());
        bytes.extend_from_slice(&self.written_at.to_le_bytes());
        bytes.push(self.last.byte());
        for (slot, key) in &self.deletions {
            bytes.push(slot.byte());
            // Keys are much shorter than 64 KiB.
            bytes.extend_from_slice(&u16::try_from(key.len()).unwrap_or(u16::MAX).to_le_bytes());
            bytes.extend_from_slice(key);
        }
        bytes.into()
    }

    pub(super) fn decode(mut bytes: &[u8]) -> Option<Mark> {
        let mut mark = Mark {
            number: bytes.try_get_u64_le().ok()?,
            written_at: bytes.try_get_u64_le().ok()?,
            last: Slot::from_byte(bytes.try_get_u8().ok()?),
            deletions: Vec::new(),
        };
        while !bytes.is_empty() {
            let slot = Slot::from_byte(bytes.try_get_u8().ok()?);
            let length = bytes.try_get_u16_le().ok()?;
            let (key, rest) = bytes.split_at_checked(usize::from(length))?;
            mark.deletions.push((slot, Bytes::copy_from_slice(key)));
            bytes = rest;
        }
        Some(mark)
    }

    /// Returns the slot of the transaction that deleted a key.
    pub(super) fn deletion_slot(&self, key: &[u8]) -> Slot {
        let found = self.deletions.iter().find(|(_, deleted)| deleted == key);
        found.map_or(Slot::FIRST, |(slot, _)| *slot)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marks_round_trip_and_truncated_ones_are_refused() {
        let mark = Mark {
            number: 7,
            written_at: u64::MAX,
            last: Slot::at(2),
            deletions: vec![(Slot::at(1), "a".into()), (Slot::at(2), Bytes::from(vec![b'k'; 2048]))],
        };
        let bytes = mark.encode();
        assert_eq!(Mark::decode(&bytes), Some(mark.clone()));
        assert_eq!(mark.deletion_slot(b"a"), Slot::at(1));
        assert_eq!(mark.deletion_slot(b"other"), Slot::FIRST);
        for length in [0, 8, 16, 18, 20, 22, 100] {
            assert_eq!(Mark::decode(&bytes[..length]), None, "{length} bytes");
        }
    }
}
