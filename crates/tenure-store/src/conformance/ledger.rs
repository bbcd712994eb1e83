//! Guarantees of the ledger.

use super::{Scope, next_changes};
use crate::limits::MAX_OPERATIONS;
use crate::{Error, Expected, LedgerRequest, Store, Transaction, WatchRequest};
use bytes::Bytes;

/// Returns the records of a key, newest first.
async fn records(scope: &Scope<impl Store>, key: &str) -> Vec<Bytes> {
    let page = scope.store.ledger(LedgerRequest::key(scope.key(key), 100)).await.unwrap();
    page.records.into_iter().map(|record| record.record).collect()
}

pub(super) async fn records_are_kept_with_the_change_and_outlive_the_key(scope: &Scope<impl Store>) {
    let key = scope.key("a");
    let mut watch = scope.store.watch(WatchRequest::prefix(scope.key(""))).await.unwrap();
    let put = Transaction::new().put(key.clone(), Expected::Absent, "1").record(key.clone(), "created");
    let created = scope.store.commit(put.clone()).await.unwrap().revision;
    let changes = next_changes(&mut watch).await;
    let watched: Vec<_> = changes.records().collect();
    assert_eq!(watched, [(&key, &Bytes::from("created"))], "watchers see the record with the change");
    assert!(matches!(scope.store.commit(put).await, Err(Error::Conflict(_))));
    assert_eq!(records(scope, "a").await, ["created"], "a conflict leaves no record");
    let delete = Transaction::new().delete(key.clone(), Expected::At(created)).record(key.clone(), "deleted");
    let deleted = scope.store.commit(delete).await.unwrap().revision;
    let page = scope.store.ledger(LedgerRequest::key(key.clone(), 100)).await.unwrap();
    let revisions: Vec<_> = page.records.iter().map(|record| (record.revision, &record.record[..])).collect();
    assert_eq!(revisions, [(deleted, &b"deleted"[..]), (created, b"created")]);
    assert!(page.records.iter().all(|record| record.key == key && record.written_at > 0));
}

pub(super) async fn a_transaction_that_changes_nothing_leaves_no_record(scope: &Scope<impl Store>) {
    let key = scope.key("gone");
    let delete = Transaction::new().delete(key.clone(), Expected::Anything).record(key.clone(), "deleted");
    scope.store.commit(delete).await.unwrap();
    let require = Transaction::new().require(key.clone(), Expected::Absent).record(key, "checked");
    scope.store.commit(require).await.unwrap();
    assert_eq!(records(scope, "gone").await, Vec::<Bytes>::new());
}

pub(super) async fn records_are_read_in_pages(scope: &Scope<impl Store>) {
    for number in 0..10 {
        let (one, two) = (scope.key(&format!("{}", number % 3)), scope.key("also"));
        let put =
            Transaction::new().put(one.clone(), Expected::Anything, "v").record(one, number.to_string());
        scope.store.commit(put.record(two, format!("also {number}"))).await.unwrap();
    }
    let prefix = scope.key("");
    let all = scope.store.ledger(LedgerRequest::prefix(prefix.clone(), 100)).await.unwrap();
    assert_eq!((all.records.len(), &all.next), (20, &None));
    let places: Vec<_> = all.records.iter().map(|record| (record.revision, &record.key)).collect();
    assert!(places.is_sorted_by(|a, b| a > b), "newest first");
    let (mut read, mut request) = (Vec::new(), LedgerRequest::prefix(prefix, 3));
    loop {
        let page = scope.store.ledger(request.clone()).await.unwrap();
        assert!(page.records.len() <= 3);
        read.extend(page.records);
        match page.next {
            Some(next) => request = request.before(next),
            None => break,
        }
    }
    assert_eq!(read, all.records);
    assert_eq!(records(scope, "1").await, ["7", "4", "1"]);
}

pub(super) async fn invalid_records_are_refused(scope: &Scope<impl Store>) {
    let key = scope.key("a");
    let twice = Transaction::new().record(key.clone(), "1").record(key.clone(), "2");
    let many = (0..MAX_OPERATIONS).fold(Transaction::new(), |all, number| all.record(number.to_string(), ""));
    let many = many.put(key, Expected::Anything, "");
    for transaction in [twice, many, Transaction::new().record("", "no key")] {
        let refused = scope.store.commit(transaction).await;
        assert!(matches!(refused, Err(Error::Invalid(_))), "{refused:?}");
    }
}
