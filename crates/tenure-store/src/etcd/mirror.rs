//! The copy of the store that a server reads from: loaded once, then updated by one watch of everything under the prefix, in
//! the order of etcd's revisions. Every batch writes the mark of its server in the same revision, so that the mirror also
//! determines the outcome of its own server's transactions, even if etcd's answer was lost.

use super::batch::{Batch, Job};
use super::call_error::CallError;
use super::cluster::Cluster;
use super::keys::{Keys, Meaning};
use super::mark::Mark;
use super::options::EtcdOptions;
use super::revisions::{Offset, Slot, split_slots};
use super::wire::{self, DELETED, Event};
use crate::encryption::Session;
use crate::shared_state::{Arrival, SharedState};
use crate::{Clock, Encryption, Entry, Error, HistoryLimits, LedgerLimits};
use bytes::Bytes;
use parking_lot::Mutex;
use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use tokio::sync::{Notify, oneshot, watch};
use tokio::time::{Instant, timeout_at};

/// How long the watch may be behind etcd's answers before it is reopened.
pub(super) const STALLED: Duration = Duration::from_millis(600);

#[derive(Debug)]
pub(super) struct Mirror {
    pub(super) cluster: Arc<Cluster>,
    pub(super) keys: Keys,
    pub(super) state: Arc<SharedState>,
    pub(super) offset: Offset,
    pub(super) encryption: Encryption,
    pub(super) clock: Clock,
    pub(super) ledger_limits: LedgerLimits,
    limits: HistoryLimits,
    server: String,
    reached: watch::Sender<i64>,
    waiting: Mutex<HashMap<u64, Announced>>,
    pub(super) reopen: Notify,
    frozen: AtomicBool,
    /// Why the mirror cannot follow etcd until the configuration changes.
    undecryptable: Mutex<Option<String>>,
}

/// A batch of this server that is under way, and the channel that tells its arrival.
#[derive(Debug)]
struct Announced {
    batch: Batch,
    arrived: oneshot::Sender<Vec<Job>>,
}

/// One revision of etcd that is being applied.
struct Incoming {
    etcd: i64,
    mark: Option<Mark>,
    /// Whether the mark is this server's.
    own: bool,
    /// The entries that were put, and the keys that were deleted.
    after: Vec<(Bytes, Option<Entry>)>,
    /// The ledger records with the slots of their transactions.
    records: Vec<(Slot, Bytes, Bytes)>,
}

impl Incoming {
    /// Splits the revision into its transactions, the last of which may have changed nothing.
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
                    records: Vec::new(),
                });
            }
            if let Some(arrival) = arrivals.last_mut() {
                arrival.after.push(one);
            }
        }
        if slots.last().is_none_or(|slot| *slot < mark.last) {
            let revision = offset.revision(self.etcd, mark.last);
            arrivals.push(Arrival { revision, written_at, after: Vec::new(), records: Vec::new() });
        }
        for (slot, key, record) in self.records {
            let revision = offset.revision(self.etcd, slot);
            if let Some(arrival) = arrivals.iter_mut().find(|arrival| arrival.revision == revision) {
                arrival.records.push((key, record));
            }
        }
        (slots, arrivals)
    }
}

impl Mirror {
    pub(super) fn new(
        cluster: Arc<Cluster>,
        keys: Keys,
        offset: Offset,
        options: &EtcdOptions,
        server: String,
    ) -> Mirror {
        Mirror {
            cluster,
            keys,
            state: Arc::default(),
            offset,
            encryption: options.encryption.clone(),
            clock: options.clock.clone(),
            ledger_limits: options.ledger.clone(),
            limits: options.limits.clone(),
            server,
            reached: watch::Sender::new(0),
            waiting: Mutex::default(),
            reopen: Notify::new(),
            frozen: AtomicBool::new(false),
            undecryptable: Mutex::default(),
        }
    }

    /// Returns etcd's revision up to which the mirror is complete.
    pub(super) fn reached(&self) -> i64 {
        *self.reached.borrow()
    }

    /// Tells whether the store is frozen.
    pub(super) fn is_frozen(&self) -> bool {
        self.frozen.load(Ordering::Relaxed)
    }

    pub(super) fn note_frozen(&self, frozen: bool) {
        self.frozen.store(frozen, Ordering::Relaxed);
    }

    /// Notes a value that cannot be decrypted, or that there is none any more.
    pub(super) fn note_undecryptable(&self, reason: Option<String>) {
        *self.undecryptable.lock() = reason;
    }

    /// Notes that the mirror is complete up to a revision of etcd.
    pub(super) fn set_reached(&self, etcd: i64) {
        self.reached.send_replace(etcd);
    }

    /// Announces a batch. The mirror answers its jobs when it arrives, and returns those to retry.
    pub(super) fn expect(&self, number: u64, batch: Batch) -> oneshot::Receiver<Vec<Job>> {
        let (arrived, receiver) = oneshot::channel();
        self.waiting.lock().insert(number, Announced { batch, arrived });
        receiver
    }

    /// Withdraws a batch, unless it has arrived.
    pub(super) fn withdraw(&self, number: u64) -> Option<Batch> {
        self.waiting.lock().remove(&number).map(|announced| announced.batch)
    }

    /// Gives up on announced batches, whose outcome can no longer be determined.
    pub(super) fn forget_all(&self) {
        for (_, announced) in self.waiting.lock().drain() {
            for job in announced.batch.into_jobs() {
                let reason = "etcd has compacted revisions that this server had not seen".into();
                let _ = job.answer.send(Err(Error::Unknown { reason }));
            }
        }
    }

    /// Reopens the watch, with the member that answers now.
    pub(super) fn reopen(&self) {
        self.reopen.notify_one();
    }

    /// Waits until the mirror is complete up to a revision with which etcd has answered.
    pub(super) async fn wait(&self, etcd: i64, deadline: Instant) -> Result<(), CallError> {
        if self.reached() >= etcd {
            return Ok(());
        }
        let mut reached = self.reached.subscribe();
        let mut timeout = Instant::now() + STALLED;
        loop {
            let waited = timeout_at(timeout.min(deadline), reached.wait_for(|reached| *reached >= etcd));
            match waited.await {
                Ok(Ok(_)) => return Ok(()),
                Ok(Err(_)) => return Err(CallError::Unreachable("the store is closed".to_owned())),
                Err(_) if Instant::now() >= deadline => {
                    let behind = format!("the watch is at revision {} of {etcd}", self.reached());
                    return Err(CallError::Unreachable(behind));
                }
                Err(_) => {
                    if let Some(reason) = self.undecryptable.lock().clone() {
                        return Err(CallError::Undecryptable(reason));
                    }
                    self.reopen();
                    timeout = Instant::now() + 2 * STALLED;
                }
            }
        }
    }

    /// Applies the events of one message, which has whole revisions in their order. If a value cannot be decrypted, nothing is
    /// applied.
    pub(super) fn take(&self, events: Vec<Event>) -> Result<(), CallError> {
        let (reached, now, session) = (self.reached(), self.clock.millis(), self.encryption.session());
        let mut frozen = None;
        let mut newest = reached;
        let mut incoming: Vec<Incoming> = Vec::new();
        for event in events {
            let Some(kv) = event.kv else { continue };
            // A reopened watch may repeat events.
            if kv.mod_revision <= reached {
                continue;
            }
            newest = newest.max(kv.mod_revision);
            match self.keys.meaning(&kv.key) {
                Meaning::Entry(key) => {
                    let key = Bytes::copy_from_slice(key);
                    let put = event.kind != DELETED;
                    let entry = put.then(|| self.entry(&session, key.clone(), &kv)).transpose()?;
                    at_revision(&mut incoming, kv.mod_revision).after.push((key, entry));
                }
                Meaning::Mark(server) => {
                    let Some(mark) = Mark::decode(&kv.value) else { continue };
                    let revision = at_revision(&mut incoming, kv.mod_revision);
                    revision.mark = Some(mark);
                    revision.own = server == self.server.as_bytes();
                }
                // A record that was encrypted again is not new.
                Meaning::Record(key) if event.kind != DELETED && kv.create_revision == kv.mod_revision => {
                    let key = Bytes::copy_from_slice(key);
                    let (slot, _, record) = self.record(&session, &key, &kv)?;
                    at_revision(&mut incoming, kv.mod_revision).records.push((slot, key, record));
                }
                // Revisions without a transaction are not shown: no other server would wait for them.
                Meaning::Freeze => frozen = Some(event.kind != DELETED),
                Meaning::Record(_) | Meaning::Other => {}
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
        if let Some(frozen) = frozen {
            self.note_frozen(frozen);
        }
        // Last: once a revision is reached, a batch that has not arrived was not applied before it.
        if newest > reached {
            self.set_reached(newest);
        }
        Ok(())
    }

    /// Applies a batch of this server and answers its jobs.
    fn arrive(&self, announced: Announced, revision: Incoming, now: u64) {
        let etcd = revision.etcd;
        let (slots, arrivals) = revision.into_arrivals(self.offset, now);
        let outcomes = self.state.read(|state| announced.batch.decide(&state.index));
        self.state.take_over(arrivals, &self.limits, now);
        let again = announced.batch.answer(outcomes, &slots, |slot| self.offset.revision(etcd, slot));
        let _ = announced.arrived.send(again);
    }

    /// Decodes an entry. Its value is copied, since it would keep a whole message in memory otherwise.
    pub(super) fn entry(
        &self,
        session: &Session,
        key: Bytes,
        kv: &wire::KeyValue,
    ) -> Result<Entry, CallError> {
        let (value, protection, slots) = split_slots(&kv.value);
        let value = session.read(&key, value, protection).map_err(undecryptable)?;
        Ok(Entry {
            key,
            value: value.into(),
            created: self.offset.revision(kv.create_revision, slots.created),
            modified: self.offset.revision(kv.mod_revision, slots.modified),
        })
    }

    /// Decodes a ledger record: the slot of its transaction, the time and the bytes.
    pub(super) fn record(
        &self,
        session: &Session,
        key: &[u8],
        kv: &wire::KeyValue,
    ) -> Result<(Slot, u64, Bytes), CallError> {
        let (written_at, stored) = kv.value.split_first_chunk().unwrap_or((&[0; 8], &[]));
        let (record, protection, slots) = split_slots(stored);
        let record = session.read(key, record, protection).map_err(undecryptable)?;
        Ok((slots.modified, u64::from_le_bytes(*written_at), record))
    }
}

fn undecryptable(error: Error) -> CallError {
    CallError::Undecryptable(error.to_string())
}

/// Returns the revision if it is the last one, or adds it.
fn at_revision(incoming: &mut Vec<Incoming>, etcd: i64) -> &mut Incoming {
    let place = match incoming.last() {
        Some(last) if last.etcd == etcd => incoming.len() - 1,
        _ => {
            let (after, records) = (Vec::new(), Vec::new());
            incoming.push(Incoming { etcd, mark: None, own: false, after, records });
            incoming.len() - 1
        }
    };
    &mut incoming[place]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_revision_is_split_into_its_transactions() {
        let offset = Offset(0);
        let entry = |key: &'static str, slot| {
            let modified = offset.revision(9, Slot::at(slot));
            let entry = Entry { key: key.into(), value: Bytes::new().into(), created: modified, modified };
            (Bytes::from(key), Some(entry))
        };
        let deletions = vec![(Slot::at(1), "gone".into())];
        let mark = Mark { number: 1, written_at: 5, last: Slot::at(4), deletions };
        let after = vec![entry("c", 3), entry("a", 0), ("gone".into(), None), entry("b", 1)];
        let records = vec![(Slot::at(1), "b".into(), "record".into())];
        let incoming = Incoming { etcd: 9, mark: Some(mark), own: false, after, records };
        let (slots, arrivals) = incoming.into_arrivals(offset, 7);
        assert_eq!(slots, [0, 1, 3].map(Slot::at));
        let described: Vec<_> = arrivals
            .iter()
            .map(|arrival| (arrival.revision.get() - 9 * 128, arrival.written_at, arrival.after.len()))
            .collect();
        assert_eq!(described, [(0, 5, 1), (1, 5, 2), (3, 5, 1), (4, 5, 0)]);
        assert_eq!(arrivals[1].records, [(Bytes::from("b"), Bytes::from("record"))]);
        let after = vec![entry("a", 0)];
        let unmarked = Incoming { etcd: 9, mark: None, own: false, after, records: Vec::new() };
        assert_eq!(unmarked.into_arrivals(offset, 7).1[0].written_at, 7, "without a mark the time is now");
    }
}
