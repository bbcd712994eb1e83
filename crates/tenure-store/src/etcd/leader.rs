//! Leading: of all servers that share a store, the one that holds a key under a lease. It compacts etcd and removes
//! what servers that are gone have left. Leading is a matter of thrift, not of safety: two that both believe to lead
//! for a moment do nothing wrong.

use super::call_error::{CallError, Refusal};
use super::load::newest;
use super::mark::Mark;
use super::mirror::Mirror;
use super::wire::{
    Acknowledgement, COMPACT, CompactionRequest, Compare, LEASE_GRANT, LEASE_KEEP_ALIVE, LEASE_REVOKE,
    LeaseGrantRequest, LeaseRequest, LeaseResponse, PutRequest, RANGE, RangeRequest, RangeResponse, Request,
    RequestOp, TXN, TxnRequest, TxnResponse,
};
use crate::history::now;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};
use std::time::Duration;
use tokio::time::{Instant, MissedTickBehavior, interval};

/// How long a leader may be silent.
const LEASE: Duration = Duration::from_secs(12);
/// How often it says that it is there, and others look.
const BEAT: Duration = Duration::from_secs(3);
/// After how long without a write a server's notes are removed; one that is still there makes them anew.
const GONE: Duration = Duration::from_secs(6 * 3600);
/// How many servers' notes are removed at once.
const REMOVALS: usize = 40;

#[derive(Debug)]
pub(super) struct LeaderElection {
    mirror: Arc<Mirror>,
    server: String,
    compaction: Option<Duration>,
    leads: AtomicBool,
    lease: AtomicI64,
}

impl LeaderElection {
    pub(super) fn new(mirror: Arc<Mirror>, server: String, compaction: Option<Duration>) -> LeaderElection {
        LeaderElection { mirror, server, compaction, leads: AtomicBool::new(false), lease: AtomicI64::new(0) }
    }

    pub(super) fn leads(&self) -> bool {
        self.leads.load(Ordering::Relaxed)
    }

    /// Tries to lead for as long as the task lives.
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
                    tracing::warn!(%error, "cannot compact etcd");
                }
            }
        }
    }

    /// Keeps leading, or begins to if nobody does.
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
        self.remove_the_gone().await?;
        let oldest = self.mirror.state.read(|state| state.history.compacted());
        let Some(revision) = self.mirror.offset.etcd(oldest) else { return Ok(()) };
        compact(&self.mirror, revision, Instant::now() + BEAT).await
    }

    /// Removes the notes of servers that have not written for long. In the same revision the leader leaves a mark of
    /// its own: the newest mark must never be older than the newest write.
    async fn remove_the_gone(&self) -> Result<(), CallError> {
        let (key, range_end) = self.mirror.keys.marks();
        let request = RangeRequest { key, range_end, ..RangeRequest::default() };
        let deadline = Instant::now() + BEAT;
        let answer: RangeResponse = self.mirror.cluster.persist(RANGE, &request, deadline).await?;
        let horizon = now().saturating_sub(u64::try_from(GONE.as_millis()).unwrap_or(u64::MAX));
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
        let mark = Mark { written_at: now(), ..Mark::default() };
        request.success.push(RequestOp::put(self.mirror.keys.mark(&self.server), mark.encode()));
        self.mirror.cluster.attempt::<TxnResponse>(TXN, &request, deadline).await.map(|_| ())
    }

    /// Lets another lead at once.
    pub(super) async fn resign(&self) {
        let id = self.lease.swap(0, Ordering::Relaxed);
        if id != 0 {
            let (request, deadline) = (LeaseRequest { id }, Instant::now() + BEAT);
            let revoked = self.mirror.cluster.attempt::<Acknowledgement>(LEASE_REVOKE, &request, deadline);
            let _ = revoked.await;
        }
    }
}

/// Lets etcd forget what was before a revision, which stays readable.
pub(super) async fn compact(mirror: &Mirror, revision: i64, deadline: Instant) -> Result<(), CallError> {
    let revision = revision.min(newest(mirror, deadline).await?.current);
    let request = CompactionRequest { revision };
    match mirror.cluster.persist::<Acknowledgement>(COMPACT, &request, deadline).await {
        // Already done, by another or by an attempt whose answer was lost.
        Ok(_) | Err(CallError::Refused(Refusal::Compacted, _)) => Ok(()),
        Err(error) => Err(error),
    }
}
