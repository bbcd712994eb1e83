//! Limits of the history, snapshots and forks.

use std::time::Duration;
use tenure_store::{
    Error, Expected, HistoryLimits, ListRequest, MemoryStore, Revision, Signal, Store, Transaction,
    WatchRequest,
};

fn put(key: &str, value: impl Into<bytes::Bytes>) -> Transaction {
    Transaction::new().put(key.to_owned(), Expected::Anything, value)
}

async fn oldest(store: &MemoryStore) -> u64 {
    match store.list(ListRequest::default().at(Revision::ZERO)).await {
        Ok(_) => 0,
        Err(Error::TooOld { oldest, .. }) => oldest.get(),
        Err(error) => panic!("{error}"),
    }
}

#[tokio::test]
async fn history_is_bounded_by_count() {
    let limits = HistoryLimits { count: 10, ..HistoryLimits::unlimited() };
    let store = MemoryStore::with_limits(limits);
    for number in 0..10 {
        store.commit(put("a", number.to_string())).await.unwrap();
        assert_eq!(oldest(&store).await, 0);
    }
    for number in 1..30 {
        store.commit(put("a", "x")).await.unwrap();
        assert_eq!(oldest(&store).await, number);
    }
}

#[tokio::test]
async fn history_is_bounded_by_bytes() {
    let limits = HistoryLimits { bytes: 1_000_000, ..HistoryLimits::unlimited() };
    let store = MemoryStore::with_limits(limits);
    for _ in 0..50 {
        store.commit(put("a", vec![0; 100_000])).await.unwrap();
    }
    let kept = store.revision().await.unwrap().get() - oldest(&store).await;
    assert!((8..=11).contains(&kept), "{kept} transactions of 100 KB are kept within 1 MB");
}

#[tokio::test]
async fn history_is_bounded_by_age() {
    let of_age = |age| MemoryStore::with_limits(HistoryLimits { age, ..HistoryLimits::unlimited() });
    let kept = of_age(Duration::from_secs(3_600));
    let forgotten = of_age(Duration::from_millis(1));
    let old = forgotten.commit(put("a", "1")).await.unwrap().revision;
    for number in 2.. {
        kept.commit(put("a", number.to_string())).await.unwrap();
        forgotten.commit(put("a", number.to_string())).await.unwrap();
        if oldest(&forgotten).await >= old.get() {
            break;
        }
    }
    assert_eq!(oldest(&kept).await, 0);
}

#[tokio::test]
async fn a_transaction_without_changes_takes_no_revision() {
    let store = MemoryStore::new();
    let revision = store.commit(put("a", "1")).await.unwrap().revision;
    let nothing = [
        Transaction::new(),
        Transaction::new().delete("gone", Expected::Anything),
        Transaction::new().require("a", Expected::Present),
    ];
    for transaction in nothing {
        assert_eq!(store.commit(transaction).await.unwrap().revision, revision);
        assert_eq!(store.revision().await.unwrap(), revision);
    }
    store.commit(put("a", "1").put("b", Expected::Present, "1")).await.unwrap_err();
    assert_eq!(store.revision().await.unwrap(), revision, "a conflict takes none either");
}

#[tokio::test]
async fn a_watcher_that_keeps_up_never_notices_compaction() {
    let limits = HistoryLimits { count: 3, ..HistoryLimits::unlimited() };
    let store = MemoryStore::with_limits(limits);
    let mut busy = store.watch(WatchRequest::prefix("a")).await.unwrap();
    let mut quiet = store.watch(WatchRequest::prefix("quiet")).await.unwrap();
    for number in 0..1_000 {
        let revision = store.commit(put("a", number.to_string())).await.unwrap().revision;
        assert_eq!(busy.next().await.unwrap().revision(), revision);
    }
    // No change that this one waits for was forgotten, so it is not too old, however long it slept.
    let revision = store.commit(put("quiet", "1")).await.unwrap().revision;
    assert_eq!(quiet.next().await.unwrap().revision(), revision);
}

#[tokio::test]
async fn a_watcher_that_falls_behind_gets_too_old() {
    let limits = HistoryLimits { count: 3, ..HistoryLimits::unlimited() };
    let store = MemoryStore::with_limits(limits);
    let mut watch = store.watch(WatchRequest::default()).await.unwrap();
    for number in 0..1_000 {
        store.commit(put("a", number.to_string())).await.unwrap();
    }
    let error = watch.next().await.unwrap_err();
    assert!(matches!(error, Error::TooOld { requested: Revision::ZERO, .. }), "{error}");
}

#[tokio::test]
async fn a_watcher_far_behind_within_the_history_misses_nothing() {
    let store = MemoryStore::with_limits(HistoryLimits::unlimited());
    let mut watch = store.watch(WatchRequest::prefix("a")).await.unwrap();
    // More than a topic remembers, so that the history itself is searched.
    let mut expected = Vec::new();
    for number in 0..3_000 {
        let key = if number % 3 == 0 { "a" } else { "b" };
        let revision = store.commit(put(key, number.to_string())).await.unwrap().revision;
        if key == "a" {
            expected.push(revision);
        }
    }
    for revision in expected {
        assert_eq!(watch.next().await.unwrap().revision(), revision);
    }
    assert_eq!(watch.progress(), store.revision().await.unwrap());
}

#[tokio::test]
async fn a_fork_is_independent() {
    let store = MemoryStore::new();
    store.commit(put("a", "1")).await.unwrap();
    let fork = store.fork();
    store.commit(put("a", "2")).await.unwrap();
    let forked = fork.commit(put("b", "2")).await.unwrap().revision;
    assert_eq!(store.get(b"b").await.unwrap(), None);
    assert_eq!(fork.get(b"a").await.unwrap().unwrap().value, "1");
    assert_eq!(forked, store.revision().await.unwrap(), "both continue from the revision of the fork");
    let mut watch = fork.watch(WatchRequest::default().after(Revision::ZERO)).await.unwrap();
    assert_eq!(watch.next().await.unwrap().revision().get(), 1, "a fork has the history as well");
}

#[tokio::test]
async fn restoring_a_snapshot_ends_watches() {
    let store = MemoryStore::new();
    store.commit(put("a", "1")).await.unwrap();
    let snapshot = store.snapshot();
    store.commit(put("a", "2")).await.unwrap();
    let mut watch = store.watch(WatchRequest::default().after(Revision::ZERO)).await.unwrap();
    assert!(matches!(watch.next().await, Ok(Signal::Changes(_))));
    store.restore(&snapshot);
    assert!(matches!(watch.next().await, Err(Error::Closed)));
    assert_eq!(store.get(b"a").await.unwrap().unwrap().value, "1");
    assert_eq!(store.revision().await.unwrap(), snapshot.revision());
    let again = store.commit(put("a", "3")).await.unwrap().revision;
    assert_eq!(again.get(), snapshot.revision().get() + 1);
    store.restore(&snapshot);
    assert_eq!(store.get(b"a").await.unwrap().unwrap().value, "1", "a snapshot can be used again");
}

#[tokio::test]
async fn a_watch_after_a_restore_does_not_see_undone_changes() {
    let store = MemoryStore::new();
    let snapshot = store.snapshot();
    let before = store.watch(WatchRequest::prefix("a")).await.unwrap();
    for number in 0..5 {
        store.commit(put("a", number.to_string())).await.unwrap();
    }
    store.restore(&snapshot);
    let mut watch = store.watch(WatchRequest::prefix("a")).await.unwrap();
    store.commit(put("b", "x")).await.unwrap();
    drop(before);
    let revision = store.commit(put("a", "x")).await.unwrap().revision;
    let Signal::Changes(changes) = watch.next().await.unwrap() else { panic!("no change came") };
    assert_eq!((changes.revision(), changes.iter().count()), (revision, 1));
}

#[tokio::test]
async fn a_dropped_store_ends_its_watches() {
    let store = MemoryStore::new();
    let mut watch = store.watch(WatchRequest::default()).await.unwrap();
    let waiting = tokio::spawn(async move { watch.next().await });
    tokio::task::yield_now().await;
    drop(store);
    assert!(matches!(waiting.await.unwrap(), Err(Error::Closed)));
}
