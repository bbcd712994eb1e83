//! Reading everything: at the start, as far back as history is kept, and again if etcd forgot what this server had not
//! seen yet.

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
use crate::state::State;
use bytes::Bytes;
use std::time::Duration;
use tokio::time::{Instant, timeout_at};

/// How many entries are asked for at first, and how many bytes after that, as far as the page before tells: etcd looks at
/// all keys for every page, and so should not be asked too often.
const FIRST_PAGE: i64 = 500;
const PAGE_BYTES: usize = 8 << 20;
/// The most entries that are asked for.
const LARGEST_PAGE: usize = 20_000;
/// How long a page may take.
const PAGE_TIME: Duration = Duration::from_secs(10);

/// How far the store and etcd are.
pub(super) struct Newest {
    /// etcd's revision of the store's last transaction.
    pub(super) marked: i64,
    /// The store's revision, which every server shows that has come to it.
    shown: Revision,
    /// The revision that etcd is at.
    pub(super) current: i64,
}

/// Asks etcd how far the store is: every transaction leaves a mark, and reading the marks is linearizable.
pub(super) async fn newest(mirror: &Mirror, deadline: Instant) -> Result<Newest, CallError> {
    newest_at(mirror, 0, deadline).await
}

/// Asks how far the store was at a revision of etcd; zero is the current one.
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

/// Fills an empty mirror with the state of so many revisions ago, from which the watch goes on.
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
            // Forgotten, perhaps while it was being read: begin where etcd's own history begins.
            Err(CallError::Refused(Refusal::Compacted, _)) => {
                base = oldest(mirror, base).await?.max(base + 1)
            }
            Err(error) => return Err(error),
        }
    }
}

/// Reads the state at a revision of etcd. It is that of the last transaction before, and is shown as that.
async fn shown_at(mirror: &Mirror, base: i64) -> Result<State, CallError> {
    let Newest { marked, shown, .. } = newest_at(mirror, base, Instant::now() + PAGE_TIME).await?;
    let at = if marked > 0 { shown } else { mirror.offset.revision(base, Slot::LAST) };
    state_at(mirror, base, at).await
}

/// Goes on where etcd's history begins. Watches end with "too old", unless the store has not changed since.
pub(super) async fn catch_up(mirror: &Mirror) -> Result<(), CallError> {
    let reached = mirror.reached();
    let Newest { marked, shown, current } = newest(mirror, Instant::now() + PAGE_TIME).await?;
    // Otherwise only others wrote.
    if marked > reached {
        let state = state_at(mirror, current, shown).await?;
        tracing::warn!(
            "etcd has compacted revision {reached}, which this server had not passed; watches start over"
        );
        mirror.state.resume_at(state);
        mirror.forget_all();
    }
    mirror.set_reached(current);
    Ok(())
}

/// Reads all entries at a revision of etcd, which is shown as one of the store.
async fn state_at(mirror: &Mirror, at: i64, shown: Revision) -> Result<State, CallError> {
    let mut state = State { history: History::starting_after(shown), ..State::default() };
    let (mut key, range_end) = mirror.keys.entries();
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
        for kv in &answer.kvs {
            if let Meaning::Entry(name) = mirror.keys.meaning(&kv.key) {
                state.index.insert(mirror.entry(Bytes::copy_from_slice(name), kv));
            }
        }
        limit = next_limit(&answer.kvs);
        match answer.kvs.last().filter(|_| answer.more) {
            Some(last) => key = after(&last.key),
            None => return Ok(state),
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

/// Asks for etcd's oldest revision, which only a watch that comes too late is told.
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
    fn pages_have_the_same_bytes_whatever_the_entries() {
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
