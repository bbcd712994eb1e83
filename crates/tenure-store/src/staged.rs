//! Transactions that were tried on a copy of a store, to be committed together or not at all.

use crate::transaction::Action;
#[cfg(feature = "etcd")]
use crate::{Error, Result};
use crate::{Expected, Operation, Revision, Transaction};
use bytes::Bytes;
use std::collections::{HashMap, HashSet};

/// Transactions that were committed to a copy of a store, in order, each with the revision that it got there.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StagedTransactions {
    /// The revision of the copy before the first.
    pub(crate) base: Revision,
    pub(crate) transactions: Vec<(Revision, Transaction)>,
}

impl StagedTransactions {
    /// Returns the revision that an entry of the copy has in the store, given what [`commit_all`](crate::Store::commit_all) returned.
    pub fn translate(&self, of_copy: Revision, committed: &[Revision]) -> Revision {
        let found = self.transactions.binary_search_by_key(&of_copy, |(revision, _)| *revision);
        match found {
            Ok(place) if of_copy > self.base => committed.get(place).copied().unwrap_or(of_copy),
            _ => of_copy,
        }
    }

    /// Returns the keys that are put or deleted.
    pub fn written(&self) -> impl Iterator<Item = &Bytes> {
        let operations = self.transactions.iter().flat_map(|(_, transaction)| transaction.operations());
        operations.filter(|operation| operation.action != Action::Check).map(|operation| &operation.key)
    }

    /// Replaces the records of keys that have several by one each, which `join` returns for the key, its records in order, and the value
    /// that the key has at the end; where it returns none, all of them stay.
    pub fn join_records(
        &mut self,
        mut join: impl FnMut(&Bytes, &[&[u8]], Option<&Bytes>) -> Option<Vec<u8>>,
    ) {
        let mut records: HashMap<Bytes, Vec<Bytes>> = HashMap::new();
        for (key, record) in self.transactions.iter().flat_map(|(_, transaction)| transaction.records()) {
            records.entry(key.clone()).or_default().push(record.clone());
        }
        records.retain(|_, records| records.len() > 1);
        if records.is_empty() {
            return;
        }
        let mut last: HashMap<Bytes, Option<Bytes>> = HashMap::new();
        for operation in self.transactions.iter().flat_map(|(_, transaction)| transaction.operations()) {
            let value = match &operation.action {
                Action::Put(value) => Some(value.clone()),
                Action::Delete => None,
                Action::Check => continue,
            };
            if records.contains_key(&operation.key) {
                last.insert(operation.key.clone(), value);
            }
        }
        let mut joined: HashMap<Bytes, Bytes> = HashMap::new();
        for (key, records) in &records {
            let Some(value) = last.get(key) else { continue };
            let records: Vec<&[u8]> = records.iter().map(|record| &record[..]).collect();
            joined.extend(join(key, &records, value.as_ref()).map(|record| (key.clone(), record.into())));
        }
        // The record is that of the last write, at whose revision its version begins.
        let keys: HashSet<Bytes> = joined.keys().cloned().collect();
        for (_, transaction) in self.transactions.iter_mut().rev() {
            transaction.replace_records(|key, record| match keys.contains(key) {
                false => Some(record.clone()),
                true => joined.remove(key),
            });
        }
    }

    /// Tells whether there is nothing to commit.
    pub fn is_empty(&self) -> bool {
        self.transactions.is_empty()
    }

    pub(crate) fn size(&self) -> usize {
        self.transactions.iter().map(|(_, transaction)| transaction.size()).sum()
    }

    pub(crate) fn len(&self) -> usize {
        self.transactions.len()
    }

    /// Returns a transaction as it is meant in the store, where those before it got these revisions.
    pub(crate) fn translated(&self, place: usize, committed: &[Revision]) -> Option<Transaction> {
        let (_, transaction) = self.transactions.get(place)?;
        let translate = |operation: &Operation| match operation.expected {
            Expected::At(revision) => {
                Operation { expected: Expected::At(self.translate(revision, committed)), ..operation.clone() }
            }
            _ => operation.clone(),
        };
        let operations = transaction.operations().iter().map(translate);
        let all = operations.fold(Transaction::new(), Transaction::with);
        let records = transaction.records().iter().cloned();
        Some(records.fold(all, |all, (key, record)| all.record(key, record)))
    }

    /// Returns one transaction with the effect of all, for stores that cannot commit several at once.
    #[cfg(feature = "etcd")]
    pub(crate) fn merged(&self) -> Result<Transaction> {
        let mut order: Vec<Bytes> = Vec::new();
        let mut operations: HashMap<Bytes, Operation> = HashMap::new();
        let mut records: Vec<(Bytes, Bytes)> = Vec::new();
        let mut recorded: HashSet<Bytes> = HashSet::new();
        for (_, transaction) in &self.transactions {
            for operation in transaction.operations() {
                match operations.get_mut(&operation.key) {
                    None => {
                        order.push(operation.key.clone());
                        operations.insert(operation.key.clone(), operation.clone());
                    }
                    // The expectation of the first is that of the whole; what came between is not visible to anybody.
                    Some(first) => {
                        let is_gone =
                            first.expected == Expected::Absent && operation.action == Action::Delete;
                        match operation.action {
                            Action::Check => {}
                            _ if is_gone => first.action = Action::Check,
                            _ => first.action = operation.action.clone(),
                        }
                    }
                }
            }
            for (key, record) in transaction.records() {
                if !recorded.insert(key.clone()) {
                    return Err(Error::Invalid(format!(
                        "{} is changed by several managers; on this store each object can be changed by one in a transaction",
                        key.escape_ascii()
                    )));
                }
                records.push((key.clone(), record.clone()));
            }
        }
        let all =
            order.iter().filter_map(|key| operations.remove(key)).fold(Transaction::new(), Transaction::with);
        Ok(records.into_iter().fold(all, |all, (key, record)| all.record(key, record)))
    }
}
