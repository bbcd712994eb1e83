//! The copy of the store that a server reads from: one list at the start, then one watch of everything under the
//! prefix, in the order of etcd's revisions. Every batch leaves the mark of its server in the same revision, so
//! the mirror also tells writers what became of their transactions, even if etcd's answer was lost.

use super::batch::{Batch, Job};
use super::call_error::CallError;
use super::cluster::Cluster;
use super::keys::{Keys, Meaning};
use super::mark::Mark;
use super::revisions::{Offset, Slot, unseal};
use super::wire::{self, DELETED, Event};
use crate::history::now;
use crate::shared_state::{Arrival, SharedState};
use crate::{Entry, Error, HistoryLimits};
use bytes::Bytes;
use parking_lot::Mutex;
use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use tokio::sync::{Notify, oneshot, watch};
use tokio::time::{Instant, timeout_at};

/// How long the watch may be behind what etcd has answered before it is opened anew.
pub(super) const STALLED: Duration = Duration::from_millis(600);

#[derive(Debug)]
pub(super) struct Mirror {
    pub(super) cluster: Arc<Cluster>,
    pub(super) keys: Keys,
    pub(super) state: Arc<SharedState>,
    pub(super) offset: Offset,
    limits: HistoryLimits,
    server: String,
    reached: watch::Sender<i64>,
    waiting: Mutex<HashMap<u64, Announced>>,
    pub(super) reopen: Notify,
    frozen: AtomicBool,
}

/// A batch that the mirror was told to look out for, and where to say that it came.
#[derive(Debug)]
struct Announced {
    batch: Batch,
    arrived: oneshot::Sender<Vec<Job>>,
}

/// One revision of etcd on its way to the state.
struct Incoming {
    etcd: i64,
    mark: Option<Mark>,
    /// Whether the mark is of this server.
    own: bool,
    /// The entries that were put, or the keys that were deleted.
    after: Vec<(Bytes, Option<Entry>)>,
}

impl Incoming {
    /// Parts the revision into its transactions, the last of which may have changed nothing.
    fn into_arrivals(self, offset: Offset, now: u64) -> (Vec<Slot>, Vec<Arrival>) {
        let mark = self.mark.unwrap_or_default();
        let written_at = if mark.written_at == 0 { now } else { mark.written_at };
        let slot = |(key, entry): &(Bytes, Option<Entry>)| match entry {
            Some(entry) => offset.slot(entry.modified),
            None => mark.deletion_slot(key),
        };
        let mut after: Vec<_> = self.after.into_iter().map(|one| (slot(&one), one)).collect();
        after.sort_by_key(|(slot, _)| *slot);
        let mut slots: Vec<Slot> = Vec::new();
        let mut arrivals: Vec<Arrival> = Vec::new();
        for (slot, one) in after {
            if slots.last() != Some(&slot) {
                slots.push(slot);
                arrivals.push(Arrival {
                    revision: offset.revision(self.etcd, slot),
                    written_at,
                    after: Vec::new(),
                });
            }
            if let Some(arrival) = arrivals.last_mut() {
                arrival.after.push(one);
            }
        }
        if slots.last().is_none_or(|slot| *slot < mark.last) {
            let revision = offset.revision(self.etcd, mark.last);
            arrivals.push(Arrival { revision, written_at, after: Vec::new() });
        }
        (slots, arrivals)
    }
}

impl Mirror {
    pub(super) fn new(
        cluster: Arc<Cluster>,
        keys: Keys,
        offset: Offset,
        limits: HistoryLimits,
        server: String,
    ) -> Mirror {
        Mirror {
            cluster,
            keys,
            state: Arc::default(),
            offset,
            limits,
            server,
            reached: watch::Sender::new(0),
            waiting: Mutex::default(),
            reopen: Notify::new(),
            frozen: AtomicBool::new(false),
        }
    }

    /// Returns etcd's revision up to which everything is here.
    pub(super) fn reached(&self) -> i64 {
        *self.reached.borrow()
    }

    /// Tells whether writing is not allowed at the moment.
    pub(super) fn is_frozen(&self) -> bool {
        self.frozen.load(Ordering::Relaxed)
    }

    pub(super) fn note_frozen(&self, frozen: bool) {
        self.frozen.store(frozen, Ordering::Relaxed);
    }

    /// Notes that everything up to a revision of etcd is here.
    pub(super) fn set_reached(&self, etcd: i64) {
        self.reached.send_replace(etcd);
    }

    /// Announces a batch. The mirror answers its jobs when it has happened, and gives back those that are to go again.
    pub(super) fn expect(&self, number: u64, batch: Batch) -> oneshot::Receiver<Vec<Job>> {
        let (arrived, receiver) = oneshot::channel();
        self.waiting.lock().insert(number, Announced { batch, arrived });
        receiver
    }

    /// Takes back a batch, unless it has arrived.
    pub(super) fn withdraw(&self, number: u64) -> Option<Batch> {
        self.waiting.lock().remove(&number).map(|announced| announced.batch)
    }

    /// Gives up on what was announced: what happened to it can no longer be told.
    pub(super) fn forget_all(&self) {
        for (_, announced) in self.waiting.lock().drain() {
            for job in announced.batch.into_jobs() {
                let reason = "etcd: it has compacted what this server had not seen".into();
                let _ = job.answer.send(Err(Error::Unknown { reason }));
            }
        }
    }

    /// Opens the watch anew, with the member that answers now.
    pub(super) fn reopen(&self) {
        self.reopen.notify_one();
    }

    /// Waits until everything up to a revision of etcd, which etcd has answered with, is here.
    pub(super) async fn wait(&self, etcd: i64, deadline: Instant) -> Result<(), CallError> {
        if self.reached() >= etcd {
            return Ok(());
        }
        let mut reached = self.reached.subscribe();
        let mut patience = Instant::now() + STALLED;
        loop {
            let waited = timeout_at(patience.min(deadline), reached.wait_for(|reached| *reached >= etcd));
            match waited.await {
                Ok(Ok(_)) => return Ok(()),
                Ok(Err(_)) => return Err(CallError::Unreachable("the store is closed".to_owned())),
                Err(_) if Instant::now() >= deadline => {
                    let behind = format!("the watch is at revision {} of {etcd}", self.reached());
                    return Err(CallError::Unreachable(behind));
                }
                Err(_) => {
                    self.reopen();
                    patience = Instant::now() + 2 * STALLED;
                }
            }
        }
    }

    /// Takes over the events of one message, which has whole revisions in their order.
    pub(super) fn take(&self, events: Vec<Event>) {
        let (reached, now) = (self.reached(), now());
        let mut newest = reached;
        let mut incoming: Vec<Incoming> = Vec::new();
        for event in events {
            let Some(kv) = event.kv else { continue };
            // What a watch repeats after it was opened again.
            if kv.mod_revision <= reached {
                continue;
            }
            newest = newest.max(kv.mod_revision);
            match self.keys.meaning(&kv.key) {
                Meaning::Entry(key) => {
                    let key = Bytes::copy_from_slice(key);
                    let entry = (event.kind != DELETED).then(|| self.entry(key.clone(), &kv));
                    at_revision(&mut incoming, kv.mod_revision).after.push((key, entry));
                }
                Meaning::Mark(server) => {
                    let Some(mark) = Mark::decode(&kv.value) else { continue };
                    let revision = at_revision(&mut incoming, kv.mod_revision);
                    revision.mark = Some(mark);
                    revision.own = server == self.server.as_bytes();
                }
                // Revisions at which no transaction happened are not shown: no other server would wait for them.
                Meaning::Freeze => self.note_frozen(event.kind != DELETED),
                Meaning::Other => {}
            }
        }
        let mut arrivals = Vec::new();
        for revision in incoming {
            let number = revision.mark.as_ref().filter(|_| revision.own).map(|mark| mark.number);
            match number.and_then(|number| self.waiting.lock().remove(&number)) {
                Some(announced) => {
                    self.state.take_over(std::mem::take(&mut arrivals), &self.limits, now);
                    self.arrive(announced, revision, now);
                }
                None => arrivals.extend(revision.into_arrivals(self.offset, now).1),
            }
        }
        if !arrivals.is_empty() {
            self.state.take_over(arrivals, &self.limits, now);
        }
        // Who sees that a revision was reached may conclude that a batch has not happened by then.
        if newest > reached {
            self.set_reached(newest);
        }
    }

    /// Takes over a batch of this server and answers those who wait for it.
    fn arrive(&self, announced: Announced, revision: Incoming, now: u64) {
        let etcd = revision.etcd;
        let (slots, arrivals) = revision.into_arrivals(self.offset, now);
        let outcomes = self.state.read(|state| announced.batch.decide(&state.index));
        self.state.take_over(arrivals, &self.limits, now);
        let again = announced.batch.answer(outcomes, &slots, |slot| self.offset.revision(etcd, slot));
        let _ = announced.arrived.send(again);
    }

    /// Makes an entry of what etcd gave. What is kept for long is exact, not a part of a large message.
    pub(super) fn entry(&self, key: Bytes, kv: &wire::KeyValue) -> Entry {
        let (value, slots) = unseal(&kv.value);
        Entry {
            key,
            value: Bytes::copy_from_slice(value),
            created: self.offset.revision(kv.create_revision, slots.created),
            modified: self.offset.revision(kv.mod_revision, slots.modified),
        }
    }
}

/// Returns what is known of a revision, which is the last of those that came or a new one.
fn at_revision(incoming: &mut Vec<Incoming>, etcd: i64) -> &mut Incoming {
    let place = match incoming.last() {
        Some(last) if last.etcd == etcd => incoming.len() - 1,
        _ => {
            incoming.push(Incoming { etcd, mark: None, own: false, after: Vec::new() });
            incoming.len() - 1
        }
    };
    &mut incoming[place]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_revision_is_parted_into_its_transactions() {
        let offset = Offset(0);
        let entry = |key: &'static str, slot| {
            let modified = offset.revision(9, Slot::at(slot));
            let entry = Entry { key: key.into(), value: Bytes::new(), created: modified, modified };
            (Bytes::from(key), Some(entry))
        };
        let deletions = vec![(Slot::at(1), "gone".into())];
        let mark = Mark { number: 1, written_at: 5, last: Slot::at(4), deletions };
        let after = vec![entry("c", 3), entry("a", 0), ("gone".into(), None), entry("b", 1)];
        let incoming = Incoming { etcd: 9, mark: Some(mark), own: false, after };
        let (slots, arrivals) = incoming.into_arrivals(offset, 7);
        assert_eq!(slots, [0, 1, 3].map(Slot::at));
        let told: Vec<_> = arrivals
            .iter()
            .map(|arrival| (arrival.revision.get() - 9 * 128, arrival.written_at, arrival.after.len()))
            .collect();
        assert_eq!(told, [(0, 5, 1), (1, 5, 2), (3, 5, 1), (4, 5, 0)]);
        let nothing = Incoming { etcd: 9, mark: None, own: false, after: vec![entry("a", 0)] };
        assert_eq!(nothing.into_arrivals(offset, 7).1[0].written_at, 7, "what has no mark happened just now");
    }
}
