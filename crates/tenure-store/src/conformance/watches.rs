//! Guarantees of watches.

use super::{Scope, TIMEOUT, next_changes};
use crate::{
    Changes, Compaction, Error, Expected, Revision, Signal, Store, Transaction, Watch, WatchRequest,
};
use std::time::Duration;

fn all(scope: &Scope<impl Store>) -> WatchRequest {
    WatchRequest::prefix(scope.key(""))
}

fn describe(scope: &Scope<impl Store>, changes: &Changes) -> String {
    changes.iter().map(|change| scope.describe(change)).collect::<Vec<_>>().join(", ")
}

async fn expect(scope: &Scope<impl Store>, watch: &mut Watch, expected: &[(Revision, &str)]) {
    for (revision, text) in expected {
        let changes = next_changes(watch).await;
        assert_eq!((changes.revision(), &*describe(scope, &changes)), (*revision, *text));
    }
}

async fn expect_silence(watch: &mut Watch) {
    let signal = tokio::time::timeout(Duration::from_millis(30), watch.next()).await;
    assert!(signal.is_err(), "nothing happened, but the watch gave {signal:?}");
}

pub(super) async fn every_change_is_delivered_once_in_order(scope: &Scope<impl Store>) {
    let start = scope.store.revision().await.unwrap();
    let mut watch = scope.store.watch(all(scope).after(start)).await.unwrap();
    let changes = [
        (scope.put("a", "1").await, "a: none -> 1"),
        (scope.put("a", "2").await, "a: 1 -> 2"),
        (scope.put("b", "1").await, "b: none -> 1"),
        (scope.delete("a").await, "a: 2 -> none"),
        (scope.put("a", "3").await, "a: none -> 3"),
    ];
    scope.delete("gone").await;
    expect(scope, &mut watch, &changes).await;
    expect_silence(&mut watch).await;

    let mut number = 0;
    for _ in 0..300 {
        number += 1;
        scope.put("n", &number.to_string()).await;
    }
    let mut last = changes[4].0;
    for number in 1..=number {
        let changes = next_changes(&mut watch).await;
        assert!(changes.revision() > last, "revisions only grow");
        last = changes.revision();
        let current = changes.iter().next().unwrap().current.as_ref().unwrap();
        assert_eq!((&current.value.bytes()[..], current.modified), (number.to_string().as_bytes(), last));
    }
    expect_silence(&mut watch).await;
}

pub(super) async fn a_watch_resumes_after_any_revision(scope: &Scope<impl Store>) {
    let mut changes = vec![(scope.store.revision().await.unwrap(), String::new())];
    let mut before = "none".to_owned();
    for number in 0..40 {
        let revision = scope.put("a", &number.to_string()).await;
        changes.push((revision, format!("a: {before} -> {number}")));
        before = number.to_string();
    }
    for place in 0..changes.len() {
        let mut watch = scope.store.watch(all(scope).after(changes[place].0)).await.unwrap();
        let rest: Vec<_> = changes[place + 1..].iter().map(|(at, text)| (*at, &**text)).collect();
        expect(scope, &mut watch, &rest).await;
    }
}

pub(super) async fn a_transaction_is_delivered_whole(scope: &Scope<impl Store>) {
    scope.put("x/b", "1").await;
    let mut watch = scope.store.watch(WatchRequest::prefix(scope.key("x/"))).await.unwrap();
    let transaction = Transaction::new()
        .put(scope.key("x/c"), Expected::Anything, "2")
        .put(scope.key("y/a"), Expected::Anything, "2")
        .delete(scope.key("x/b"), Expected::Anything)
        .put(scope.key("x/a"), Expected::Anything, "2");
    let revision = scope.store.commit(transaction).await.unwrap().revision;
    let whole = "x/a: none -> 2, x/b: 1 -> none, x/c: none -> 2";
    expect(scope, &mut watch, &[(revision, whole)]).await;
    expect_silence(&mut watch).await;
}

pub(super) async fn only_the_prefix_is_delivered(scope: &Scope<impl Store>) {
    let mut watch = scope.store.watch(WatchRequest::prefix(scope.key("b/"))).await.unwrap();
    for key in ["a/1", "b", "b0", "c/1"] {
        scope.put(key, "1").await;
    }
    let wanted = scope.put("b/1", "1").await;
    scope.put("b", "2").await;
    let also = scope.put("b/", "1").await;
    expect(scope, &mut watch, &[(wanted, "b/1: none -> 1"), (also, "b/: none -> 1")]).await;
    expect_silence(&mut watch).await;
}

pub(super) async fn a_watch_without_a_revision_starts_now(scope: &Scope<impl Store>) {
    scope.put("a", "1").await;
    let mut watch = scope.store.watch(all(scope)).await.unwrap();
    let later = scope.put("a", "2").await;
    expect(scope, &mut watch, &[(later, "a: 1 -> 2")]).await;
}

pub(super) async fn a_compacted_past_cannot_be_watched(scope: &Scope<impl Store>) {
    let one = scope.put("a", "1").await;
    let mut behind = scope.store.watch(all(scope).after(one)).await.unwrap();
    let two = scope.put("a", "2").await;
    let three = scope.put("a", "3").await;
    scope.store.compact(Compaction::Before(two)).await.unwrap();
    let error = scope.store.watch(all(scope).after(one)).await;
    let late = match error {
        Err(error) => error,
        // Some stores can only tell with the first signal.
        Ok(mut watch) => watch.next().await.unwrap_err(),
    };
    assert!(matches!(late, Error::TooOld { requested, .. } if requested == one), "{late}");
    let mut watch = scope.store.watch(all(scope).after(two)).await.unwrap();
    expect(scope, &mut watch, &[(three, "a: 2 -> 3")]).await;

    // One that was already watching may have taken the changes out in time; it never skips any.
    match tokio::time::timeout(TIMEOUT, behind.next()).await.expect("a signal in time") {
        Ok(signal) => assert_eq!(signal.revision(), two),
        Err(error) => assert!(matches!(error, Error::TooOld { .. }), "{error}"),
    }
}

pub(super) async fn progress_marks_are_delivered(scope: &Scope<impl Store>) {
    let quiet = WatchRequest::prefix(scope.key("quiet/")).progress(Duration::from_millis(20));
    let mut watch = scope.store.watch(quiet).await.unwrap();
    let mut newest = scope.put("quiet/a", "1").await;
    expect(scope, &mut watch, &[(newest, "quiet/a: none -> 1")]).await;
    for number in 0..3 {
        newest = scope.put("loud", &number.to_string()).await;
    }
    let mark = tokio::time::timeout(TIMEOUT, async {
        loop {
            match watch.next().await.unwrap() {
                Signal::Progress(revision) if revision >= newest => return revision,
                Signal::Progress(_) => {}
                Signal::Changes(changes) => panic!("nothing under the prefix changed: {changes:?}"),
            }
        }
    });
    let mark = mark.await.expect("a mark in time");
    assert!(mark >= newest);
    let later = scope.put("quiet/b", "1").await;
    let mut resumed = WatchRequest::prefix(scope.key("quiet/"));
    resumed.after = Some(mark);
    let mut resumed = scope.store.watch(resumed).await.unwrap();
    expect(scope, &mut resumed, &[(later, "quiet/b: none -> 1")]).await;
    expect(scope, &mut watch, &[(later, "quiet/b: none -> 1")]).await;
    assert!(watch.progress() >= later);
}

pub(super) async fn a_dropped_wait_loses_nothing(scope: &Scope<impl Store>) {
    let mut watch = scope.store.watch(all(scope)).await.unwrap();
    let mut expected = Vec::new();
    let mut seen = Vec::new();
    for number in 0..50 {
        expected.push(scope.put("a", &number.to_string()).await);
        // Waits that are cancelled at once, repeatedly, while changes arrive.
        if let Ok(signal) = tokio::time::timeout(Duration::ZERO, watch.next()).await {
            seen.push(signal.unwrap().revision());
        }
    }
    while seen.len() < expected.len() {
        seen.push(next_changes(&mut watch).await.revision());
    }
    assert_eq!(seen, expected);
}

pub(super) async fn many_watchers_see_the_same(scope: &Scope<impl Store>) {
    const CHANGES: usize = 60;
    let start = scope.store.revision().await.unwrap();
    let watchers: Vec<_> = (0..20)
        .map(|_| {
            let (store, request) = (scope.store.clone(), all(scope).after(start));
            tokio::spawn(async move {
                let mut watch = store.watch(request).await.unwrap();
                let mut seen = Vec::new();
                while seen.len() < CHANGES {
                    seen.push(next_changes(&mut watch).await.revision());
                }
                seen
            })
        })
        .collect();
    let mut expected = Vec::new();
    for number in 0..CHANGES {
        expected.push(scope.put(&(number % 7).to_string(), &number.to_string()).await);
    }
    for watcher in watchers {
        assert_eq!(watcher.await.expect("a watcher that succeeds"), expected);
    }
}

pub(super) async fn staged_transactions_are_delivered_without_others_between(scope: &Scope<impl Store>) {
    let before = scope.put("before", "1").await;
    let staging = super::writes::staging(scope).await;
    for key in ["a", "b", "c"] {
        staging.commit(Transaction::new().put(scope.key(key), Expected::Absent, "1")).await.unwrap();
    }
    let foreign = async {
        for _ in 0..5 {
            scope.put("foreign", "1").await;
        }
    };
    let (committed, ()) = tokio::join!(scope.store.commit_all(staging.staged().await), foreign);
    committed.unwrap();
    scope.put("after", "1").await;
    let mut watch = scope.store.watch(WatchRequest::prefix(scope.key("")).after(before)).await.unwrap();
    let mut seen = Vec::new();
    while seen.last().is_none_or(|change: &String| !change.starts_with("after")) {
        seen.extend(next_changes(&mut watch).await.iter().map(|change| scope.describe(change)));
    }
    let first = seen.iter().position(|change| change.starts_with("a:")).expect("the first of them");
    let expected = ["a: none -> 1", "b: none -> 1", "c: none -> 1"];
    assert_eq!(seen[first..first + 3], expected, "{seen:?}");
}
