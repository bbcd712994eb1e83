//! The log of writes: the store of a test server records which request committed what.

use async_trait::async_trait;
use bytes::Bytes;
use parking_lot::Mutex;
use std::sync::Arc;
use tenure_catalog::object::OBJECTS;
use tenure_store::{
    Action, Committed, Compaction, Entry, LedgerPage, LedgerRequest, ListRequest, Listing, MemoryStore,
    Result, Revision, Store, Transaction, Watch, WatchRequest,
};

tokio::task_local! {
    /// The request that the current task carries out. Without one, a controller of the server writes.
    pub(crate) static ACTOR: Arc<Actor>;
}

/// Who writes.
#[derive(Debug)]
pub(crate) struct Actor {
    pub verb: String,
    pub manager: String,
    pub user: String,
}

impl Actor {
    fn current() -> Arc<Actor> {
        ACTOR.try_with(Arc::clone).unwrap_or_else(|_| {
            let controller = || "tenure-controllers".to_string();
            Arc::new(Actor {
                verb: "reconcile".into(),
                manager: controller(),
                user: "system:apiserver".into(),
            })
        })
    }
}

/// One object that a commit wrote.
#[derive(Clone, Debug)]
pub(crate) struct Record {
    pub revision: Revision,
    pub actor: Arc<Actor>,
    pub key: Bytes,
    pub before: Option<Entry>,
    pub after: Option<Entry>,
}

/// A store in memory that records its writes.
pub(crate) struct RecordingStore {
    pub store: MemoryStore,
    records: Mutex<Vec<Record>>,
}

impl RecordingStore {
    /// Wraps a store; the log is empty.
    pub fn new(store: MemoryStore) -> Arc<RecordingStore> {
        Arc::new(RecordingStore { store, records: Mutex::default() })
    }

    /// Returns the writes after a revision.
    pub fn records_after(&self, revision: Revision) -> Vec<Record> {
        let records = self.records.lock();
        let start = records.partition_point(|record| record.revision <= revision);
        records[start..].to_vec()
    }

    fn record(&self, operations: Vec<(Bytes, Action)>, committed: &Committed) {
        let actor = Actor::current();
        let revision = committed.revision;
        let mut records = self.records.lock();
        for ((key, action), before) in operations.into_iter().zip(&committed.previous) {
            let after = match action {
                Action::Put(value) if before.as_ref().is_none_or(|before| before.value != value) => {
                    let created = before.as_ref().map_or(revision, |before| before.created);
                    Some(Entry { key: key.clone(), value: value.into(), created, modified: revision })
                }
                Action::Delete if before.is_some() => None,
                _ => continue,
            };
            if key.starts_with(OBJECTS.as_bytes()) {
                records.push(Record { revision, actor: actor.clone(), key, before: before.clone(), after });
            }
        }
        // Two commits may come here in another order than that of their revisions.
        let unsorted = records.len() >= 2 && records[records.len() - 2].revision > revision;
        if unsorted {
            records.sort_by_key(|record| record.revision);
        }
    }
}

#[async_trait]
impl Store for RecordingStore {
    async fn revision(&self) -> Result<Revision> {
        self.store.revision().await
    }

    async fn get(&self, key: &[u8]) -> Result<Option<Entry>> {
        self.store.get(key).await
    }

    fn peek(&self, key: &[u8]) -> Result<Option<Entry>> {
        self.store.peek(key)
    }

    fn known(&self) -> Revision {
        self.store.known()
    }

    async fn list(&self, request: ListRequest) -> Result<Listing> {
        self.store.list(request).await
    }

    async fn commit(&self, transaction: Transaction) -> Result<Committed> {
        let operations = transaction.operations().iter();
        let operations =
            operations.map(|operation| (operation.key.clone(), operation.action.clone())).collect();
        let committed = self.store.commit(transaction).await?;
        self.record(operations, &committed);
        Ok(committed)
    }

    async fn watch(&self, request: WatchRequest) -> Result<Watch> {
        self.store.watch(request).await
    }

    async fn compact(&self, compaction: Compaction) -> Result<Revision> {
        self.store.compact(compaction).await
    }

    fn pack(&self) -> bool {
        self.store.pack()
    }

    async fn ledger(&self, request: LedgerRequest) -> Result<LedgerPage> {
        self.store.ledger(request).await
    }

    async fn health(&self) -> Result<()> {
        self.store.health().await
    }
}
