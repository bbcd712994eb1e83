//! Writes: several puts and deletes, each guarded by what it expects to replace, done together or not at all.

use crate::limits::{MAX_KEY, MAX_OPERATIONS, MAX_VALUE};
use crate::precondition::Expected;
use crate::{Entry, Error, Result, Revision};
use bytes::Bytes;
use std::collections::HashSet;

/// What to do with a key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Action {
    /// Put this value.
    Put(Bytes),
    /// Delete the key; deleting an absent key changes nothing.
    Delete,
    /// Only require the expectation.
    Check,
}

/// One key's part of a transaction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Operation {
    /// The key.
    pub key: Bytes,
    /// What must be true of it.
    pub expected: Expected,
    /// What to do with it.
    pub action: Action,
}

/// Writes to several keys that happen together or not at all, under one revision.
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
}

impl Transaction {
    /// Starts a transaction without operations.
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

    /// Adds a condition on a key that is not written.
    pub fn require(self, key: impl Into<Bytes>, expected: Expected) -> Transaction {
        self.with(Operation { key: key.into(), expected, action: Action::Check })
    }

    /// Adds an operation.
    pub fn with(mut self, operation: Operation) -> Transaction {
        self.operations.push(operation);
        self
    }

    /// Returns the operations in the order they were added.
    pub fn operations(&self) -> &[Operation] {
        &self.operations
    }

    /// Refuses what no store takes: keys that are empty, too long or named twice, values that are too large, too
    /// many operations. Every implementation calls this first.
    pub fn validate(&self) -> Result<()> {
        if self.operations.len() > MAX_OPERATIONS {
            let count = self.operations.len();
            return invalid(format!("{count} operations in one transaction; at most {MAX_OPERATIONS}"));
        }
        let mut keys = HashSet::with_capacity(self.operations.len());
        for operation in &self.operations {
            validate_key(&operation.key)?;
            let key = operation.key.escape_ascii();
            if let Action::Put(value) = &operation.action
                && value.len() > MAX_VALUE
            {
                return invalid(format!("{key}: a value of {} bytes; at most {MAX_VALUE}", value.len()));
            }
            if !keys.insert(&operation.key) {
                return invalid(format!("{key}: named twice in one transaction; each key may occur once"));
            }
        }
        Ok(())
    }
}

/// Refuses keys that no store takes.
pub(crate) fn validate_key(key: &[u8]) -> Result<()> {
    match key.len() {
        0 => invalid("an empty key; keys have at least one byte".to_owned()),
        length if length > MAX_KEY => invalid(format!("a key of {length} bytes; at most {MAX_KEY}")),
        _ => Ok(()),
    }
}

fn invalid<T>(reason: String) -> Result<T> {
    Err(Error::Invalid(reason))
}

/// What a transaction did.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Committed {
    /// The revision of the transaction; the store's current one if the transaction changed nothing.
    pub revision: Revision,
    /// What was under each operation's key before, in the order of the operations.
    pub previous: Vec<Option<Entry>>,
}
