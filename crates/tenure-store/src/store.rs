//! The trait that the server builds on: the guarantees that memory, a disk and etcd can all give. The conformance suite
//! (feature `conformance`) defines them exactly.

use crate::{
    Committed, Entry, Error, LedgerPage, LedgerRequest, ListRequest, Listing, Result, Revision,
    StagedTransactions, Transaction, Watch, WatchRequest,
};
use async_trait::async_trait;
use std::sync::Arc;
use std::time::Duration;

/// Which history to forget. The current entries always stay.
#[non_exhaustive]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Compaction {
    /// All before this revision, which itself stays readable.
    Before(Revision),
    /// All but the newest transactions, this many.
    KeepCount(u64),
    /// Transactions older than this.
    OlderThan(Duration),
}

/// Bytes under keys, with revisions.
///
/// Every transaction that changes something increments the store's revision. Reads and writes are linearizable: what was
/// answered is visible to every later request. A write is answered when it is as durable as the implementation makes it.
#[async_trait]
pub trait Store: Send + Sync + 'static {
    /// Returns the store's current revision.
    async fn revision(&self) -> Result<Revision>;

    /// Returns the entry under a key.
    async fn get(&self, key: &[u8]) -> Result<Option<Entry>>;

    /// Returns the entry under a key as far as this process knows, which may be stale if other processes share the store.
    /// Sufficient to begin a compare-and-swap, and available when the storage behind the store is not.
    fn peek(&self, key: &[u8]) -> Result<Option<Entry>>;

    /// Returns the newest revision that this process knows. Reads at it need no communication.
    fn known(&self) -> Revision;

    /// Tells whether this process is the leader of those that share the store, and so does the work that only one should do.
    fn leads(&self) -> bool {
        true
    }

    /// Returns entries under a prefix, in pages if requested, at any revision of the kept history.
    async fn list(&self, request: ListRequest) -> Result<Listing>;

    /// Applies a transaction if all its preconditions hold, or nothing of it. Afterwards [`Store::peek`] shows its result, or
    /// the conflicting entry, or something newer.
    async fn commit(&self, transaction: Transaction) -> Result<Committed>;

    /// Returns a copy in memory of what this process knows, for [`StagingStore`](crate::StagingStore). It shares memory with the
    /// store.
    fn copy(&self) -> Result<Arc<dyn Store>> {
        Err(Error::Invalid("this store cannot be copied".into()))
    }

    /// Applies transactions that were tried on a [copy](Store::copy), all of them or nothing, and returns the revision of each. The
    /// store may have changed since, where no precondition says otherwise. No other transaction comes between them. A store that
    /// has one revision for all of them says so in its documentation.
    async fn commit_all(&self, staged: StagedTransactions) -> Result<Vec<Revision>> {
        let _ = staged;
        Err(Error::Invalid("this store commits one transaction at a time".into()))
    }

    /// Watches a prefix.
    async fn watch(&self, request: WatchRequest) -> Result<Watch>;

    /// Forgets history and returns the oldest revision that can still be read. Stores also forget history by their limits.
    async fn compact(&self, compaction: Compaction) -> Result<Revision>;

    /// Makes a part of the kept history small in memory, which costs time when it is read, and tells whether there is more to do. For
    /// when few transactions are committed.
    fn pack(&self) -> bool {
        false
    }

    /// Returns ledger records, newest first, including those of deleted keys.
    async fn ledger(&self, request: LedgerRequest) -> Result<LedgerPage>;

    /// Rewrites everything at rest that is not encrypted with the current key, and returns when that is done. Until then the
    /// old keys are needed. Does nothing in stores without encryption.
    async fn reencrypt(&self) -> Result<()> {
        Ok(())
    }

    /// Tells whether writes can be expected to succeed, and if not, why.
    async fn health(&self) -> Result<()>;
}
