//! Loads the mirror: at the start, from the beginning of the kept history, and again if etcd has compacted revisions that
//! this server had not seen.

use super::call_error::{CallError, Refusal};
use super::keys::Meaning;
use super::mark::Mark;
use super::mirror::Mirror;
use super::revisions::Slot;
use super::wire::{
    KeyValue, RANGE, RangeRequest, RangeResponse, WATCH, WatchCreate, WatchRequest, WatchResponse, revision,
};
use crate::Revision;
use crate::history::History;
use crate::ledger::{Ledger, Record};
use crate::state::State;
use bytes::Bytes;
use std::time::Duration;
use tokio::time::{Instant, timeout_at};

/// The entries of the first page, and the bytes of later ones, estimated from the page before. etcd scans all keys for every
/// page, so that pages should be few.
const FIRST_PAGE: i64 = 500;
const PAGE_BYTES: usize = 8 << 20;
/// The most entries of a page.
const LARGEST_PAGE: usize = 20_000;
/// The timeout of a page.
const PAGE_TIME: Duration = Duration::from_secs(10);

/// The revisions of the store and of etcd.
pub(super) struct Newest {
    /// etcd's revision of the store's last transaction.
    pub(super) marked: i64,
    /// The store's revision of that transaction.
    shown: Revision,
    /// etcd's current revision.
    pub(super) current: i64,
}

/// Asks etcd for the newest revision of the store: every batch writes a mark, and reading the marks is linearizable.
pub(super) async fn newest(mirror: &Mirror, deadline: Instant) -> Result<Newest, CallError> {
    newest_at(mirror, 0, deadline).await
}

/// Asks for the newest revision of the store at a revision of etcd; zero is the current one.
async fn newest_at(mirror: &Mirror, at: i64, deadline: Instant) -> Result<Newest, CallError> {
    let (key, range_end) = mirror.keys.marks();
    let request = RangeRequest { key, range_end, revision: at, ..RangeRequest::default() };
    let answer: RangeResponse = mirror.cluster.persist(RANGE, &request, deadline).await?;
    let current = revision(answer.header.as_ref());
    let Some(last) = answer.kvs.iter().max_by_key(|kv| kv.mod_revision) else {
        return Ok(Newest { marked: 0, shown: mirror.offset.revision(0, Slot::FIRST), current });
    };
    let slot = Mark::decode(&last.value).map_or(Slot::FIRST, |mark| mark.last);
    let shown = mirror.offset.revision(last.mod_revision, slot);
    Ok(Newest { marked: last.mod_revision, shown, current })
}

/// Loads an empty mirror with the state of `history` revisions ago, from which the watch continues.
pub(super) async fn start(mirror: &Mirror, history: u64) -> Result<(), CallError> {
    let Newest { current, .. } = newest(mirror, Instant::now() + PAGE_TIME).await?;
    let back = i64::try_from(history).unwrap_or(i64::MAX);
    let mut base = current.saturating_sub(back).max(1);
    loop {
        match shown_at(mirror, base).await {
            Ok(state) => {
                mirror.note_frozen(is_frozen_at(mirror, base).await?);
                mirror.state.resume_at(state);
                mirror.set_reached(base);
                return Ok(());
            }
            // Compacted, possibly while it was being read: begin where etcd's history begins.
            Err(CallError::Refused(Refusal::Compacted, _)) => {
                base = oldest(mirror, base).await?.max(base + 1)
            }
            // An old value, under a key that is no longer configured.
            Err(CallError::Undecryptable(_)) if base < current => base = current,
            Err(error) => return Err(error),
        }
    }
}

/// Reads the state at a revision of etcd, which is that of the last transaction before it.
async fn shown_at(mirror: &Mirror, base: i64) -> Result<State, CallError> {
    let Newest { marked, shown, .. } = newest_at(mirror, base, Instant::now() + PAGE_TIME).await?;
    let at = if marked > 0 { shown } else { mirror.offset.revision(base, Slot::LAST) };
    state_at(mirror, base, at).await
}

/// Continues where etcd's history begins. Watches end with "too old", unless the store has not changed since.
pub(super) async fn catch_up(mirror: &Mirror) -> Result<(), CallError> {
    let reached = mirror.reached();
    let Newest { marked, shown, current } = newest(mirror, Instant::now() + PAGE_TIME).await?;
    // Otherwise only other programs wrote to etcd.
    if marked > reached {
        let state = state_at(mirror, current, shown).await?;
        tracing::warn!("the revisions of etcd after {reached} cannot be read any more; watches start over");
        mirror.state.resume_at(state);
        mirror.forget_all();
    }
    mirror.set_reached(current);
    Ok(())
}

/// Reads all entries and ledger records at a revision of etcd, which is shown as one of the store.
async fn state_at(mirror: &Mirror, at: i64, shown: Revision) -> Result<State, CallError> {
    let session = mirror.encryption.session();
    let mut state = State { history: History::starting_after(shown), ..State::default() };
    pages(mirror, mirror.keys.entries(), at, |kv| {
        if let Meaning::Entry(key) = mirror.keys.meaning(&kv.key) {
            state.index.insert(mirror.entry(&session, Bytes::copy_from_slice(key), kv)?);
        }
        Ok(())
    })
    .await?;
    let mut records = Vec::new();
    pages(mirror, mirror.keys.records(), at, |kv| {
        if let Meaning::Record(key) = mirror.keys.meaning(&kv.key) {
            let (slot, written_at, bytes) = mirror.record(&session, key, kv)?;
            let revision = mirror.offset.revision(kv.create_revision, slot);
            records.push((Bytes::copy_from_slice(key), Record { revision, written_at, bytes }));
        }
        Ok(())
    })
    .await?;
    records.sort_by_key(|(_, record)| record.revision);
    state.ledger = Ledger::new(mirror.ledger_limits.clone());
    records.into_iter().for_each(|(key, record)| state.ledger.push(key, record));
    Ok(state)
}

/// Reads all keys of a range at a revision of etcd, in pages; zero is the current revision.
pub(super) async fn pages(
    mirror: &Mirror,
    (mut key, range_end): (Bytes, Bytes),
    at: i64,
    mut each: impl FnMut(&KeyValue) -> Result<(), CallError>,
) -> Result<(), CallError> {
    let mut limit = FIRST_PAGE;
    loop {
        let request = RangeRequest {
            key,
            range_end: range_end.clone(),
            limit,
            revision: at,
            ..RangeRequest::default()
        };
        let answer: RangeResponse =
            mirror.cluster.persist(RANGE, &request, Instant::now() + PAGE_TIME).await?;
        answer.kvs.iter().try_for_each(&mut each)?;
        limit = next_limit(&answer.kvs);
        match answer.kvs.last().filter(|_| answer.more) {
            Some(last) => key = after(&last.key),
            None => return Ok(()),
        }
    }
}

/// Returns how many entries like these make a page.
fn next_limit(kvs: &[KeyValue]) -> i64 {
    let bytes: usize = kvs.iter().map(|kv| kv.key.len() + kv.value.len()).sum();
    let fitting = PAGE_BYTES.saturating_mul(kvs.len()) / bytes.max(1);
    i64::try_from(fitting.clamp(1, LARGEST_PAGE)).unwrap_or(FIRST_PAGE)
}

async fn is_frozen_at(mirror: &Mirror, at: i64) -> Result<bool, CallError> {
    let request = RangeRequest { key: mirror.keys.freeze(), revision: at, ..RangeRequest::default() };
    let answer: RangeResponse = mirror.cluster.persist(RANGE, &request, Instant::now() + PAGE_TIME).await?;
    Ok(!answer.kvs.is_empty())
}

/// Returns the first key after one.
fn after(key: &[u8]) -> Bytes {
    let mut next = key.to_vec();
    next.push(0);
    next.into()
}

/// Asks for etcd's oldest revision, which it reports only to a watch that starts before it.
async fn oldest(mirror: &Mirror, late: i64) -> Result<i64, CallError> {
    let (key, range_end) = mirror.keys.all();
    let create = WatchCreate { key, range_end, start_revision: late };
    let (_, mut answers) = mirror.cluster.stream(WATCH, &WatchRequest { create: Some(create) }).await?;
    let deadline = Instant::now() + PAGE_TIME;
    while let Ok(answer) = timeout_at(deadline, answers.next::<WatchResponse>()).await {
        let Some(answer) = answer? else { break };
        if answer.compact_revision > 0 {
            return Ok(answer.compact_revision);
        }
        if answer.canceled || !answer.events.is_empty() {
            break;
        }
    }
    Ok(late)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_have_the_same_size_for_any_entries() {
        let page = |count: usize, size: usize| {
            let kv = KeyValue { key: "k".into(), value: vec![0; size - 1].into(), ..KeyValue::default() };
            next_limit(&vec![kv; count])
        };
        assert_eq!(page(500, 1 << 10), 8 << 10);
        assert_eq!(page(3, 1 << 20), 8);
        assert_eq!(page(1, 9 << 20), 1, "there is always a next page");
        assert_eq!(page(500, 1), 20_000);
        assert_eq!(next_limit(&[]), 1);
    }
}
