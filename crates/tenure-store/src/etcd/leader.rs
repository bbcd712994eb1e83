//! Leader election among the servers that share a store: the leader holds a key under a lease. It compacts etcd and removes
//! the keys of servers that are gone and ledger records beyond the limits. Safety does not depend on it: two servers that
//! both act as leader for a moment do no harm.

use super::call_error::{CallError, Refusal};
use super::keys::Meaning;
use super::load::{newest, pages};
use super::mark::Mark;
use super::mirror::Mirror;
use super::revisions::split_slots;
use super::wire::{
    Acknowledgement, COMPACT, CompactionRequest, Compare, LEASE_GRANT, LEASE_KEEP_ALIVE, LEASE_REVOKE,
    LeaseGrantRequest, LeaseRequest, LeaseResponse, PutRequest, RANGE, RangeRequest, RangeResponse, Request,
    RequestOp, TXN, TxnRequest, TxnResponse,
};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU64, Ordering};
use std::time::Duration;
use tokio::time::{Instant, MissedTickBehavior, interval};

/// The lease of the leader.
const LEASE: Duration = Duration::from_secs(12);
/// How often the leader renews its lease, and others try to acquire it.
const BEAT: Duration = Duration::from_secs(3);
/// After how long without a write the keys of a server are removed; a server that still runs creates them again.
const GONE: Duration = Duration::from_secs(6 * 3600);
/// The keys of how many servers are removed at once.
const REMOVALS: usize = 40;
/// How many compactions pass between two scans of the ledger records in etcd.
const TRIM_EVERY: u64 = 10;
/// How many ledger records are removed in one transaction.
const REMOVED_RECORDS: usize = 100;

#[derive(Debug)]
pub(super) struct LeaderElection {
    mirror: Arc<Mirror>,
    server: String,
    compaction: Option<Duration>,
    leads: AtomicBool,
    lease: AtomicI64,
    next_trim: AtomicU64,
}

impl LeaderElection {
    pub(super) fn new(mirror: Arc<Mirror>, server: String, compaction: Option<Duration>) -> LeaderElection {
        LeaderElection {
            mirror,
            server,
            compaction,
            leads: AtomicBool::new(false),
            lease: AtomicI64::new(0),
            next_trim: AtomicU64::new(1),
        }
    }

    pub(super) fn leads(&self) -> bool {
        self.leads.load(Ordering::Relaxed)
    }

    /// Competes for leadership for as long as the task lives.
    pub(super) async fn run(self: Arc<Self>) {
        let mut beat = interval(BEAT);
        beat.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let mut next = self.compaction.map(|every| Instant::now() + every);
        loop {
            beat.tick().await;
            let leads = self.beat().await.unwrap_or(false);
            self.leads.store(leads, Ordering::Relaxed);
            if let (Some(every), Some(due)) = (self.compaction, next)
                && Instant::now() >= due
            {
                next = Some(Instant::now() + every);
                if leads && let Err(error) = self.clean_up().await {
                    tracing::warn!(%error, "compaction of etcd failed");
                }
            }
        }
    }

    /// Renews the lease, or acquires leadership if it is vacant.
    async fn beat(&self) -> Result<bool, CallError> {
        let deadline = Instant::now() + BEAT;
        let mut id = self.lease.load(Ordering::Relaxed);
        if id != 0 {
            let alive: Result<LeaseResponse, CallError> =
                self.mirror.cluster.persist(LEASE_KEEP_ALIVE, &LeaseRequest { id }, deadline).await;
            if !alive.is_ok_and(|lease| lease.seconds > 0) {
                id = 0;
            }
        }
        if id == 0 {
            let seconds = i64::try_from(LEASE.as_secs()).unwrap_or(1);
            let granted =
                self.mirror.cluster.attempt(LEASE_GRANT, &LeaseGrantRequest { seconds }, deadline).await;
            let granted: LeaseResponse = granted.inspect_err(|_| self.lease.store(0, Ordering::Relaxed))?;
            id = granted.id;
        }
        self.lease.store(id, Ordering::Relaxed);
        let key = self.mirror.keys.leader();
        let put = PutRequest { key: key.clone(), value: self.server.clone().into(), lease: id };
        let request = TxnRequest {
            compare: vec![Compare::absent(key.clone())],
            success: vec![RequestOp { request: Some(Request::Put(put)) }],
            failure: vec![RequestOp::get(key)],
        };
        let answer: TxnResponse = self.mirror.cluster.persist(TXN, &request, deadline).await?;
        let holder = answer.responses.first().and_then(|response| response.range.as_ref()?.kvs.first());
        Ok(answer.succeeded || holder.is_some_and(|holder| holder.value == self.server))
    }

    /// Compacts etcd to where the kept history begins, and removes what is no longer needed.
    async fn clean_up(&self) -> Result<(), CallError> {
        self.remove_stale_servers().await?;
        self.trim_ledger().await?;
        let oldest = self.mirror.state.read(|state| state.history.compacted());
        let Some(revision) = self.mirror.offset.etcd(oldest) else { return Ok(()) };
        compact(&self.mirror, revision, Instant::now() + BEAT).await
    }

    /// Removes the ledger records from etcd that the limits no longer allow, and so are not in the mirror any more.
    async fn trim_ledger(&self) -> Result<(), CallError> {
        let due = self.next_trim.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| {
            Some(if left == 0 { TRIM_EVERY } else { left - 1 })
        });
        if due != Ok(0) {
            return Ok(());
        }
        let mirror = &self.mirror;
        let (range, mut removed) = (mirror.keys.records(), Vec::new());
        let (ledger, newest) = mirror.state.read(|state| (state.ledger.clone(), state.history.newest()));
        pages(mirror, range, 0, |kv| {
            let Meaning::Record(key) = mirror.keys.meaning(&kv.key) else { return Ok(()) };
            let slot = split_slots(&kv.value).2.modified;
            let revision = mirror.offset.revision(kv.create_revision, slot);
            if revision <= newest && ledger.get(key, revision).is_none() {
                removed.push(kv.key.clone());
            }
            Ok(())
        })
        .await?;
        for keys in removed.chunks(REMOVED_RECORDS) {
            let success = keys.iter().cloned().map(RequestOp::delete).collect();
            let request = TxnRequest { success, ..TxnRequest::default() };
            mirror.cluster.attempt::<TxnResponse>(TXN, &request, Instant::now() + BEAT).await?;
        }
        Ok(())
    }

    /// Removes the keys of servers that have not written for long. In the same revision the leader writes a mark of its own:
    /// the newest mark must never be older than the newest write.
    async fn remove_stale_servers(&self) -> Result<(), CallError> {
        let (key, range_end) = self.mirror.keys.marks();
        let request = RangeRequest { key, range_end, ..RangeRequest::default() };
        let deadline = Instant::now() + BEAT;
        let answer: RangeResponse = self.mirror.cluster.persist(RANGE, &request, deadline).await?;
        let horizon =
            self.mirror.clock.millis().saturating_sub(u64::try_from(GONE.as_millis()).unwrap_or(u64::MAX));
        let mut request = TxnRequest::default();
        for kv in &answer.kvs {
            let old = Mark::decode(&kv.value).is_none_or(|mark| mark.written_at < horizon);
            let server = self.mirror.keys.server_of_mark(&kv.key).filter(|server| *server != self.server);
            let (true, Some(server)) = (old, server) else { continue };
            if request.compare.len() == REMOVALS {
                break;
            }
            request.compare.push(Compare::at(kv.key.clone(), kv.mod_revision));
            request.success.push(RequestOp::delete(kv.key.clone()));
            request.success.push(RequestOp::delete(self.mirror.keys.fence(server)));
        }
        if request.compare.is_empty() {
            return Ok(());
        }
        let mark = Mark { written_at: self.mirror.clock.millis(), ..Mark::default() };
        request.success.push(RequestOp::put(self.mirror.keys.mark(&self.server), mark.encode()));
        self.mirror.cluster.attempt::<TxnResponse>(TXN, &request, deadline).await.map(|_| ())
    }

    /// Gives up leadership at once.
    pub(super) async fn resign(&self) {
        let id = self.lease.swap(0, Ordering::Relaxed);
        if id != 0 {
            let (request, deadline) = (LeaseRequest { id }, Instant::now() + BEAT);
            let revoked = self.mirror.cluster.attempt::<Acknowledgement>(LEASE_REVOKE, &request, deadline);
            let _ = revoked.await;
        }
    }
}

/// Compacts etcd up to a revision, which stays readable.
pub(super) async fn compact(mirror: &Mirror, revision: i64, deadline: Instant) -> Result<(), CallError> {
    let revision = revision.min(newest(mirror, deadline).await?.current);
    let request = CompactionRequest { revision };
    match mirror.cluster.persist::<Acknowledgement>(COMPACT, &request, deadline).await {
        // Already done, by another or by an attempt whose answer was lost.
        Ok(_) | Err(CallError::Refused(Refusal::Compacted, _)) => Ok(()),
        Err(error) => Err(error),
    }
}
