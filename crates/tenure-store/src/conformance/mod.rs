//! What every [`Store`](crate::Store) promises, as checks that an implementation's tests run. A check works under a
//! prefix of its own and assumes nothing about other keys, so that a store shared with others can be checked too.

mod reads;
mod watches;
mod writes;

use crate::{Change, Changes, Committed, Expected, Result, Revision, Signal, Store, Transaction, Watch};
use bytes::Bytes;
use std::sync::Arc;
use std::time::Duration;

/// How long a check waits for what must come.
const PATIENCE: Duration = Duration::from_secs(20);

/// Runs every check, each on a store that `fresh` gives: a new one, or always the same.
///
/// # Panics
///
/// With the check's name and what was wrong, if a promise is broken.
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
        writes::expectations_decide,
        writes::a_conflict_changes_nothing_and_shows_what_is_there,
        writes::a_transaction_has_one_revision,
        writes::what_changes_nothing_raises_nothing,
        writes::what_breaks_a_limit_is_refused,
        writes::any_bytes_are_kept,
        writes::concurrent_increments_are_all_counted,
        reads::a_listing_is_sorted_and_stays_under_its_prefix,
        reads::a_listing_comes_in_pages,
        reads::pages_of_one_revision_ignore_later_writes,
        reads::the_past_can_be_listed_until_it_is_compacted,
        reads::the_future_is_refused,
        reads::compaction_by_count_and_age_keeps_the_present,
        watches::every_change_comes_once_in_order,
        watches::a_watch_resumes_after_any_revision,
        watches::a_transaction_is_delivered_whole,
        watches::only_the_prefix_is_delivered,
        watches::a_watch_without_a_revision_starts_now,
        watches::a_compacted_past_cannot_be_watched,
        watches::progress_is_marked,
        watches::a_dropped_wait_loses_nothing,
        watches::many_watchers_see_the_same,
    ];
}

/// A store and the prefix that a check works under.
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
        entry.map(|entry| entry.value)
    }

    /// Writes a change as `key: before -> after`, for comparing whole histories as text.
    fn describe(&self, change: &Change) -> String {
        let text = |entry: &Option<crate::Entry>| {
            entry.as_ref().map_or("none".to_owned(), |entry| entry.value.escape_ascii().to_string())
        };
        let key = change.key.strip_prefix(&self.key("")[..]).unwrap_or(&change.key).escape_ascii();
        format!("{key}: {} -> {}", text(&change.previous), text(&change.current))
    }
}

/// Waits for changes, passing over progress marks.
async fn next_changes(watch: &mut Watch) -> Changes {
    loop {
        let signal = tokio::time::timeout(PATIENCE, watch.next()).await.expect("a change in time");
        if let Signal::Changes(changes) = signal.expect("a change") {
            return changes;
        }
    }
}
