//! Every store gives every guarantee of the trait.

#[path = "support/etcd.rs"]
mod etcd;

use async_trait::async_trait;
use etcd::Etcd;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use tenure_store::{
    Committed, Compaction, EmbeddedOptions, EmbeddedStore, Entry, EtcdOptions, EtcdStore, LedgerPage,
    LedgerRequest, ListRequest, Listing, MemoryStore, Result, Revision, StagedTransactions, Store,
    Transaction, Watch, WatchRequest, conformance,
};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_memory_store_keeps_every_promise() {
    conformance::run(async || Arc::new(MemoryStore::new())).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_memory_store_keeps_every_promise_in_turn() {
    let store = Arc::new(MemoryStore::new());
    conformance::run(async || store.clone()).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_embedded_store_keeps_every_promise() {
    let directory = tempfile::tempdir().unwrap();
    let mut number = 0;
    conformance::run(async || {
        number += 1;
        let path = directory.path().join(number.to_string());
        Arc::new(EmbeddedStore::open(path, EmbeddedOptions::default()).unwrap())
    })
    .await;
}

fn options(etcd: &Etcd, prefix: &str) -> EtcdOptions {
    EtcdOptions { endpoints: etcd.endpoints(), prefix: prefix.to_owned(), ..EtcdOptions::default() }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_store_on_etcd_keeps_every_promise() {
    let etcd = Etcd::start();
    let mut number = 0;
    conformance::run(async || {
        number += 1;
        Arc::new(EtcdStore::open(options(&etcd, &format!("/{number}/"))).await.unwrap())
    })
    .await;
}

/// Writes go to one server and reads to two others in turn: every guarantee holds across servers.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn servers_that_share_etcd_keep_every_promise_together() {
    let etcd = Etcd::start();
    let mut stores = Vec::new();
    for _ in 0..3 {
        let store: Arc<dyn Store> = Arc::new(EtcdStore::open(options(&etcd, "/shared/")).await.unwrap());
        stores.push(store);
    }
    let shared = Arc::new(InTurn { stores, slot: AtomicUsize::new(0) });
    conformance::run(async || shared.clone()).await;
}

/// Stores that share their storage; each request goes to the next one.
struct InTurn {
    stores: Vec<Arc<dyn Store>>,
    slot: AtomicUsize,
}

impl InTurn {
    fn next(&self) -> &dyn Store {
        let slot = self.slot.fetch_add(1, Ordering::Relaxed);
        &*self.stores[slot % self.stores.len()]
    }
}

#[async_trait]
impl Store for InTurn {
    async fn revision(&self) -> Result<Revision> {
        self.next().revision().await
    }

    async fn get(&self, key: &[u8]) -> Result<Option<Entry>> {
        self.next().get(key).await
    }

    fn peek(&self, key: &[u8]) -> Result<Option<Entry>> {
        self.next().peek(key)
    }

    fn known(&self) -> Revision {
        self.next().known()
    }

    async fn list(&self, request: ListRequest) -> Result<Listing> {
        self.next().list(request).await
    }

    async fn commit(&self, transaction: Transaction) -> Result<Committed> {
        self.next().commit(transaction).await
    }

    fn copy(&self) -> Result<Arc<dyn Store>> {
        self.next().copy()
    }

    async fn commit_all(&self, staged: StagedTransactions) -> Result<Vec<Revision>> {
        self.next().commit_all(staged).await
    }

    async fn watch(&self, request: WatchRequest) -> Result<Watch> {
        self.next().watch(request).await
    }

    /// Each server has its own history; here compaction applies to all of them.
    async fn compact(&self, compaction: Compaction) -> Result<Revision> {
        let mut oldest = self.next().compact(compaction).await?;
        for store in &self.stores {
            oldest = store.compact(Compaction::Before(oldest)).await?;
        }
        Ok(oldest)
    }

    async fn ledger(&self, request: LedgerRequest) -> Result<LedgerPage> {
        self.next().ledger(request).await
    }

    async fn health(&self) -> Result<()> {
        self.next().health().await
    }
}
