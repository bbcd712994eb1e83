//! The copy of the store that a server reads from: one list at the start, then one watch of everything under the
//! prefix, in the order of etcd's revisions. Every transaction leaves the mark of its server in the same revision, so
//! the mirror also tells a writer that its transaction happened, even if etcd's answer was lost.

use super::cluster::Cluster;
use super::fault::Fault;
use super::keys::{Keys, Meaning};
use super::wire::{self, DELETED, Event, WATCH, WatchCreate, WatchRequest, WatchResponse};
use crate::entry::Commit;
use crate::history::now;
use crate::ledger::{Arrival, Ledger};
use crate::{Entry, HistoryLimits, Revision};
use bytes::Bytes;
use parking_lot::Mutex;
use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use tokio::sync::{Notify, oneshot, watch};
use tokio::time::{Instant, sleep, timeout_at};

/// How long the watch may be behind what etcd has answered before it is opened anew.
pub(super) const STALLED: Duration = Duration::from_millis(600);
/// How long to wait before a watch that ended is opened again.
const PAUSE: Duration = Duration::from_millis(50);

/// What a server's mark says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Mark {
    /// The number that the server gave to its transaction.
    pub(super) number: u64,
    /// When it was written, in milliseconds since 1970.
    pub(super) written_at: u64,
}

impl Mark {
    pub(super) fn encode(self) -> Bytes {
        let mut bytes = Vec::with_capacity(16);
        bytes.extend_from_slice(&self.number.to_le_bytes());
        bytes.extend_from_slice(&self.written_at.to_le_bytes());
        bytes.into()
    }

    pub(super) fn decode(bytes: &[u8]) -> Option<Mark> {
        let (number, rest) = bytes.split_first_chunk::<8>()?;
        let written_at = rest.first_chunk::<8>()?;
        Some(Mark { number: u64::from_le_bytes(*number), written_at: u64::from_le_bytes(*written_at) })
    }
}

/// A transaction of this server that has happened.
#[derive(Debug)]
pub(super) struct Landed {
    pub(super) revision: Revision,
    /// What it changed, if anything.
    pub(super) commit: Option<Arc<Commit>>,
}

#[derive(Debug)]
pub(super) struct Mirror {
    pub(super) cluster: Arc<Cluster>,
    pub(super) keys: Keys,
    pub(super) ledger: Arc<Ledger>,
    pub(super) offset: Offset,
    limits: HistoryLimits,
    server: String,
    reached: watch::Sender<i64>,
    waiting: Mutex<HashMap<u64, oneshot::Sender<Landed>>>,
    reopen: Notify,
    frozen: AtomicBool,
}

/// How far the store's revisions are above etcd's. An import raises it, so that revisions never go back.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Offset(pub(super) u64);

impl Offset {
    pub(super) fn revision(self, etcd: i64) -> Revision {
        Revision::from_number(u64::try_from(etcd).unwrap_or(0).saturating_add(self.0))
    }

    /// Returns etcd's number of a revision; none for one that is before all of etcd's.
    pub(super) fn etcd(self, revision: Revision) -> Option<i64> {
        i64::try_from(revision.get().checked_sub(self.0)?).ok().filter(|number| *number > 0)
    }
}

/// How following the watch came to an end.
enum End {
    /// etcd no longer has what comes next.
    Compacted,
    Broken(Fault),
}

/// One revision of etcd on its way to the ledger.
struct Incoming {
    arrival: Arrival,
    etcd: i64,
    own: Option<u64>,
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
            ledger: Arc::default(),
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

    /// Announces a transaction; the mirror tells when it happened.
    pub(super) fn expect(&self, number: u64) -> oneshot::Receiver<Landed> {
        let (sender, receiver) = oneshot::channel();
        self.waiting.lock().insert(number, sender);
        receiver
    }

    /// No longer waits for a transaction.
    pub(super) fn forget(&self, number: u64) {
        self.waiting.lock().remove(&number);
    }

    /// Gives up on all announced transactions: what happened to them can no longer be told.
    pub(super) fn forget_all(&self) {
        self.waiting.lock().clear();
    }

    /// Opens the watch anew, with the member that answers now.
    pub(super) fn reopen(&self) {
        self.reopen.notify_one();
    }

    /// Waits until everything up to a revision of etcd, which etcd has answered with, is here.
    pub(super) async fn wait(&self, etcd: i64, deadline: Instant) -> Result<(), Fault> {
        if self.reached() >= etcd {
            return Ok(());
        }
        let mut reached = self.reached.subscribe();
        let mut patience = Instant::now() + STALLED;
        loop {
            let waited = timeout_at(patience.min(deadline), reached.wait_for(|reached| *reached >= etcd));
            match waited.await {
                Ok(Ok(_)) => return Ok(()),
                Ok(Err(_)) => return Err(Fault::Unreachable("the store is closed".to_owned())),
                Err(_) if Instant::now() >= deadline => {
                    let behind = format!("the watch is at revision {} of {etcd}", self.reached());
                    return Err(Fault::Unreachable(behind));
                }
                Err(_) => {
                    self.reopen();
                    patience = Instant::now() + 2 * STALLED;
                }
            }
        }
    }

    /// Follows etcd for as long as the task lives.
    pub(super) async fn run(self: Arc<Self>) {
        loop {
            match self.follow().await {
                End::Compacted => {
                    if let Err(fault) = super::load::catch_up(&self).await {
                        tracing::warn!(%fault, "cannot read the store anew");
                        sleep(PAUSE).await;
                    }
                }
                End::Broken(fault) => {
                    tracing::debug!(%fault, "the watch of etcd is opened again");
                    sleep(PAUSE).await;
                }
            }
        }
    }

    async fn follow(&self) -> End {
        let (key, range_end) = self.keys.all();
        let create = WatchCreate { key, range_end, start_revision: self.reached() + 1 };
        let opened = self.cluster.stream(WATCH, &WatchRequest { create: Some(create) }).await;
        let (member, mut answers) = match opened {
            Ok(opened) => opened,
            Err(fault) => return End::Broken(fault),
        };
        loop {
            let answer = tokio::select! {
                answer = answers.next::<WatchResponse>() => answer,
                () = self.reopen.notified() => {
                    return End::Broken(Fault::Unreachable("the watch stood still".to_owned()));
                }
            };
            let answer = match answer {
                Ok(Some(answer)) => answer,
                Ok(None) => return End::Broken(Fault::Unreachable("the watch ended".to_owned())),
                Err(fault) => {
                    self.cluster.turn_from(member);
                    return End::Broken(fault);
                }
            };
            if answer.compact_revision > 0 {
                return End::Compacted;
            }
            if answer.canceled {
                self.cluster.turn_from(member);
                return End::Broken(Fault::Unreachable(answer.cancel_reason));
            }
            self.take(answer.events);
        }
    }

    /// Takes over the events of one message, which has whole transactions in the order of their revisions.
    fn take(&self, events: Vec<Event>) {
        let reached = self.reached();
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
                    self.transaction(&mut incoming, kv.mod_revision).arrival.after.push((key, entry));
                }
                Meaning::Mark(server) => {
                    let Some(mark) = Mark::decode(&kv.value) else { continue };
                    let own = (server == self.server.as_bytes()).then_some(mark.number);
                    let transaction = self.transaction(&mut incoming, kv.mod_revision);
                    transaction.arrival.written_at = mark.written_at;
                    transaction.own = own;
                }
                // Revisions at which no transaction happened are not shown: no other server would wait for them.
                Meaning::Freeze => self.note_frozen(event.kind != DELETED),
                Meaning::Other => {}
            }
        }
        let now = now();
        let own: Vec<_> = incoming.iter().map(|one| (one.own, one.arrival.revision)).collect();
        let arrivals = incoming.into_iter().map(|mut one| {
            if one.arrival.written_at == 0 {
                one.arrival.written_at = now;
            }
            one.arrival
        });
        let commits = self.ledger.take_over(arrivals.collect(), &self.limits, now);
        // Who sees that a revision was reached may conclude that a transaction has not happened by then.
        let mut waiting = self.waiting.lock();
        for ((own, revision), commit) in own.into_iter().zip(commits) {
            if let Some(sender) = own.and_then(|number| waiting.remove(&number)) {
                let _ = sender.send(Landed { revision, commit });
            }
        }
        drop(waiting);
        if newest > reached {
            self.set_reached(newest);
        }
    }

    /// Returns the transaction of a revision, which is the last of those that came or a new one.
    fn transaction<'a>(&self, incoming: &'a mut Vec<Incoming>, etcd: i64) -> &'a mut Incoming {
        let known = incoming.last().is_some_and(|last| last.etcd == etcd);
        let place = if known { incoming.len() - 1 } else { incoming.len() };
        if !known {
            let revision = self.offset.revision(etcd);
            let arrival = Arrival { revision, written_at: 0, after: Vec::new() };
            incoming.push(Incoming { arrival, etcd, own: None });
        }
        &mut incoming[place]
    }

    /// Makes an entry of what etcd gave. What is kept for long is exact, not a part of a large message.
    pub(super) fn entry(&self, key: Bytes, kv: &wire::KeyValue) -> Entry {
        Entry {
            key,
            value: Bytes::copy_from_slice(&kv.value),
            created: self.offset.revision(kv.create_revision),
            modified: self.offset.revision(kv.mod_revision),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marks_and_offsets_come_back() {
        let mark = Mark { number: 7, written_at: u64::MAX };
        assert_eq!(Mark::decode(&mark.encode()), Some(mark));
        assert_eq!(Mark::decode(b"short"), None);
        let offset = Offset(1000);
        assert_eq!(offset.etcd(offset.revision(5)), Some(5));
        assert_eq!(offset.etcd(Revision::from_number(1000)), None);
        assert_eq!(offset.etcd(Revision::ZERO), None);
    }
}
