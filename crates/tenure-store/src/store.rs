//! The trait that the server builds on. It promises what memory, a disk and etcd can all keep, and no more;
//! the conformance suite (feature `conformance`) is its exact meaning.

use crate::{Committed, Entry, ListRequest, Listing, Result, Revision, Transaction, Watch, WatchRequest};
use async_trait::async_trait;
use std::time::Duration;

/// Which history to forget. The current state always stays.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Compaction {
    /// All before this revision, which itself stays readable.
    Before(Revision),
    /// All but the last so many transactions.
    KeepCount(u64),
    /// What is older than this.
    OlderThan(Duration),
}

/// Bytes under keys, with revisions.
///
/// Every transaction that changes something raises the store's revision. Reads and writes are
/// linearizable: what was answered is visible to every later request. A write is answered when it is as durable
/// as the implementation makes it.
#[async_trait]
pub trait Store: Send + Sync + 'static {
    /// Returns the store's current revision.
    async fn revision(&self) -> Result<Revision>;

    /// Returns the entry under a key.
    async fn get(&self, key: &[u8]) -> Result<Option<Entry>>;

    /// Returns the entry under a key as far as this process knows: it may be behind what another has written. Good
    /// enough to begin a compare-and-swap with, and available when what is behind the store is not.
    fn peek(&self, key: &[u8]) -> Result<Option<Entry>>;

    /// Returns the newest revision that this process knows. Reading at it asks nobody else.
    fn known(&self) -> Revision;

    /// Tells whether this process is the one, of those that share the store, that does what only one should do.
    fn leads(&self) -> bool {
        true
    }

    /// Returns entries under a prefix, in pages if asked, at any revision of the kept history.
    async fn list(&self, request: ListRequest) -> Result<Listing>;

    /// Does all of a transaction, if every key is as it expects, or nothing of it. What was done, or was in the way, is
    /// what [`Store::peek`] shows from then on, or something newer.
    async fn commit(&self, transaction: Transaction) -> Result<Committed>;

    /// Watches a prefix.
    async fn watch(&self, request: WatchRequest) -> Result<Watch>;

    /// Forgets history and returns the oldest revision that can still be read. Stores also forget on their own, by
    /// their limits.
    async fn compact(&self, compaction: Compaction) -> Result<Revision>;

    /// Tells whether writes can be expected to succeed, and if not, why.
    async fn health(&self) -> Result<()>;
}
