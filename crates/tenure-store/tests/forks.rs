//! Forks, snapshots and views of the past: no store sees the writes of another, and a fork equals a store that received
//! the same writes.

use proptest::collection::vec;
use proptest::prelude::*;
use std::time::Instant;
use tenure_store::{
    Entry, Error, Expected, HistoryLimits, LedgerRequest, ListRequest, MemoryStore, Revision, Store,
    Transaction, WatchRequest,
};

fn block_on<T>(future: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(future)
}

fn write(key: u8, value: Option<u8>) -> Transaction {
    let key = format!("key-{key}");
    let transaction = Transaction::new().record(key.clone(), format!("{value:?}"));
    match value {
        Some(value) => transaction.put(key, Expected::Anything, vec![value; 3]),
        None => transaction.delete(key, Expected::Anything),
    }
}

async fn entries(store: &MemoryStore, at: Option<Revision>) -> Vec<Entry> {
    store.list(ListRequest { at, ..ListRequest::default() }).await.unwrap().entries
}

/// The whole readable content of a store.
async fn content(store: &MemoryStore) -> String {
    let newest = store.revision().await.unwrap();
    let mut text = format!("{newest}");
    for revision in 0..=newest.get() {
        text += &format!("{:?}", entries(store, Some(Revision::from_number(revision))).await);
    }
    text + &format!("{:?}", without_times(store).await)
}

async fn without_times(store: &MemoryStore) -> Vec<(Revision, bytes::Bytes, bytes::Bytes)> {
    let page = store.ledger(LedgerRequest::prefix("", usize::MAX)).await.unwrap();
    page.records.into_iter().map(|record| (record.revision, record.key, record.record)).collect()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 128, failure_persistence: None, ..ProptestConfig::default() })]

    /// Each step writes to one of several stores or forks one. Each store equals one that received its writes alone.
    #[test]
    fn a_fork_equals_a_store_with_the_same_writes(
        steps in vec((0..4usize, 0..12u8, proptest::option::weighted(0.8, any::<u8>()), 0..10u8), 1..120),
    ) {
        block_on(async {
            let new = || MemoryStore::with_limits(HistoryLimits::unlimited());
            let mut stores = vec![(new(), Vec::new())];
            for (which, key, value, action) in steps {
                let which = which % stores.len();
                if action == 0 && stores.len() < 4 {
                    let fork = (stores[which].0.fork(), stores[which].1.clone());
                    stores.push(fork);
                }
                let (store, writes) = &mut stores[which];
                store.commit(write(key, value)).await.unwrap();
                writes.push((key, value));
            }
            for (store, writes) in &stores {
                let alone = new();
                for (key, value) in writes {
                    alone.commit(write(*key, *value)).await.unwrap();
                }
                assert_eq!(content(store).await, content(&alone).await);
            }
        });
    }

    /// A view of a revision shows the content at that revision, and the past up to it.
    #[test]
    fn a_view_of_the_past_shows_its_content(
        writes in vec((0..8u8, proptest::option::weighted(0.7, any::<u8>())), 1..60),
        at in any::<prop::sample::Index>(),
    ) {
        block_on(async {
            let store = MemoryStore::with_limits(HistoryLimits::unlimited());
            let mut states = vec![content(&store).await];
            for (key, value) in writes {
                let before = store.revision().await.unwrap();
                if store.commit(write(key, value)).await.unwrap().revision > before {
                    states.push(content(&store).await);
                }
            }
            let at = at.index(states.len());
            let view = store.at(Revision::from_number(at as u64)).unwrap();
            assert_eq!(content(&view).await, states[at]);
            let refused = view.commit(write(0, Some(0))).await;
            assert!(matches!(refused, Err(Error::ReadOnly { .. })), "{refused:?}");
            assert_eq!(content(&store).await, *states.last().unwrap(), "the store itself is unchanged");
        });
    }
}

#[test]
fn a_view_needs_a_revision_of_the_kept_history() {
    block_on(async {
        let store = MemoryStore::with_limits(HistoryLimits { count: 2, ..HistoryLimits::unlimited() });
        for number in 0..5 {
            store.commit(write(number, Some(0))).await.unwrap();
        }
        assert!(matches!(store.at(Revision::from_number(2)), Err(Error::TooOld { .. })));
        assert!(matches!(store.at(Revision::from_number(6)), Err(Error::Future { .. })));
        let view = store.at(Revision::from_number(4)).unwrap();
        let mut watch = view.watch(WatchRequest::default().after(Revision::from_number(3))).await.unwrap();
        assert_eq!(watch.next().await.unwrap().revision().get(), 4);
        assert_eq!(watch.progress().get(), 4);
    });
}

/// A bound that test servers rely on, with a margin for slow machines: the cost does not depend on the number of objects.
#[test]
fn a_fork_of_ten_thousand_objects_takes_microseconds() {
    block_on(async {
        let store = MemoryStore::new();
        for number in 0..10_000 {
            let put = Transaction::new().put(format!("objects/{number}"), Expected::Absent, vec![7; 1_000]);
            store.commit(put).await.unwrap();
        }
        let mut forks = Vec::new();
        let start = Instant::now();
        for _ in 0..1_000 {
            forks.push(store.fork());
        }
        let each = start.elapsed() / 1_000;
        assert!(each.as_micros() < 100, "a fork takes {each:?}");
        forks[500].commit(Transaction::new().delete("objects/77", Expected::Present)).await.unwrap();
        assert!(store.get(b"objects/77").await.unwrap().is_some());
        assert!(forks[501].get(b"objects/77").await.unwrap().is_some());
    });
}
