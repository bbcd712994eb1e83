//! Transactions that are tried on a copy of a store first, and then committed together or not at all.

use crate::limits::MAX_STAGED;
use crate::transaction::Action;
use crate::{
    Committed, Compaction, Entry, Error, Expected, LedgerPage, LedgerRequest, ListRequest, Listing,
    MemoryStore, Operation, Result, Revision, Store, Transaction, Watch, WatchRequest,
};
use async_trait::async_trait;
use bytes::Bytes;
use parking_lot::Mutex;
#[cfg(feature = "etcd")]
use std::collections::{HashMap, HashSet};

/// A copy of a store in memory that remembers what is committed to it.
///
/// ```
/// # use tenure_store::{Expected, MemoryStore, StagingStore, Store, Transaction};
/// # tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(async {
/// let store = MemoryStore::new();
/// let staging = StagingStore::new(store.copy()?);
/// staging.commit(Transaction::new().put("a", Expected::Absent, "1")).await?;
/// staging.commit(Transaction::new().put("b", Expected::Absent, "2")).await?;
/// assert_eq!(store.get(b"a").await?, None);
/// store.commit_all(staging.staged()).await?;
/// assert_eq!(store.get(b"b").await?.unwrap().value, "2");
/// # Ok::<(), tenure_store::Error>(()) }).unwrap();
/// ```
#[derive(Debug)]
pub struct StagingStore {
    copy: MemoryStore,
    base: Revision,
    log: Mutex<Vec<(Revision, Transaction)>>,
}

impl StagingStore {
    /// Begins with the content of a [copy](Store::copy).
    pub fn new(copy: MemoryStore) -> StagingStore {
        StagingStore { base: copy.known(), copy, log: Mutex::default() }
    }

    /// Returns what has been committed so far.
    pub fn staged(&self) -> StagedTransactions {
        StagedTransactions { base: self.base, transactions: self.log.lock().clone() }
    }
}

#[async_trait]
impl Store for StagingStore {
    async fn revision(&self) -> Result<Revision> {
        self.copy.revision().await
    }

    async fn get(&self, key: &[u8]) -> Result<Option<Entry>> {
        self.copy.get(key).await
    }

    fn peek(&self, key: &[u8]) -> Result<Option<Entry>> {
        self.copy.peek(key)
    }

    fn known(&self) -> Revision {
        self.copy.known()
    }

    async fn list(&self, request: ListRequest) -> Result<Listing> {
        self.copy.list(request).await
    }

    async fn commit(&self, transaction: Transaction) -> Result<Committed> {
        let mut log = self.log.lock();
        if log.len() >= MAX_STAGED {
            return Err(Error::Invalid(format!(
                "more than {MAX_STAGED} transactions; that is the most that can be committed together"
            )));
        }
        let committed = self.copy.commit_now(&transaction)?;
        log.push((committed.revision, transaction));
        Ok(committed)
    }

    async fn watch(&self, request: WatchRequest) -> Result<Watch> {
        self.copy.watch(request).await
    }

    async fn compact(&self, compaction: Compaction) -> Result<Revision> {
        self.copy.compact(compaction).await
    }

    async fn ledger(&self, request: LedgerRequest) -> Result<LedgerPage> {
        self.copy.ledger(request).await
    }

    async fn health(&self) -> Result<()> {
        Ok(())
    }
}

/// Transactions that were committed to a copy of a store, in order, each with the revision that it got there.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StagedTransactions {
    /// The revision of the copy before the first.
    base: Revision,
    transactions: Vec<(Revision, Transaction)>,
}

impl StagedTransactions {
    /// Returns the revision that an entry of the copy has in the store, given what [`Store::commit_all`] returned.
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
                        "{} is changed twice; on this store each object can be changed once in a transaction",
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
