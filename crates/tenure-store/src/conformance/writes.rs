//! Guarantees of transactions.

use super::Scope;
use crate::limits::{MAX_KEY, MAX_OPERATIONS, MAX_VALUE};
use crate::{Entry, Error, Expected, Revision, StagingStore, Store, Transaction};
use bytes::Bytes;

pub(super) async fn an_entry_knows_its_revisions(scope: &Scope<impl Store>) {
    let first = scope.put("a", "1").await;
    let second = scope.put("a", "2").await;
    assert!(second > first, "every write raises the revision");
    let expected = Entry { key: scope.key("a"), value: "2".into(), created: first, modified: second };
    assert_eq!(scope.store.get(&scope.key("a")).await.unwrap(), Some(expected));
    assert!(scope.store.revision().await.unwrap() >= second);

    let deleted = scope.delete("a").await;
    assert!(deleted > second, "a deletion raises the revision");
    assert_eq!(scope.store.get(&scope.key("a")).await.unwrap(), None);
    let again = scope.put("a", "3").await;
    let entry = scope.store.get(&scope.key("a")).await.unwrap().unwrap();
    assert_eq!((entry.created, entry.modified), (again, again), "a put after a deletion creates a new entry");
}

pub(super) async fn preconditions_decide(scope: &Scope<impl Store>) {
    let here = scope.put("here", "1").await;
    let before = scope.put("elsewhere", "1").await;
    let cases = [
        ("here", Expected::Anything, true),
        ("here", Expected::Present, true),
        ("here", Expected::At(here), true),
        ("here", Expected::Absent, false),
        ("here", Expected::At(before), false),
        ("here", Expected::At(Revision::ZERO), false),
        ("gone", Expected::Anything, true),
        ("gone", Expected::Absent, true),
        ("gone", Expected::Present, false),
        ("gone", Expected::At(here), false),
        ("gone", Expected::At(Revision::ZERO), false),
    ];
    for (key, expected, holds) in cases {
        let transaction = Transaction::new().require(scope.key(key), expected);
        let checked = scope.store.commit(transaction).await;
        assert_eq!(checked.is_ok(), holds, "requiring {expected} of {key}");
    }
    for (key, expected, _) in cases.iter().filter(|(_, _, holds)| !holds) {
        let put = scope.try_put(key, *expected, "2").await.unwrap_err();
        assert!(put.conflict().is_some(), "putting {key} expecting {expected}: {put}");
        let deletion = Transaction::new().delete(scope.key(key), *expected);
        let deleted = scope.store.commit(deletion).await.unwrap_err();
        assert!(deleted.conflict().is_some(), "deleting {key} expecting {expected}: {deleted}");
    }
    scope.try_put("here", Expected::At(here), "2").await.expect("the right revision is accepted");
    scope.try_put("here", Expected::At(here), "3").await.expect_err("but only once");
    assert_eq!(scope.value("here").await.unwrap(), "2");
    scope.try_put("gone", Expected::Absent, "1").await.expect("an absent key is created");
    scope.try_put("gone", Expected::Absent, "2").await.expect_err("but only once");
}

pub(super) async fn a_conflict_changes_nothing_and_returns_the_current_entry(scope: &Scope<impl Store>) {
    let a = scope.put("a", "1").await;
    let b = scope.put("b", "1").await;
    let transaction = Transaction::new()
        .put(scope.key("a"), Expected::At(a), "2")
        .put(scope.key("c"), Expected::Absent, "2")
        .delete(scope.key("b"), Expected::At(a));
    let error = scope.store.commit(transaction).await.unwrap_err();
    let conflict = error.conflict().expect("a conflict");
    assert_eq!((&conflict.key, conflict.expected), (&scope.key("b"), Expected::At(a)));
    let there = Entry { key: scope.key("b"), value: "1".into(), created: b, modified: b };
    assert_eq!(conflict.current, Some(there.clone()));
    assert_eq!(scope.store.peek(&scope.key("b")).unwrap(), Some(there), "it is known from then on");
    assert_eq!(scope.value("a").await.unwrap(), "1");
    assert_eq!(scope.value("c").await, None);
    assert_eq!(scope.store.get(&scope.key("a")).await.unwrap().unwrap().modified, a);
}

pub(super) async fn a_transaction_has_one_revision(scope: &Scope<impl Store>) {
    scope.put("b", "1").await;
    let transaction = Transaction::new()
        .put(scope.key("c"), Expected::Absent, "2")
        .put(scope.key("a"), Expected::Absent, "2")
        .delete(scope.key("b"), Expected::Present);
    let committed = scope.store.commit(transaction).await.unwrap();
    for key in ["a", "c"] {
        let entry = scope.store.get(&scope.key(key)).await.unwrap().unwrap();
        assert_eq!((entry.created, entry.modified), (committed.revision, committed.revision), "{key}");
    }
    let previous: Vec<_> =
        committed.previous.iter().map(|entry| entry.as_ref().map(|entry| entry.value.bytes())).collect();
    assert_eq!(previous, [None, None, Some("1".into())], "in the order of the operations");
}

pub(super) async fn a_transaction_without_changes_keeps_the_revision(scope: &Scope<impl Store>) {
    let revision = scope.put("a", "1").await;
    let nothing = [
        Transaction::new(),
        Transaction::new().delete(scope.key("gone"), Expected::Anything),
        Transaction::new().require(scope.key("a"), Expected::At(revision)),
    ];
    for transaction in nothing {
        let committed = scope.store.commit(transaction).await.unwrap();
        assert!(committed.revision >= revision);
    }
    let next = scope.put("a", "1").await;
    let entry = scope.store.get(&scope.key("a")).await.unwrap().unwrap();
    assert_eq!(entry.modified, next, "putting the same value again is a change");
}

pub(super) async fn requests_beyond_a_limit_are_refused(scope: &Scope<impl Store>) {
    let key = scope.key("a");
    let many = (0..=MAX_OPERATIONS).fold(Transaction::new(), |transaction, number| {
        transaction.put(scope.key(&number.to_string()), Expected::Anything, "")
    });
    let refused = [
        Transaction::new().put("", Expected::Anything, ""),
        Transaction::new().put(vec![b'k'; MAX_KEY + 1], Expected::Anything, ""),
        Transaction::new().put(key.clone(), Expected::Anything, vec![0; MAX_VALUE + 1]),
        Transaction::new().put(key.clone(), Expected::Anything, "").delete(key.clone(), Expected::Anything),
        many,
    ];
    for transaction in refused {
        let error = scope.store.commit(transaction).await.unwrap_err();
        assert!(matches!(error, Error::Invalid(_)), "{error}");
    }
    assert!(matches!(scope.store.get(b"").await, Err(Error::Invalid(_))));
    let most = (0..MAX_OPERATIONS).fold(Transaction::new(), |transaction, number| {
        transaction.put(scope.key(&number.to_string()), Expected::Absent, "")
    });
    scope.store.commit(most).await.expect("as many operations as allowed");
}

pub(super) async fn arbitrary_bytes_are_kept(scope: &Scope<impl Store>) {
    let every: Bytes = (0..=255).collect::<Vec<u8>>().into();
    let large: Bytes = (0..1_000_000).map(|number: u32| (number % 251) as u8).collect::<Vec<u8>>().into();
    let mut key = scope.key("").to_vec();
    key.extend_from_slice(&every);
    let key = Bytes::from(key);
    for value in [Bytes::new(), every, large] {
        let put = Transaction::new().put(key.clone(), Expected::Anything, value.clone());
        scope.store.commit(put).await.unwrap();
        let entry = scope.store.get(&key).await.unwrap().unwrap();
        assert_eq!((&entry.key, entry.value.bytes() == value), (&key, true), "{} bytes", value.len());
    }
}

pub(super) async fn concurrent_increments_are_all_counted(scope: &Scope<impl Store>) {
    const WRITERS: usize = 8;
    const EACH: usize = 25;
    scope.put("counter", "0").await;
    let tasks: Vec<_> = (0..WRITERS)
        .map(|_| {
            let (store, key) = (scope.store.clone(), scope.key("counter"));
            tokio::spawn(async move {
                for _ in 0..EACH {
                    increment(&*store, &key).await;
                }
            })
        })
        .collect();
    for task in tasks {
        task.await.expect("a writer that succeeds");
    }
    assert_eq!(scope.value("counter").await.unwrap(), (WRITERS * EACH).to_string());
}

async fn increment(store: &impl Store, key: &Bytes) {
    let mut entry = store.get(key).await.unwrap().unwrap();
    loop {
        let number: usize = std::str::from_utf8(&entry.value.bytes()).unwrap().parse().unwrap();
        let next =
            Transaction::new().put(key.clone(), Expected::At(entry.modified), (number + 1).to_string());
        match store.commit(next).await {
            Ok(_) => return,
            Err(Error::Conflict(conflict)) => entry = conflict.current.expect("the entry is never deleted"),
            Err(error) => panic!("{error}"),
        }
    }
}

/// Returns a copy of the store as it is now, for staging.
pub(super) async fn staging<S: Store>(scope: &Scope<S>) -> StagingStore {
    let newest = scope.store.revision().await.unwrap();
    loop {
        let copy = scope.store.copy().unwrap();
        if copy.known() >= newest {
            return StagingStore::new(copy);
        }
        // Of several servers, the copied one may be behind the one that was asked.
        tokio::task::yield_now().await;
    }
}

pub(super) async fn staged_transactions_are_committed_together(scope: &Scope<impl Store>) {
    let old = scope.put("old", "1").await;
    scope.put("gone", "1").await;
    let staging = staging(scope).await;
    let put =
        |key: &str, expected, value: &'static str| Transaction::new().put(scope.key(key), expected, value);
    let namespace = staging.commit(put("namespace", Expected::Absent, "1")).await.unwrap().revision;
    // A later transaction may rely on an earlier one, by its revision in the copy.
    let inside =
        put("inside", Expected::Absent, "1").require(scope.key("namespace"), Expected::At(namespace));
    let inside = inside.record(scope.key("inside"), "created");
    let inside = staging.commit(inside).await.unwrap().revision;
    staging.commit(put("old", Expected::At(old), "2")).await.unwrap();
    staging.commit(Transaction::new().delete(scope.key("gone"), Expected::Present)).await.unwrap();
    assert_eq!(scope.value("namespace").await, None, "nothing is written before it is committed");
    assert_eq!(staging.get(&scope.key("old")).await.unwrap().unwrap().value, "2");
    // Another client writes in between, so that the revisions of the copy are not those of the store.
    scope.put("foreign", "1").await;
    let staged = staging.staged().await;
    let committed =
        scope.store.commit_all(staged.clone()).await.expect("nothing that was relied on has changed");
    assert_eq!(committed.len(), 4);
    assert!(committed.is_sorted(), "revisions grow: {committed:?}");
    for (key, value) in [("namespace", Some("1")), ("inside", Some("1")), ("old", Some("2")), ("gone", None)]
    {
        assert_eq!(scope.value(key).await.as_deref(), value.map(str::as_bytes), "{key}");
    }
    let entry = scope.store.get(&scope.key("inside")).await.unwrap().unwrap();
    assert_eq!(entry.modified, staged.translate(inside, &committed));
    assert_eq!(staged.translate(old, &committed), old, "what was there before keeps its revision");
    let mut written: Vec<Bytes> = staged.written().cloned().collect();
    written.sort();
    assert_eq!(written, ["gone", "inside", "namespace", "old"].map(|key| scope.key(key)));
    assert!(scope.store.commit_all(staged).await.is_err(), "they are committed once");
}

pub(super) async fn a_conflict_of_one_staged_transaction_commits_none(scope: &Scope<impl Store>) {
    let old = scope.put("old", "1").await;
    let staging = staging(scope).await;
    let put =
        |key: &str, expected, value: &'static str| Transaction::new().put(scope.key(key), expected, value);
    staging.commit(put("first", Expected::Absent, "1")).await.unwrap();
    staging.commit(put("old", Expected::At(old), "2")).await.unwrap();
    staging.commit(put("last", Expected::Absent, "1")).await.unwrap();
    scope.put("old", "3").await;
    let error = scope.store.commit_all(staging.staged().await).await.unwrap_err();
    let conflict = error.conflict().unwrap_or_else(|| panic!("{error}"));
    assert_eq!(conflict.key, scope.key("old"));
    for (key, value) in [("first", None), ("old", Some("3")), ("last", None)] {
        assert_eq!(scope.value(key).await.as_deref(), value.map(str::as_bytes), "{key}");
    }
    scope.put("first", "4").await;
    assert_eq!(scope.value("first").await.unwrap(), "4");
}
