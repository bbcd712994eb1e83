//! The guarantees of every [`Store`](crate::Store), as checks for the tests of an implementation. Each check uses a prefix of
//! its own and assumes nothing about other keys, so that a store shared with others can be checked too.

mod ledger;
mod reads;
mod watches;
mod writes;

use crate::{Changes, Committed, Expected, KeyChange, Result, Revision, Signal, Store, Transaction, Watch};
use bytes::Bytes;
use std::sync::Arc;
use std::time::Duration;

/// How long a check waits for an event.
const TIMEOUT: Duration = Duration::from_secs(20);

/// Runs every check on a store that `fresh` returns: a new one each time, or always the same.
///
/// # Panics
///
/// If a guarantee is broken, with the name of the check and what is wrong.
pub async fn run<S: Store>(mut fresh: impl AsyncFnMut() -> Arc<S>) {
    macro_rules! check {
        ($($module:ident :: $name:ident),* $(,)?) => {$(
            let scope = Scope::new(fresh().await, stringify!($name));
            eprintln!("checking {}", stringify!($name));
            $module::$name(&scope).await;
        )*};
    }
    check![
        writes::an_entry_knows_its_revisions,
        writes::preconditions_decide,
        writes::a_conflict_changes_nothing_and_returns_the_current_entry,
        writes::a_transaction_has_one_revision,
        writes::a_transaction_without_changes_keeps_the_revision,
        writes::requests_beyond_a_limit_are_refused,
        writes::arbitrary_bytes_are_kept,
        writes::concurrent_increments_are_all_counted,
        writes::staged_transactions_are_committed_together,
        writes::a_conflict_of_one_staged_transaction_commits_none,
        watches::staged_transactions_are_delivered_without_others_between,
        reads::a_listing_is_sorted_and_stays_under_its_prefix,
        reads::a_listing_is_paged,
        reads::pages_of_one_revision_ignore_later_writes,
        reads::the_past_can_be_listed_until_it_is_compacted,
        reads::the_future_is_refused,
        reads::compaction_by_count_and_age_keeps_the_present,
        watches::every_change_is_delivered_once_in_order,
        watches::a_watch_resumes_after_any_revision,
        watches::a_transaction_is_delivered_whole,
        watches::only_the_prefix_is_delivered,
        watches::a_watch_without_a_revision_starts_now,
        watches::a_compacted_past_cannot_be_watched,
        watches::progress_marks_are_delivered,
        watches::a_dropped_wait_loses_nothing,
        watches::many_watchers_see_the_same,
        ledger::records_are_kept_with_the_change_and_outlive_the_key,
        ledger::a_transaction_that_changes_nothing_leaves_no_record,
        ledger::records_are_read_in_pages,
        ledger::invalid_records_are_refused,
    ];
}

/// A store and the prefix of a check.
pub(crate) struct Scope<S> {
    pub(crate) store: Arc<S>,
    name: &'static str,
}

impl<S: Store> Scope<S> {
    fn new(store: Arc<S>, name: &'static str) -> Scope<S> {
        Scope { store, name }
    }

    fn key(&self, key: &str) -> Bytes {
        format!("/conformance/{}/{key}", self.name).into()
    }

    async fn put(&self, key: &str, value: &str) -> Revision {
        self.try_put(key, Expected::Anything, value).await.expect("a put without expectations").revision
    }

    async fn try_put(&self, key: &str, expected: Expected, value: &str) -> Result<Committed> {
        self.store.commit(Transaction::new().put(self.key(key), expected, value.to_owned())).await
    }

    async fn delete(&self, key: &str) -> Revision {
        let transaction = Transaction::new().delete(self.key(key), Expected::Anything);
        self.store.commit(transaction).await.expect("a deletion without expectations").revision
    }

    async fn value(&self, key: &str) -> Option<Bytes> {
        let entry = self.store.get(&self.key(key)).await.expect("a get");
        entry.map(|entry| entry.value.bytes())
    }

    /// Writes a change as `key: before -> after`, for comparing whole histories as text.
    fn describe(&self, change: &KeyChange) -> String {
        let text = |entry: &Option<crate::Entry>| {
            entry.as_ref().map_or("none".to_owned(), |entry| entry.value.bytes().escape_ascii().to_string())
        };
        let key = change.key.strip_prefix(&self.key("")[..]).unwrap_or(&change.key).escape_ascii();
        format!("{key}: {} -> {}", text(&change.previous), text(&change.current))
    }
}

/// Waits for changes and ignores progress marks.
async fn next_changes(watch: &mut Watch) -> Changes {
    loop {
        let signal = tokio::time::timeout(TIMEOUT, watch.next()).await.expect("a change in time");
        if let Signal::Changes(changes) = signal.expect("a change") {
            return changes;
        }
    }
}
