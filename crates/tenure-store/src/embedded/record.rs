//! The bytes of the table's records: one per entry, under the entry's key. Each carries a checksum over its key and its
//! content, checked whenever it is read: the engine only checks its pages after a crash. The layout is described in
//! `docs/store.md`.

use crate::{Entry, Revision};
use bytes::Bytes;

/// Where the [`Totals`] are; no entry has an empty key.
pub(super) const TOTALS_KEY: &[u8] = b"";

const HEADER: usize = 4 + 8 + 8;
const TOTALS: usize = 4 + 8 + 8 + 8;

/// What the table as a whole holds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Totals {
    /// The revision whose state it is.
    pub(super) revision: Revision,
    /// The first file of the journal that goes on after it.
    pub(super) journal: u64,
    /// The number of records.
    pub(super) records: u64,
}

impl Totals {
    pub(super) fn encode(&self) -> [u8; TOTALS] {
        let mut bytes = [0; TOTALS];
        bytes[4..12].copy_from_slice(&self.revision.get().to_le_bytes());
        bytes[12..20].copy_from_slice(&self.journal.to_le_bytes());
        bytes[20..28].copy_from_slice(&self.records.to_le_bytes());
        seal(TOTALS_KEY, &mut bytes);
        bytes
    }

    pub(super) fn decode(bytes: &[u8]) -> Result<Totals, String> {
        let mut content = open(TOTALS_KEY, bytes)?;
        let mut next = || take_u64(&mut content);
        Ok(Totals { revision: Revision::from_number(next()?), journal: next()?, records: next()? })
    }
}

/// Returns the record of an entry.
pub(super) fn encode(entry: &Entry) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(HEADER + entry.value.len());
    bytes.extend_from_slice(&[0; 4]);
    bytes.extend_from_slice(&entry.created.get().to_le_bytes());
    bytes.extend_from_slice(&entry.modified.get().to_le_bytes());
    bytes.extend_from_slice(&entry.value);
    seal(&entry.key, &mut bytes);
    bytes
}

/// Reads a record back.
pub(super) fn decode(key: &[u8], bytes: &[u8]) -> Result<Entry, String> {
    let mut content = open(key, bytes)?;
    let created = Revision::from_number(take_u64(&mut content)?);
    let modified = Revision::from_number(take_u64(&mut content)?);
    let (key, value) = (Bytes::copy_from_slice(key), Bytes::copy_from_slice(content));
    Ok(Entry { key, value, created, modified })
}

fn seal(key: &[u8], bytes: &mut [u8]) {
    let checksum = checksum(key, &bytes[4..]);
    bytes[..4].copy_from_slice(&checksum.to_le_bytes());
}

fn open<'a>(key: &[u8], bytes: &'a [u8]) -> Result<&'a [u8], String> {
    match bytes.split_first_chunk() {
        Some((stored, content)) if u32::from_le_bytes(*stored) == checksum(key, content) => Ok(content),
        _ => Err(format!("the checksum of record \"{}\" does not match its content", key.escape_ascii())),
    }
}

fn checksum(key: &[u8], content: &[u8]) -> u32 {
    let mut hasher = crc32fast::Hasher::new();
    hasher.update(key);
    hasher.update(content);
    hasher.finalize()
}

fn take_u64(content: &mut &[u8]) -> Result<u64, String> {
    let (field, rest) = content.split_first_chunk().ok_or("a record that ends too early")?;
    *content = rest;
    Ok(u64::from_le_bytes(*field))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::collection::vec;
    use proptest::prelude::*;

    fn entry(key: &[u8], value: &[u8], modified: u64) -> Entry {
        let (key, value) = (Bytes::copy_from_slice(key), Bytes::copy_from_slice(value));
        Entry { key, value, created: Revision::from_number(3), modified: Revision::from_number(modified) }
    }

    proptest! {
        #[test]
        fn what_is_encoded_is_decoded(
            key in vec(any::<u8>(), 1..40),
            value in vec(any::<u8>(), 0..200),
            modified in any::<u64>(),
        ) {
            let entry = entry(&key, &value, modified);
            prop_assert_eq!(decode(&key, &encode(&entry)), Ok(entry));
        }

        #[test]
        fn a_changed_byte_is_noticed(
            value in vec(any::<u8>(), 0..60),
            place in any::<prop::sample::Index>(),
            by in 1..=255u8,
        ) {
            let mut key = b"some/key".to_vec();
            let mut bytes = encode(&entry(&key, &value, 5));
            match place.index(key.len() + bytes.len()) {
                place if place < key.len() => key[place] ^= by,
                place => bytes[place - key.len()] ^= by,
            }
            prop_assert!(decode(&key, &bytes).is_err());
        }

        #[test]
        fn any_bytes_are_decoded_or_refused(key in vec(any::<u8>(), 1..20), bytes in vec(any::<u8>(), 0..60)) {
            prop_assert!(decode(&key, &bytes).is_err());
            prop_assert!(Totals::decode(&bytes).is_err());
        }
    }

    #[test]
    fn totals_come_back() {
        let totals = Totals { revision: Revision::from_number(9), journal: 4, records: 6 };
        assert_eq!(Totals::decode(&totals.encode()), Ok(totals));
        for place in 0..TOTALS {
            let mut bytes = totals.encode();
            bytes[place] ^= 1;
            assert!(Totals::decode(&bytes).is_err(), "byte {place}");
        }
    }
}
