//! Concurrent histories, recorded and checked for one order that explains them.

#[path = "support/etcd.rs"]
mod etcd;
#[path = "support/order.rs"]
mod order;

use bytes::Bytes;
use order::{Act, Operation, violation};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use tenure_store::{
    EmbeddedOptions, EmbeddedStore, Error, EtcdOptions, EtcdStore, Expected, ListRequest, MemoryStore, Store,
    Transaction,
};

/// Everything that a run recorded: per key, and for the store as a whole.
#[derive(Default)]
struct Recording {
    keys: BTreeMap<String, Vec<Operation>>,
    whole: Vec<Operation>,
    written: BTreeMap<u64, Vec<(String, Option<Bytes>)>>,
    listings: Vec<(u64, BTreeMap<String, Bytes>)>,
}

impl Recording {
    fn merge(&mut self, other: Recording) {
        for (key, operations) in other.keys {
            self.keys.entry(key).or_default().extend(operations);
        }
        self.whole.extend(other.whole);
        for (revision, writes) in other.written {
            assert!(self.written.insert(revision, writes).is_none(), "revision {revision} was given twice");
        }
        self.listings.extend(other.listings);
    }

    fn key(&mut self, key: &str, operation: Operation) {
        self.keys.entry(key.to_owned()).or_default().push(operation);
    }
}

const CLIENTS: u64 = 8;
const OPERATIONS: u64 = 250;
const KEYS: u64 = 3;

/// One client: reads, swaps, deletes, pairs and listings of few keys, so that clients conflict all the time.
async fn client(store: Arc<dyn Store>, clock: Arc<AtomicU64>, seed: u64) -> Recording {
    let tick = || clock.fetch_add(1, Ordering::SeqCst);
    let mut recording = Recording::default();
    let mut random = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    for number in 0..OPERATIONS {
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        let key = format!("k{}", random % KEYS);
        let other = format!("k{}", (random + 1) % KEYS);
        let value = Bytes::from(format!("{seed}.{number}"));
        let began = tick();
        if random.is_multiple_of(11) {
            let listing = store.list(ListRequest::default()).await.unwrap();
            let contents = listing
                .entries
                .iter()
                .map(|entry| (String::from_utf8(entry.key.to_vec()).unwrap(), entry.value.bytes()));
            recording.listings.push((listing.revision.get(), contents.collect()));
            let act = Act::Read(listing.revision.get());
            recording.whole.push(Operation { began, ended: tick(), act });
            continue;
        }
        let entry = store.get(key.as_bytes()).await.unwrap();
        let read = Operation {
            began,
            ended: tick(),
            act: Act::Read(entry.as_ref().map_or(0, |entry| entry.modified.get())),
        };
        if entry.is_some() {
            // Reads do not show what last changed an absent key; such reads are checked through the listings.
            recording.key(&key, read);
        }
        let expected = entry.as_ref().map_or(Expected::Absent, |entry| Expected::At(entry.modified));
        let (transaction, writes) = match (random >> 20) % 8 {
            0 if entry.is_some() => {
                (Transaction::new().delete(key.clone(), expected), vec![(key.clone(), None)])
            }
            1 => (
                Transaction::new().put(key.clone(), expected, value.clone()).put(
                    other.clone(),
                    Expected::Anything,
                    value.clone(),
                ),
                vec![(key.clone(), Some(value.clone())), (other.clone(), Some(value))],
            ),
            _ => (
                Transaction::new().put(key.clone(), expected, value.clone()),
                vec![(key.clone(), Some(value))],
            ),
        };
        let began = tick();
        match store.commit(transaction).await {
            Ok(committed) => {
                let act = Act::Write(committed.revision.get());
                let operation = Operation { began, ended: tick(), act };
                recording.whole.push(operation);
                for (key, _) in &writes {
                    recording.key(key, operation);
                }
                recording.written.insert(committed.revision.get(), writes);
            }
            Err(Error::Conflict(conflict)) => {
                if let Some(current) = conflict.current {
                    let act = Act::Read(current.modified.get());
                    recording.key(&key, Operation { began, ended: tick(), act });
                }
            }
            Err(error) => panic!("{error}"),
        }
    }
    recording
}

/// What else increments the revision.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Counter {
    Own,
    Shared,
}

/// Runs clients against one store, or against several that share their storage, in turn.
async fn check(stores: &[Arc<dyn Store>], counter: Counter) {
    let clock = Arc::new(AtomicU64::new(0));
    let clients: Vec<_> = (0..CLIENTS)
        .zip(stores.iter().cycle())
        .map(|(seed, store)| tokio::spawn(client(store.clone(), clock.clone(), seed + 1)))
        .collect();
    let mut recording = Recording::default();
    for client in clients {
        recording.merge(client.await.unwrap());
    }
    for (key, history) in &recording.keys {
        assert!(history.len() > 200, "{key}: too little happened");
        assert_eq!(violation(history).map(|operation| format!("{key}: {operation:?}")), None);
    }
    assert_eq!(violation(&recording.whole).map(|operation| format!("{operation:?}")), None);

    if counter == Counter::Own {
        let revisions: Vec<u64> = recording.written.keys().copied().collect();
        assert_eq!(revisions, (1..=revisions.len() as u64).collect::<Vec<_>>(), "revisions have gaps");
    }
    let mut states = BTreeMap::from([(0, BTreeMap::new())]);
    for (revision, writes) in &recording.written {
        let (_, mut state) = states.last_key_value().map(|(at, state)| (*at, state.clone())).unwrap();
        for (key, value) in writes {
            match value {
                Some(value) => state.insert(key.clone(), value.clone()),
                None => state.remove(key),
            };
        }
        states.insert(*revision, state);
    }
    for (revision, contents) in &recording.listings {
        let (_, expected) = states.range(..=*revision).next_back().unwrap();
        assert_eq!(contents, expected, "the listing at {revision} differs");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn the_memory_store_is_linearizable() {
    for _ in 0..4 {
        check(&[Arc::new(MemoryStore::new())], Counter::Own).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn the_embedded_store_is_linearizable() {
    let directory = tempfile::tempdir().unwrap();
    for round in 0..2 {
        let path = directory.path().join(round.to_string());
        let store = EmbeddedStore::open(path, EmbeddedOptions::default()).unwrap();
        check(&[Arc::new(store)], Counter::Own).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn servers_that_share_etcd_are_linearizable_together() {
    let etcd = etcd::Etcd::start();
    let options = || EtcdOptions { endpoints: etcd.endpoints(), ..EtcdOptions::default() };
    let mut stores: Vec<Arc<dyn Store>> = Vec::new();
    for _ in 0..3 {
        stores.push(Arc::new(EtcdStore::open(options()).await.unwrap()));
    }
    check(&stores, Counter::Shared).await;
}
