//! A store in which transactions are tried before they are committed to another one.

use crate::limits::MAX_STAGED;
use crate::{
    Committed, Compaction, Entry, Error, LedgerPage, LedgerRequest, ListRequest, Listing, Result, Revision,
    StagedTransactions, Store, Transaction, Watch, WatchRequest,
};
use async_trait::async_trait;
use std::sync::Arc;
use tokio::sync::Mutex;

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
/// store.commit_all(staging.staged().await).await?;
/// assert_eq!(store.get(b"b").await?.unwrap().value, "2");
/// # Ok::<(), tenure_store::Error>(()) }).unwrap();
/// ```
pub struct StagingStore {
    copy: Arc<dyn Store>,
    base: Revision,
    log: Mutex<Vec<(Revision, Transaction)>>,
}

impl StagingStore {
    /// Begins with the content of a [copy](Store::copy).
    pub fn new(copy: Arc<dyn Store>) -> StagingStore {
        StagingStore { base: copy.known(), copy, log: Mutex::default() }
    }

    /// Returns what has been committed so far.
    pub async fn staged(&self) -> StagedTransactions {
        StagedTransactions { base: self.base, transactions: self.log.lock().await.clone() }
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
        // Held while it is committed, so that the log is in the order of the revisions.
        let mut log = self.log.lock().await;
        if log.len() >= MAX_STAGED {
            return Err(Error::Invalid(format!(
                "more than {MAX_STAGED} transactions; that is the most that can be committed together"
            )));
        }
        let committed = self.copy.commit(transaction.clone()).await?;
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
