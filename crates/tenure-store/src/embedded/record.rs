//! The bytes of the data file's records. Each carries a checksum over its key and its content, checked whenever it
//! is read: the engine only checks its pages after a crash. The layout is described in `docs/store.md`.

use crate::entry::Commit;
use crate::{Change, Entry, Revision};
use bytes::Bytes;

/// Where the [`Totals`] are: after every record, so that they share the page that each write touches anyway.
pub(crate) const TOTALS_KEY: [u8; 8] = [0xff; 8];

const PUT: u8 = 1;
const DELETE: u8 = 2;
const HEADER: usize = 4 + 1 + 4 + 8 + 8;
const TOTALS: usize = 4 + 8 + 8 + 8;

/// What the data file as a whole must contain.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Totals {
    /// The newest revision.
    pub(crate) newest: Revision,
    /// The oldest readable revision.
    pub(crate) compacted: Revision,
    /// The number of records.
    pub(crate) records: u64,
}

impl Totals {
    pub(crate) fn encode(&self) -> [u8; TOTALS] {
        let mut bytes = [0; TOTALS];
        bytes[4..12].copy_from_slice(&self.newest.get().to_le_bytes());
        bytes[12..20].copy_from_slice(&self.compacted.get().to_le_bytes());
        bytes[20..28].copy_from_slice(&self.records.to_le_bytes());
        let checksum = checksum(&TOTALS_KEY, &bytes[4..]);
        bytes[..4].copy_from_slice(&checksum.to_le_bytes());
        bytes
    }

    pub(crate) fn decode(bytes: &[u8]) -> Result<Totals, String> {
        let mut fields = open(&TOTALS_KEY, bytes)?;
        let newest = Revision::from_number(fields.u64()?);
        let compacted = Revision::from_number(fields.u64()?);
        Ok(Totals { newest, compacted, records: fields.u64()? })
    }
}

/// Returns the key of the record that a change of `key` at `revision` has.
pub(crate) fn record_key(revision: Revision, key: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(8 + key.len());
    bytes.extend_from_slice(&revision.get().to_be_bytes());
    bytes.extend_from_slice(key);
    bytes
}

/// Returns the length of a change's record.
pub(crate) fn record_length(change: &Change) -> usize {
    HEADER + change.current.as_ref().map_or(0, |entry| entry.value.len())
}

/// Writes a change's record into a slice of exactly [`record_length`].
pub(crate) fn encode_into(bytes: &mut [u8], record_key: &[u8], commit: &Commit, change: &Change) {
    let count = u32::try_from(commit.changes.len()).unwrap_or(u32::MAX);
    let kind = if change.current.is_some() { PUT } else { DELETE };
    let created = change.current.as_ref().map_or(Revision::ZERO, |entry| entry.created);
    bytes[4] = kind;
    bytes[5..9].copy_from_slice(&count.to_le_bytes());
    bytes[9..17].copy_from_slice(&commit.written_at.to_le_bytes());
    bytes[17..25].copy_from_slice(&created.get().to_le_bytes());
    if let Some(entry) = &change.current {
        bytes[HEADER..].copy_from_slice(&entry.value);
    }
    let checksum = checksum(record_key, &bytes[4..]);
    bytes[..4].copy_from_slice(&checksum.to_le_bytes());
}

/// A record as read back.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Record {
    pub(crate) revision: Revision,
    pub(crate) key: Bytes,
    /// The entry, absent if the change was a deletion.
    pub(crate) entry: Option<Entry>,
    /// How many changes its transaction had.
    pub(crate) count: u32,
    pub(crate) written_at: u64,
}

/// Reads a record back.
pub(crate) fn decode(record_key: &[u8], bytes: &[u8]) -> Result<Record, String> {
    let mut fields = open(record_key, bytes)?;
    let (revision, key) = record_key.split_first_chunk::<8>().ok_or("a record key without a revision")?;
    let revision = Revision::from_number(u64::from_be_bytes(*revision));
    let key = Bytes::copy_from_slice(key);
    let kind = fields.u8()?;
    let count = fields.u32()?;
    let written_at = fields.u64()?;
    let created = Revision::from_number(fields.u64()?);
    let entry = match kind {
        PUT => {
            let value = Bytes::copy_from_slice(fields.0);
            Some(Entry { key: key.clone(), value, created, modified: revision })
        }
        DELETE => None,
        other => return Err(format!("a record of unknown kind {other}")),
    };
    Ok(Record { revision, key, entry, count, written_at })
}

fn open<'a>(key: &[u8], bytes: &'a [u8]) -> Result<Fields<'a>, String> {
    let mut fields = Fields(bytes);
    let stored = fields.u32()?;
    if stored == checksum(key, fields.0) {
        return Ok(fields);
    }
    Err(format!("the checksum of record {} does not match its content", key.escape_ascii()))
}

fn checksum(key: &[u8], content: &[u8]) -> u32 {
    let mut hasher = crc32fast::Hasher::new();
    hasher.update(key);
    hasher.update(content);
    hasher.finalize()
}

/// The rest of a record on its way through the decoder.
struct Fields<'a>(&'a [u8]);

impl Fields<'_> {
    fn take<const N: usize>(&mut self) -> Result<[u8; N], String> {
        let (field, rest) = self.0.split_first_chunk::<N>().ok_or("a record that ends too early")?;
        self.0 = rest;
        Ok(*field)
    }

    fn u8(&mut self) -> Result<u8, String> {
        Ok(u8::from_le_bytes(self.take()?))
    }

    fn u32(&mut self) -> Result<u32, String> {
        Ok(u32::from_le_bytes(self.take()?))
    }

    fn u64(&mut self) -> Result<u64, String> {
        Ok(u64::from_le_bytes(self.take()?))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::collection::vec;
    use proptest::prelude::*;

    fn commit(key: &[u8], value: Option<&[u8]>, revision: u64) -> Commit {
        let (key, revision) = (Bytes::copy_from_slice(key), Revision::from_number(revision));
        let entry = |value| Entry { key: key.clone(), value, created: Revision::ZERO, modified: revision };
        let current = value.map(|value| entry(Bytes::copy_from_slice(value)));
        let change = Change { key: key.clone(), previous: None, current };
        Commit { revision, written_at: 77, changes: Box::new([change]) }
    }

    fn encode(commit: &Commit) -> (Vec<u8>, Vec<u8>) {
        let change = &commit.changes[0];
        let key = record_key(commit.revision, &change.key);
        let mut bytes = vec![0; record_length(change)];
        encode_into(&mut bytes, &key, commit, change);
        (key, bytes)
    }

    proptest! {
        #[test]
        fn what_is_encoded_is_decoded(
            key in vec(any::<u8>(), 1..40),
            value in proptest::option::of(vec(any::<u8>(), 0..200)),
            revision in 1..u64::MAX,
        ) {
            let commit = commit(&key, value.as_deref(), revision);
            let (record_key, bytes) = encode(&commit);
            let record = decode(&record_key, &bytes).unwrap();
            prop_assert_eq!(&record.entry, &commit.changes[0].current);
            prop_assert_eq!((record.revision, &record.key[..]), (commit.revision, &key[..]));
            prop_assert_eq!((record.count, record.written_at), (1, 77));
            prop_assert!(record_key[..] < TOTALS_KEY[..], "the totals come after every record");
        }

        #[test]
        fn a_changed_byte_is_noticed(
            value in vec(any::<u8>(), 0..60),
            place in any::<prop::sample::Index>(),
            by in 1..=255u8,
        ) {
            let (mut key, mut bytes) = encode(&commit(b"some/key", Some(&value), 5));
            match place.index(key.len() + bytes.len()) {
                place if place < key.len() => key[place] ^= by,
                place => bytes[place - key.len()] ^= by,
            }
            prop_assert!(decode(&key, &bytes).is_err());
        }

        #[test]
        fn any_bytes_are_decoded_or_refused(key in vec(any::<u8>(), 0..20), bytes in vec(any::<u8>(), 0..60)) {
            prop_assert!(decode(&key, &bytes).is_err());
            prop_assert!(Totals::decode(&bytes).is_err());
        }
    }

    #[test]
    fn totals_come_back() {
        let totals =
            Totals { newest: Revision::from_number(9), compacted: Revision::from_number(4), records: 6 };
        assert_eq!(Totals::decode(&totals.encode()), Ok(totals));
        for place in 0..TOTALS {
            let mut bytes = totals.encode();
            bytes[place] ^= 1;
            assert!(Totals::decode(&bytes).is_err(), "byte {place}");
        }
    }
}
