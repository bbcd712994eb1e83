//! Transactions: puts, deletions and preconditions on several keys, applied together or not at all.

use crate::limits::{MAX_KEY, MAX_OPERATIONS, MAX_VALUE};
use crate::precondition::Expected;
use crate::{Entry, Error, Result, Revision};
use bytes::Bytes;
use std::collections::HashSet;

/// The action of an operation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Action {
    /// Put this value.
    Put(Bytes),
    /// Delete the key; deleting an absent key changes nothing.
    Delete,
    /// Check the precondition only.
    Check,
}

/// One key's part of a transaction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Operation {
    /// The key.
    pub key: Bytes,
    /// The precondition.
    pub expected: Expected,
    /// The action.
    pub action: Action,
}

/// Operations on several keys that are applied together, under one revision, or not at all.
///
/// ```
/// # use tenure_store::{Expected, MemoryStore, Store, Transaction};
/// # tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(async {
/// let store = MemoryStore::new();
/// let first = store.commit(Transaction::new().put("a", Expected::Absent, "1")).await?;
/// let second = Transaction::new()
///     .put("a", Expected::At(first.revision), "2")
///     .delete("b", Expected::Anything);
/// let second = store.commit(second).await?;
/// assert_eq!(second.previous[0].as_ref().unwrap().value, "1");
/// # Ok::<(), tenure_store::Error>(()) }).unwrap();
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Transaction {
    operations: Vec<Operation>,
    records: Vec<(Bytes, Bytes)>,
}

impl Transaction {
    /// Creates a transaction without operations.
    pub fn new() -> Transaction {
        Transaction::default()
    }

    /// Adds a put.
    pub fn put(self, key: impl Into<Bytes>, expected: Expected, value: impl Into<Bytes>) -> Transaction {
        self.with(Operation { key: key.into(), expected, action: Action::Put(value.into()) })
    }

    /// Adds a deletion.
    pub fn delete(self, key: impl Into<Bytes>, expected: Expected) -> Transaction {
        self.with(Operation { key: key.into(), expected, action: Action::Delete })
    }

    /// Adds a precondition on a key that is not written.
    pub fn require(self, key: impl Into<Bytes>, expected: Expected) -> Transaction {
        self.with(Operation { key: key.into(), expected, action: Action::Check })
    }

    /// Adds an operation.
    pub fn with(mut self, operation: Operation) -> Transaction {
        self.operations.push(operation);
        self
    }

    /// Adds a record about a key to the ledger. It becomes durable together with the operations; a transaction that changes
    /// nothing leaves no records.
    pub fn record(mut self, key: impl Into<Bytes>, record: impl Into<Bytes>) -> Transaction {
        self.records.push((key.into(), record.into()));
        self
    }

    /// Returns the keys and their ledger records.
    pub fn records(&self) -> &[(Bytes, Bytes)] {
        &self.records
    }

    /// Replaces each record, or removes it.
    pub(crate) fn replace_records(&mut self, mut replace: impl FnMut(&Bytes, &Bytes) -> Option<Bytes>) {
        let records = std::mem::take(&mut self.records).into_iter();
        self.records =
            records.filter_map(|(key, record)| replace(&key, &record).map(|record| (key, record))).collect();
    }

    /// Returns the bytes of all keys, values and records.
    pub(crate) fn size(&self) -> usize {
        let value = |action: &Action| if let Action::Put(value) = action { value.len() } else { 0 };
        let operations =
            self.operations.iter().map(|operation| operation.key.len() + value(&operation.action));
        let records = self.records.iter().map(|(key, record)| key.len() + record.len());
        operations.chain(records).sum()
    }

    /// Returns the operations in the order in which they were added.
    pub fn operations(&self) -> &[Operation] {
        &self.operations
    }

    /// Rejects transactions that no store accepts: empty, overlong or repeated keys, values that are too large, too many
    /// operations. Every implementation calls this first.
    pub fn validate(&self) -> Result<()> {
        let count = self.operations.len() + self.records.len();
        if count > MAX_OPERATIONS {
            return invalid(format!(
                "{count} operations and records in one transaction; at most {MAX_OPERATIONS} are allowed"
            ));
        }
        let mut keys = Keys::default();
        for operation in &self.operations {
            validate_key(&operation.key)?;
            if let Action::Put(value) = &operation.action {
                validate_value(&operation.key, value)?;
            }
            if !keys.is_new(&operation.key) {
                return repeated(&operation.key, "operation");
            }
        }
        let mut keys = Keys::default();
        for (key, record) in &self.records {
            validate_key(key)?;
            validate_value(key, record)?;
            if !keys.is_new(key) {
                return repeated(key, "record");
            }
        }
        Ok(())
    }
}

/// The keys of a transaction so far. Most have few, which are compared with each other: that costs less than to hash them.
#[derive(Default)]
struct Keys<'t> {
    few: [Option<&'t Bytes>; 4],
    many: HashSet<&'t Bytes>,
}

impl<'t> Keys<'t> {
    /// Adds a key; returns whether it is new.
    fn is_new(&mut self, key: &'t Bytes) -> bool {
        for place in &mut self.few {
            match place {
                Some(known) if *known == key => return false,
                Some(_) => {}
                None => {
                    *place = Some(key);
                    return true;
                }
            }
        }
        self.many.insert(key)
    }
}

fn validate_value(key: &Bytes, value: &Bytes) -> Result<()> {
    if value.len() <= MAX_VALUE {
        return Ok(());
    }
    invalid(format!(
        "{}: value of {} bytes; at most {MAX_VALUE} are allowed",
        key.escape_ascii(),
        value.len()
    ))
}

fn repeated(key: &Bytes, what: &str) -> Result<()> {
    invalid(format!("{}: more than one {what} for this key in one transaction", key.escape_ascii()))
}

/// Rejects keys that no store accepts.
pub(crate) fn validate_key(key: &[u8]) -> Result<()> {
    match key.len() {
        0 => invalid("empty key; a key has at least one byte".to_owned()),
        length if length > MAX_KEY => {
            invalid(format!("key of {length} bytes; at most {MAX_KEY} are allowed"))
        }
        _ => Ok(()),
    }
}

fn invalid<T>(reason: String) -> Result<T> {
    Err(Error::Invalid(reason))
}

/// The result of a transaction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Committed {
    /// The revision of the transaction; the store's current one if the transaction changed nothing.
    pub revision: Revision,
    /// The entry of each operation's key before the transaction, in the order of the operations.
    pub previous: Vec<Option<Entry>>,
}
