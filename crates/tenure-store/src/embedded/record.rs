//! The bytes of the table's rows: one per entry, under its key, and one per ledger record, under its revision and key. Each
//! carries a checksum over key and content that is checked whenever it is read, since the engine checks its pages only
//! after a crash. The layout is described in `docs/internals/store.md`.

use super::directory::StoreId;
use crate::encryption::{Protection, Session};
use crate::ledger::Record;
use crate::{Entry, Error, LedgerPosition, Result, Revision};
use bytes::Bytes;

/// The row of the [`Totals`]; no entry has an empty key.
pub(super) const TOTALS_KEY: &[u8] = b"";

const HEADER: usize = 4 + 8 + 8;
const TOTALS: usize = 4 + 16 + 4 * 8;
/// The bit of the first number of a row that marks its value as encrypted; revisions and times never reach it.
const SEALED: u64 = 1 << 63;

/// The identity and size of the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Totals {
    pub(super) id: StoreId,
    /// The revision whose state the table holds.
    pub(super) revision: Revision,
    /// The number of the first journal file after it.
    pub(super) journal: u64,
    /// The number of entries.
    pub(super) entries: u64,
    /// The number of ledger records.
    pub(super) ledger: u64,
}

impl Totals {
    pub(super) fn encode(&self) -> [u8; TOTALS] {
        let mut bytes = [0; TOTALS];
        bytes[4..20].copy_from_slice(&self.id.0);
        let numbers = [self.revision.get(), self.journal, self.entries, self.ledger];
        for (place, number) in bytes[20..].chunks_exact_mut(8).zip(numbers) {
            place.copy_from_slice(&number.to_le_bytes());
        }
        add_checksum(TOTALS_KEY, &mut bytes);
        bytes
    }

    pub(super) fn decode(bytes: &[u8]) -> Result<Totals, String> {
        let mut content = check(TOTALS_KEY, bytes)?;
        let (id, rest) = content.split_first_chunk().ok_or("truncated totals")?;
        content = rest;
        let mut next = || take_u64(&mut content);
        let revision = Revision::from_number(next()?);
        Ok(Totals { id: StoreId(*id), revision, journal: next()?, entries: next()?, ledger: next()? })
    }
}

/// Why a row cannot be used.
#[derive(Debug)]
pub(super) enum RowError {
    Damaged(String),
    Store(Error),
}

impl<T: Into<String>> From<T> for RowError {
    fn from(reason: T) -> RowError {
        RowError::Damaged(reason.into())
    }
}

/// Returns the row of an entry.
pub(super) fn encode(entry: &Entry, encryption: &Session) -> Result<Vec<u8>> {
    let numbers = [entry.created.get(), entry.modified.get()];
    row(&entry.key, &entry.key, &numbers, &entry.value.bytes(), encryption)
}

/// Reads the row of an entry.
/// Returns the entry, and whether its value is encrypted as it would be now.
pub(super) fn decode(key: &[u8], bytes: &[u8], encryption: &Session) -> Result<(Entry, bool), RowError> {
    let mut content = check(key, bytes)?;
    let (created, protection) = split_flag(take_u64(&mut content)?);
    let (created, modified) =
        (Revision::from_number(created), Revision::from_number(take_u64(&mut content)?));
    let value = encryption.read(key, content, protection).map_err(RowError::Store)?.into();
    let current = encryption.is_current(key, content, protection);
    Ok((Entry { key: Bytes::copy_from_slice(key), value, created, modified }, current))
}

/// How the rows of ledger records are sorted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum LedgerOrder {
    /// By revision, then by key: records are added at the end and mostly removed at the beginning.
    Revision,
    /// By key, then by revision, as up to format 3.
    Key,
}

/// Returns the key of the row of a ledger record.
pub(super) fn ledger_key(position: &LedgerPosition) -> Vec<u8> {
    [&position.revision.get().to_be_bytes(), &position.key[..]].concat()
}

/// Returns the row of a ledger record.
pub(super) fn encode_ledger(key: &[u8], record: &Record, encryption: &Session) -> Result<Vec<u8>> {
    let position = LedgerPosition { revision: record.revision, key: Bytes::copy_from_slice(key) };
    row(&ledger_key(&position), key, &[record.written_at], &record.bytes, encryption)
}

/// Reads the row of a ledger record.
pub(super) fn decode_ledger(
    row: &[u8],
    bytes: &[u8],
    encryption: &Session,
    order: LedgerOrder,
) -> Result<(Bytes, Record), RowError> {
    let mut content = check(row, bytes)?;
    let parts = match order {
        LedgerOrder::Revision => row.split_first_chunk(),
        LedgerOrder::Key => row.split_last_chunk().map(|(key, revision)| (revision, key)),
    };
    let (revision, key) = parts.ok_or("a ledger row without a revision")?;
    let revision = Revision::from_number(u64::from_be_bytes(*revision));
    let (written_at, protection) = split_flag(take_u64(&mut content)?);
    let bytes = encryption.read(key, content, protection).map_err(RowError::Store)?;
    Ok((Bytes::copy_from_slice(key), Record { revision, written_at, bytes }))
}

fn row(row: &[u8], key: &[u8], numbers: &[u64], value: &[u8], encryption: &Session) -> Result<Vec<u8>> {
    let sealed = encryption.seal(key, value)?;
    let flag = if sealed.is_some() { SEALED } else { 0 };
    let value = sealed.as_deref().unwrap_or(value);
    let mut bytes = Vec::with_capacity(HEADER + value.len());
    bytes.extend_from_slice(&[0; 4]);
    for (place, number) in numbers.iter().enumerate() {
        let flag = if place == 0 { flag } else { 0 };
        bytes.extend_from_slice(&(number & !SEALED | flag).to_le_bytes());
    }
    bytes.extend_from_slice(value);
    add_checksum(row, &mut bytes);
    Ok(bytes)
}

fn split_flag(number: u64) -> (u64, Protection) {
    let protection = if number & SEALED == 0 { Protection::Plaintext } else { Protection::Sealed };
    (number & !SEALED, protection)
}

pub(super) fn add_checksum(key: &[u8], bytes: &mut [u8]) {
    let checksum = checksum(key, &bytes[4..]);
    bytes[..4].copy_from_slice(&checksum.to_le_bytes());
}

fn check<'a>(key: &[u8], bytes: &'a [u8]) -> Result<&'a [u8], String> {
    match bytes.split_first_chunk() {
        Some((stored, content)) if u32::from_le_bytes(*stored) == checksum(key, content) => Ok(content),
        _ => Err(format!("checksum mismatch of row \"{}\"", key.escape_ascii())),
    }
}

fn checksum(key: &[u8], content: &[u8]) -> u32 {
    let mut hasher = crc32fast::Hasher::new();
    hasher.update(key);
    hasher.update(content);
    hasher.finalize()
}

fn take_u64(content: &mut &[u8]) -> Result<u64, String> {
    let (field, rest) = content.split_first_chunk().ok_or("truncated row")?;
    *content = rest;
    Ok(u64::from_le_bytes(*field))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Encryption, EncryptionProvider, EncryptionRule};
    use proptest::collection::vec;
    use proptest::prelude::*;

    fn entry(key: &[u8], value: &[u8], modified: u64) -> Entry {
        let (key, value) = (Bytes::copy_from_slice(key), Bytes::copy_from_slice(value));
        Entry {
            key,
            value: value.into(),
            created: Revision::from_number(3),
            modified: Revision::from_number(modified),
        }
    }

    fn sessions() -> [Session; 2] {
        let provider = EncryptionProvider::aes_gcm("k", &[1; 32]).unwrap();
        let rule = EncryptionRule { prefixes: vec![Bytes::new()], providers: vec![provider] };
        [Encryption::default().session(), Encryption::new(vec![rule]).session()]
    }

    proptest! {
        #[test]
        fn rows_round_trip(
            key in vec(any::<u8>(), 1..40),
            value in vec(any::<u8>(), 0..200),
            modified in 0..1u64 << 62,
        ) {
            for session in sessions() {
                let entry = entry(&key, &value, modified);
                let row = encode(&entry, &session).unwrap();
                prop_assert_eq!(decode(&key, &row, &session).unwrap(), (entry, true));
                let revision = Revision::from_number(modified);
                let record = Record { revision, written_at: modified, bytes: value.clone().into() };
                let row = encode_ledger(&key, &record, &session).unwrap();
                let name = ledger_key(&LedgerPosition { revision, key: key.clone().into() });
                let read = decode_ledger(&name, &row, &session, LedgerOrder::Revision).unwrap();
                prop_assert_eq!(read, (key.clone().into(), record));
            }
        }

        #[test]
        fn a_changed_byte_is_detected(
            value in vec(any::<u8>(), 0..60),
            place in any::<prop::sample::Index>(),
            by in 1..=255u8,
        ) {
            let [session, _] = sessions();
            let mut key = b"some/key".to_vec();
            let mut bytes = encode(&entry(&key, &value, 5), &session).unwrap();
            match place.index(key.len() + bytes.len()) {
                place if place < key.len() => key[place] ^= by,
                place => bytes[place - key.len()] ^= by,
            }
            prop_assert!(decode(&key, &bytes, &session).is_err());
        }

        #[test]
        fn arbitrary_bytes_do_not_panic(key in vec(any::<u8>(), 1..20), bytes in vec(any::<u8>(), 0..60)) {
            let [session, _] = sessions();
            prop_assert!(decode(&key, &bytes, &session).is_err());
            for order in [LedgerOrder::Revision, LedgerOrder::Key] {
                prop_assert!(decode_ledger(&key, &bytes, &session, order).is_err());
            }
            prop_assert!(Totals::decode(&bytes).is_err());
        }
    }

    #[test]
    fn totals_round_trip() {
        let revision = Revision::from_number(9);
        let totals = Totals { id: StoreId([5; 16]), revision, journal: 4, entries: 6, ledger: 7 };
        assert_eq!(Totals::decode(&totals.encode()), Ok(totals));
        for place in 0..TOTALS {
            let mut bytes = totals.encode();
            bytes[place] ^= 1;
            assert!(Totals::decode(&bytes).is_err(), "byte {place}");
        }
    }
}
