//! The bytes of the journal's batches. A batch is written and read whole, under one checksum, which tells a batch that
//! reached the disk from one that did not. The layout is described in `docs/internals/store.md`.

use crate::encryption::{Protection, Session};
use crate::entry::Commit;
use crate::{Error, KeyChange, Result, Revision};
use bytes::Bytes;
use std::sync::Arc;

const PUT: u8 = 1;
const DELETE: u8 = 2;
const SEALED_PUT: u8 = 3;
const RECORD: u8 = 4;
const SEALED_RECORD: u8 = 5;
const PREFIX: usize = 4 + 4;
const HEADER: usize = 8 + 8 + 4;
const COMMIT_HEADER: usize = 8 + 4;
const CHANGE_HEADER: usize = 1 + 8 + 4 + 4;

/// Commits that are made durable together, without a gap, and the revision up to which history is forgotten.
#[derive(Debug)]
pub(super) struct Batch<'a> {
    /// The newest revision before the batch.
    pub(super) after: Revision,
    pub(super) commits: &'a [Arc<Commit>],
    pub(super) forgotten: Revision,
}

impl Batch<'_> {
    /// Returns the newest revision once the batch is written.
    pub(super) fn newest(&self) -> Revision {
        self.commits.last().map_or(self.after, |commit| commit.revision)
    }

    /// Appends the bytes of the batch.
    pub(super) fn encode(&self, encryption: &Session, bytes: &mut Vec<u8>) -> Result<()> {
        let start = bytes.len();
        bytes
            .reserve(PREFIX + HEADER + self.commits.iter().map(|commit| encoded_size(commit)).sum::<usize>());
        bytes.extend_from_slice(&[0; PREFIX]);
        bytes.extend_from_slice(&self.after.get().to_le_bytes());
        bytes.extend_from_slice(&self.forgotten.get().to_le_bytes());
        put_length(bytes, self.commits.len());
        for commit in self.commits {
            bytes.extend_from_slice(&commit.written_at.to_le_bytes());
            put_length(bytes, commit.changes.len() + commit.records.len());
            for change in &commit.changes {
                put_change(bytes, encryption, change)?;
            }
            for (key, record) in &commit.records {
                let kinds = (RECORD, SEALED_RECORD);
                put_value(bytes, encryption, kinds, commit.revision, key, record)?;
            }
        }
        let content = bytes.len() - start - PREFIX;
        let checksum = crc32fast::hash(&bytes[start + PREFIX..]);
        bytes[start..start + 4].copy_from_slice(&length(content).to_le_bytes());
        bytes[start + 4..start + PREFIX].copy_from_slice(&checksum.to_le_bytes());
        Ok(())
    }
}

fn encoded_size(commit: &Commit) -> usize {
    let value = |change: &KeyChange| change.current.as_ref().map_or(0, |entry| entry.value.len());
    let changes = commit.changes.iter().map(|change| CHANGE_HEADER + change.key.len() + value(change));
    let records = commit.records.iter().map(|(key, record)| CHANGE_HEADER + key.len() + record.len());
    COMMIT_HEADER + changes.chain(records).sum::<usize>()
}

fn put_change(bytes: &mut Vec<u8>, encryption: &Session, change: &KeyChange) -> Result<()> {
    match &change.current {
        Some(entry) => {
            put_value(bytes, encryption, (PUT, SEALED_PUT), entry.created, &change.key, &entry.value.bytes())
        }
        None => {
            put_item(bytes, DELETE, Revision::ZERO, &change.key, &[]);
            Ok(())
        }
    }
}

fn put_value(
    bytes: &mut Vec<u8>,
    encryption: &Session,
    (plaintext, sealed): (u8, u8),
    created: Revision,
    key: &[u8],
    value: &[u8],
) -> Result<()> {
    match encryption.seal(key, value)? {
        None => put_item(bytes, plaintext, created, key, value),
        Some(value) => put_item(bytes, sealed, created, key, &value),
    }
    Ok(())
}

fn put_item(bytes: &mut Vec<u8>, kind: u8, created: Revision, key: &[u8], value: &[u8]) {
    bytes.push(kind);
    bytes.extend_from_slice(&created.get().to_le_bytes());
    put_length(bytes, key.len());
    put_length(bytes, value.len());
    bytes.extend_from_slice(key);
    bytes.extend_from_slice(value);
}

/// Lengths fit: the limits of a transaction and of a batch are far below.
fn length(number: usize) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}

fn put_length(bytes: &mut Vec<u8>, number: usize) {
    bytes.extend_from_slice(&length(number).to_le_bytes());
}

/// Why the content of a file cannot be used.
#[derive(Debug)]
pub(super) enum ReadError {
    /// It is damaged.
    Damaged(String),
    /// It is intact, but cannot be decrypted.
    Store(Error),
}

impl From<String> for ReadError {
    fn from(reason: String) -> ReadError {
        ReadError::Damaged(reason)
    }
}

impl From<Error> for ReadError {
    fn from(error: Error) -> ReadError {
        ReadError::Store(error)
    }
}

/// A batch as read back.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct ReadBatch {
    pub(super) after: Revision,
    pub(super) forgotten: Revision,
    pub(super) commits: Vec<ReadCommit>,
}

/// A commit as read back; the entries that it replaced are not in the journal.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct ReadCommit {
    pub(super) revision: Revision,
    pub(super) written_at: u64,
    pub(super) items: Vec<(Bytes, Item)>,
}

/// What a commit did to a key.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Item {
    Put { created: Revision, value: Stored },
    Delete,
    Record(Stored),
}

/// A value as it is on the disk.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Stored {
    pub(super) protection: Protection,
    pub(super) bytes: Bytes,
}

/// What is at a position of a journal file.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Found {
    /// A whole batch and its length.
    Batch(ReadBatch, usize),
    /// The end: no bytes, or zeros up to the end of the file.
    End,
    /// Bytes that are not a whole batch: the length that they claim, if any, and what is wrong.
    Torn(Option<usize>, String),
}

/// Reads the batch at the beginning of some bytes.
pub(super) fn read(bytes: &[u8]) -> Found {
    if bytes.iter().all(|byte| *byte == 0) {
        return Found::End;
    }
    let mut fields = Fields(bytes);
    let (Ok(length), Ok(checksum)) = (fields.length(), fields.u32()) else {
        return Found::Torn(None, "truncated batch".to_owned());
    };
    let Some(content) = fields.0.get(..length) else {
        return Found::Torn(None, "truncated batch".to_owned());
    };
    let whole = PREFIX + length;
    if crc32fast::hash(content) != checksum {
        return Found::Torn(Some(whole), "checksum mismatch of a batch".to_owned());
    }
    match read_content(content) {
        Ok(batch) => Found::Batch(batch, whole),
        Err(reason) => Found::Torn(Some(whole), reason),
    }
}

fn read_content(content: &[u8]) -> Result<ReadBatch, String> {
    let mut fields = Fields(content);
    let (after, forgotten) = (fields.revision()?, fields.revision()?);
    let count = fields.u32()?;
    let mut batch = ReadBatch { after, forgotten, commits: Vec::new() };
    let mut revision = after;
    for _ in 0..count {
        revision = revision.skip(1);
        let written_at = fields.u64()?;
        let items = (0..fields.u32()?).map(|_| fields.item()).collect::<Result<_, _>>()?;
        batch.commits.push(ReadCommit { revision, written_at, items });
    }
    if !fields.0.is_empty() {
        return Err("trailing bytes in a batch".to_owned());
    }
    Ok(batch)
}

/// The rest of a batch that is being decoded.
struct Fields<'a>(&'a [u8]);

impl<'a> Fields<'a> {
    fn take<const N: usize>(&mut self) -> Result<[u8; N], String> {
        let (field, rest) = self.0.split_first_chunk::<N>().ok_or("truncated batch")?;
        self.0 = rest;
        Ok(*field)
    }

    fn u32(&mut self) -> Result<u32, String> {
        Ok(u32::from_le_bytes(self.take()?))
    }

    fn u64(&mut self) -> Result<u64, String> {
        Ok(u64::from_le_bytes(self.take()?))
    }

    fn revision(&mut self) -> Result<Revision, String> {
        Ok(Revision::from_number(self.u64()?))
    }

    fn length(&mut self) -> Result<usize, String> {
        usize::try_from(self.u32()?).map_err(|error| error.to_string())
    }

    fn bytes(&mut self, length: usize) -> Result<&'a [u8], String> {
        let (field, rest) = self.0.split_at_checked(length).ok_or("truncated batch")?;
        self.0 = rest;
        Ok(field)
    }

    fn item(&mut self) -> Result<(Bytes, Item), String> {
        let [kind] = self.take()?;
        let created = self.revision()?;
        let (key, value) = (self.length()?, self.length()?);
        let key = Bytes::copy_from_slice(self.bytes(key)?);
        let bytes = Bytes::copy_from_slice(self.bytes(value)?);
        let stored = |protection| Stored { protection, bytes };
        let item = match kind {
            PUT => Item::Put { created, value: stored(Protection::Plaintext) },
            SEALED_PUT => Item::Put { created, value: stored(Protection::Sealed) },
            DELETE => Item::Delete,
            RECORD => Item::Record(stored(Protection::Plaintext)),
            SEALED_RECORD => Item::Record(stored(Protection::Sealed)),
            other => return Err(format!("unknown kind of change {other}")),
        };
        Ok((key, item))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Encryption, Entry};
    use proptest::collection::vec;
    use proptest::prelude::*;

    type Puts = Vec<(Vec<u8>, Option<Vec<u8>>)>;

    fn commits(after: u64, transactions: &[Puts]) -> Vec<Arc<Commit>> {
        let commit = |(number, puts): (u64, &Puts)| {
            let revision = Revision::from_number(after + 1 + number);
            let change = |(key, value): &(Vec<u8>, Option<Vec<u8>>)| {
                let key = Bytes::copy_from_slice(key);
                let entry = |value: &Vec<u8>| Entry {
                    key: key.clone(),
                    value: Bytes::copy_from_slice(value).into(),
                    created: Revision::from_number(3),
                    modified: revision,
                };
                KeyChange { key: key.clone(), previous: None, current: value.as_ref().map(entry) }
            };
            let records = puts.iter().map(|(key, _)| (key.clone().into(), Bytes::from("record"))).collect();
            let changes = puts.iter().map(change).collect();
            Arc::new(Commit { revision, written_at: 77 + number, changes, records })
        };
        (0..).zip(transactions).map(commit).collect()
    }

    fn encode(after: u64, transactions: &[Puts]) -> (Vec<u8>, Vec<Arc<Commit>>) {
        let commits = commits(after, transactions);
        let (mut bytes, forgotten) = (Vec::new(), Revision::from_number(2));
        let batch = Batch { after: Revision::from_number(after), commits: &commits, forgotten };
        batch.encode(&Encryption::default().session(), &mut bytes).unwrap();
        (bytes, commits)
    }

    fn transactions() -> impl Strategy<Value = Vec<Puts>> {
        let put = (vec(any::<u8>(), 1..20), proptest::option::of(vec(any::<u8>(), 0..100)));
        vec(vec(put, 1..4), 0..5)
    }

    fn items(commit: &Commit) -> Vec<(Bytes, Item)> {
        let stored = |bytes: &Bytes| Stored { protection: Protection::Plaintext, bytes: bytes.clone() };
        let change = |change: &KeyChange| match &change.current {
            Some(entry) => Item::Put { created: entry.created, value: stored(&entry.value.bytes()) },
            None => Item::Delete,
        };
        let changes = commit.changes.iter().map(|one| (one.key.clone(), change(one)));
        changes
            .chain(commit.records.iter().map(|(key, record)| (key.clone(), Item::Record(stored(record)))))
            .collect()
    }

    proptest! {
        #[test]
        fn encoding_round_trips(after in 0..1u64 << 60, transactions in transactions()) {
            let (bytes, commits) = encode(after, &transactions);
            let Found::Batch(batch, length) = read(&bytes) else { panic!("no batch") };
            prop_assert_eq!((length, batch.after.get(), batch.forgotten.get()), (bytes.len(), after, 2));
            prop_assert_eq!(batch.commits.len(), commits.len());
            for (read, commit) in batch.commits.iter().zip(&commits) {
                prop_assert_eq!((read.revision, read.written_at), (commit.revision, commit.written_at));
                prop_assert_eq!(&read.items, &items(commit));
            }
        }

        #[test]
        fn a_changed_byte_and_a_truncated_batch_are_detected(
            transactions in transactions(),
            place in any::<prop::sample::Index>(),
            by in 1..=255u8,
        ) {
            let (mut bytes, _) = encode(9, &transactions);
            let place = place.index(bytes.len());
            prop_assert!(place == 0 || matches!(read(&bytes[..place]), Found::Torn(..)));
            bytes[place] ^= by;
            prop_assert!(matches!(read(&bytes), Found::Torn(..)));
        }

        #[test]
        fn arbitrary_bytes_do_not_panic(mut bytes in vec(any::<u8>(), 8..80), seal in any::<bool>()) {
            if seal {
                let length = u32::try_from(bytes.len() - PREFIX).unwrap();
                let checksum = crc32fast::hash(&bytes[PREFIX..]);
                bytes[..4].copy_from_slice(&length.to_le_bytes());
                bytes[4..8].copy_from_slice(&checksum.to_le_bytes());
            }
            read(&bytes);
        }
    }
}
