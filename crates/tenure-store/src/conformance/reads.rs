//! Guarantees of listings, past and present.

use super::Scope;
use crate::{Compaction, Error, ListRequest, Listing, Revision, Store};
use bytes::Bytes;
use std::time::Duration;

/// Writes a listing as `key=value` for comparing.
fn describe(scope: &Scope<impl Store>, listing: &Listing) -> String {
    let entry = |entry: &crate::Entry| {
        let key = entry.key.strip_prefix(&scope.key("")[..]).unwrap_or(&entry.key);
        format!("{}={}", key.escape_ascii(), entry.value.bytes().escape_ascii())
    };
    listing.entries.iter().map(entry).collect::<Vec<_>>().join(" ")
}

async fn list(scope: &Scope<impl Store>, request: ListRequest) -> String {
    describe(scope, &scope.store.list(request).await.unwrap())
}

fn all(scope: &Scope<impl Store>) -> ListRequest {
    ListRequest::prefix(scope.key(""))
}

pub(super) async fn a_listing_is_sorted_and_stays_under_its_prefix(scope: &Scope<impl Store>) {
    for key in ["b/2", "a/2", "b/10", "b", "b0", "b/1", "c/1", "b/"] {
        scope.put(key, "x").await;
    }
    scope.put("b/2", "y").await;
    scope.delete("b/1").await;
    let under = |prefix: &str| ListRequest::prefix(scope.key(prefix));
    assert_eq!(list(scope, under("b/")).await, "b/=x b/10=x b/2=y");
    assert_eq!(list(scope, under("b")).await, "b=x b/=x b/10=x b/2=y b0=x");
    assert_eq!(list(scope, under("none/")).await, "");
    let listing = scope.store.list(under("b/")).await.unwrap();
    assert!(listing.revision >= listing.entries[2].modified);
    assert_eq!((listing.remaining, listing.next), (0, None));

    let edge = {
        let mut key = scope.key("").to_vec();
        key.extend_from_slice(&[0xff, 0xff]);
        Bytes::from(key)
    };
    let put = crate::Transaction::new().put(edge.clone(), crate::Expected::Anything, "x");
    scope.store.commit(put).await.unwrap();
    let listing = scope.store.list(ListRequest::prefix(edge)).await.unwrap();
    assert_eq!(listing.entries.len(), 1, "a prefix that has no successor of the same length");
}

pub(super) async fn a_listing_is_paged(scope: &Scope<impl Store>) {
    for number in 0..7 {
        scope.put(&format!("{number}"), "x").await;
    }
    let mut request = all(scope).limit(3);
    let mut pages = Vec::new();
    loop {
        let page = scope.store.list(request.clone()).await.unwrap();
        pages.push((describe(scope, &page), page.remaining));
        let Some(next) = page.next else { break };
        request = request.from(next);
    }
    let expected = [("0=x 1=x 2=x", 4), ("3=x 4=x 5=x", 1), ("6=x", 0)];
    assert_eq!(pages, expected.map(|(page, remaining)| (page.to_owned(), remaining)));

    let exact = scope.store.list(all(scope).limit(7)).await.unwrap();
    assert_eq!((exact.remaining, exact.next), (0, None));
    let count = scope.store.list(all(scope).limit(0)).await.unwrap();
    assert_eq!((count.entries.len(), count.remaining), (0, 7), "a limit of zero only counts");
    let between = scope.store.list(all(scope).from(scope.key("4x"))).await.unwrap();
    assert_eq!(describe(scope, &between), "5=x 6=x", "from a key that is not there");
}

pub(super) async fn pages_of_one_revision_ignore_later_writes(scope: &Scope<impl Store>) {
    for key in ["a", "b", "c", "d"] {
        scope.put(key, "old").await;
    }
    let first = scope.store.list(all(scope).limit(2)).await.unwrap();
    scope.put("c", "new").await;
    scope.delete("d").await;
    scope.put("e", "new").await;
    let rest = all(scope).from(first.next.unwrap()).at(first.revision);
    assert_eq!(list(scope, rest).await, "c=old d=old");
    assert_eq!(list(scope, all(scope)).await, "a=old b=old c=new e=new");
}

pub(super) async fn the_past_can_be_listed_until_it_is_compacted(scope: &Scope<impl Store>) {
    let empty = scope.store.revision().await.unwrap();
    let one = scope.put("a", "1").await;
    let two = scope.put("b", "1").await;
    let three = scope.put("a", "2").await;
    let four = scope.delete("b").await;
    let five = scope.put("b", "3").await;
    let states =
        [(empty, ""), (one, "a=1"), (two, "a=1 b=1"), (three, "a=2 b=1"), (four, "a=2"), (five, "a=2 b=3")];
    for (revision, expected) in states {
        let listing = scope.store.list(all(scope).at(revision)).await.unwrap();
        assert_eq!(describe(scope, &listing), expected, "at {revision}");
        assert_eq!(listing.revision, revision);
    }
    assert_eq!(scope.store.compact(Compaction::Before(three)).await.unwrap(), three);
    for (revision, expected) in states {
        let listing = scope.store.list(all(scope).at(revision)).await;
        match listing {
            Ok(listing) if revision >= three => assert_eq!(describe(scope, &listing), expected),
            Err(Error::TooOld { requested, oldest }) if revision < three => {
                assert_eq!((requested, oldest), (revision, three));
            }
            other => panic!("at {revision} after compacting to {three}: {other:?}"),
        }
    }
    assert_eq!(list(scope, all(scope)).await, "a=2 b=3");
    let again = scope.store.compact(Compaction::Before(one)).await.unwrap();
    assert!(again >= three, "compaction does not go back");
}

pub(super) async fn the_future_is_refused(scope: &Scope<impl Store>) {
    let now = scope.put("a", "1").await;
    let future = Revision::from_number(now.get() + 1_000_000);
    let listed = scope.store.list(all(scope).at(future)).await;
    assert!(matches!(listed, Err(Error::Future { requested, .. }) if requested == future), "{listed:?}");
    let watch = crate::WatchRequest::prefix(scope.key("")).after(future);
    let watched = scope.store.watch(watch).await;
    assert!(matches!(watched, Err(Error::Future { .. })), "{watched:?}");
}

pub(super) async fn compaction_by_count_and_age_keeps_the_present(scope: &Scope<impl Store>) {
    let first = scope.put("a", "0").await;
    for number in 1..20 {
        scope.put("a", &number.to_string()).await;
    }
    let oldest = scope.store.compact(Compaction::KeepCount(5)).await.unwrap();
    assert!(oldest > first);
    let listed = scope.store.list(all(scope).at(first)).await;
    assert!(matches!(listed, Err(Error::TooOld { .. })), "{listed:?}");
    assert_eq!(list(scope, all(scope)).await, "a=19");

    let kept = scope.store.compact(Compaction::OlderThan(Duration::from_secs(3600))).await.unwrap();
    assert_eq!(kept, oldest, "nothing is an hour old");
    tokio::time::sleep(Duration::from_millis(30)).await;
    let newest = scope.store.revision().await.unwrap();
    let compacted = scope.store.compact(Compaction::OlderThan(Duration::from_millis(1))).await.unwrap();
    assert_eq!(compacted, newest, "everything is older than a moment");
    assert_eq!(list(scope, all(scope).at(newest)).await, "a=19");
}
