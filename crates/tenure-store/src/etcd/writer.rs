//! Committing: one etcd transaction per transaction, whose success is told by the mirror. If etcd's answer is lost, the
//! server raises its fence, which every transaction of it requires to be unchanged: after that, a transaction that the
//! mirror has not shown by then never happens, and can be tried again.

use super::fault::{Fault, Refusal};
use super::mirror::{Landed, Mark, Mirror, STALLED};
use super::wire::{
    Acknowledgement, Compare, KeyValue, PUT, PutRequest, RequestOp, TXN, TxnRequest, TxnResponse, revision,
};
use crate::error::Conflict;
use crate::history::now;
use crate::transaction::Action;
use crate::{Committed, Entry, Error, Expected, Result, Transaction};
use bytes::Bytes;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use std::time::Duration;
use tokio::sync::oneshot;
use tokio::time::{Instant, sleep, timeout_at};

/// How long to wait before trying again.
const PAUSE: Duration = Duration::from_millis(30);
/// No key was ever written at this revision.
const NEVER: i64 = -1;

#[derive(Debug)]
pub(super) struct Writer {
    mirror: Arc<Mirror>,
    mark: Bytes,
    fence: Fence,
    next: AtomicU64,
}

/// The key that all transactions of this server require to be unchanged.
#[derive(Debug)]
struct Fence {
    key: Bytes,
    /// The revision it was last raised at.
    raised: AtomicI64,
    raising: tokio::sync::Mutex<()>,
}

/// A transaction that the mirror was told to look out for.
struct Announced<'a> {
    mirror: &'a Mirror,
    number: u64,
    landed: oneshot::Receiver<Landed>,
}

impl Drop for Announced<'_> {
    fn drop(&mut self) {
        self.mirror.forget(self.number);
    }
}

/// What one attempt came to.
enum Attempt {
    Done(Committed),
    /// It surely did not happen.
    Again(Fault),
    /// It may have happened.
    Unclear(Fault),
}

impl Writer {
    pub(super) fn new(mirror: Arc<Mirror>, server: &str) -> Writer {
        let fence = Fence {
            key: mirror.keys.fence(server),
            raised: AtomicI64::new(NEVER),
            raising: tokio::sync::Mutex::default(),
        };
        Writer { mark: mirror.keys.mark(server), mirror, fence, next: AtomicU64::new(1) }
    }

    /// Does a validated transaction.
    pub(super) async fn commit(&self, transaction: &Transaction, deadline: Instant) -> Result<Committed> {
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        let landed = self.mirror.expect(number);
        let mut announced = Announced { mirror: &self.mirror, number, landed };
        loop {
            let fence = self.fence.raised.load(Ordering::Acquire);
            let fault = match self.attempt(transaction, &mut announced, fence, deadline).await? {
                Attempt::Done(committed) => return Ok(committed),
                Attempt::Again(fault) => fault,
                Attempt::Unclear(fault) => {
                    if let Some(committed) =
                        self.settle(transaction, &mut announced, fence, deadline, &fault).await?
                    {
                        return Ok(committed);
                    }
                    fault
                }
            };
            if Instant::now() + PAUSE >= deadline {
                return Err(Error::NotDurable { reason: fault.to_string().into() });
            }
            sleep(PAUSE).await;
        }
    }

    async fn attempt(
        &self,
        transaction: &Transaction,
        announced: &mut Announced<'_>,
        fence: i64,
        deadline: Instant,
    ) -> Result<Attempt> {
        if fence == NEVER {
            return Ok(match self.raise(fence, deadline).await {
                Ok(_) => Attempt::Again(Fault::Unreachable("the fence was not raised yet".to_owned())),
                Err(fault) => Attempt::Again(fault),
            });
        }
        let request = self.request(transaction, announced.number, fence);
        let answer = self.mirror.cluster.attempt::<TxnResponse>(TXN, &request, deadline).await;
        match answer {
            Ok(answer) if answer.succeeded => {
                // Known to have happened; that it is also here is a matter of moments.
                match self.arrived(transaction, announced, deadline).await {
                    Some(committed) => Ok(Attempt::Done(committed)),
                    None => {
                        let at = revision(answer.header.as_ref());
                        let reason =
                            format!("it was committed at revision {at} of etcd, but did not arrive here");
                        Err(Error::Unknown { reason: reason.into() })
                    }
                }
            }
            Ok(answer) => self.failed(transaction, &answer, fence, deadline).await,
            Err(fault @ Fault::Unclear(_)) => Ok(Attempt::Unclear(fault)),
            Err(fault) if fault.may_pass() => Ok(Attempt::Again(fault)),
            Err(Fault::Refused(Refusal::Invalid, reason)) => Err(Error::Invalid(format!("etcd: {reason}"))),
            Err(fault) => Err(Error::NotDurable { reason: fault.to_string().into() }),
        }
    }

    /// Waits for a transaction that has happened to arrive here.
    async fn arrived(
        &self,
        transaction: &Transaction,
        announced: &mut Announced<'_>,
        deadline: Instant,
    ) -> Option<Committed> {
        loop {
            let patience = deadline.min(Instant::now() + STALLED);
            match timeout_at(patience, &mut announced.landed).await {
                Ok(landed) => return landed.ok().map(|landed| self.committed(transaction, &landed)),
                Err(_) if Instant::now() >= deadline => return None,
                Err(_) => self.mirror.reopen(),
            }
        }
    }

    /// Finds out why a transaction's conditions did not hold.
    async fn failed(
        &self,
        transaction: &Transaction,
        answer: &TxnResponse,
        fence: i64,
        deadline: Instant,
    ) -> Result<Attempt> {
        let found = |place: usize| answer.responses.get(place)?.range.as_ref()?.kvs.first();
        if found(0).is_some() {
            let reason = crate::embedded::FROZEN;
            return Err(Error::NotDurable { reason: reason.into() });
        }
        if found(1).map(|kv| kv.mod_revision) != Some(fence) {
            let raised = self.raise(fence, deadline).await;
            let fault = raised.err().unwrap_or_else(|| Fault::Unreachable("the fence was raised".to_owned()));
            return Ok(Attempt::Again(fault));
        }
        for (place, operation) in transaction.operations().iter().enumerate() {
            let current = found(place + 2).map(|kv| self.entry(&operation.key, kv));
            if !operation.expected.holds(current.as_ref()) {
                let (key, expected) = (operation.key.clone(), operation.expected);
                return Err(Error::Conflict(Box::new(Conflict { key, expected, current })));
            }
        }
        Ok(Attempt::Again(Fault::Unreachable("etcd refused a transaction whose conditions hold".to_owned())))
    }

    /// Finds out whether a transaction happened: nothing when it did not and never will.
    async fn settle(
        &self,
        transaction: &Transaction,
        announced: &mut Announced<'_>,
        fence: i64,
        deadline: Instant,
        fault: &Fault,
    ) -> Result<Option<Committed>> {
        let fenced = async {
            let raised = self.raise(fence, deadline).await?;
            self.mirror.wait(raised, deadline).await
        };
        tokio::pin!(fenced);
        let settled = tokio::select! {
            biased;
            landed = &mut announced.landed => return match landed {
                Ok(landed) => Ok(Some(self.committed(transaction, &landed))),
                Err(_) => Err(unknown(fault)),
            },
            settled = &mut fenced => settled,
        };
        match (announced.landed.try_recv(), settled) {
            (Ok(landed), _) => Ok(Some(self.committed(transaction, &landed))),
            (Err(oneshot::error::TryRecvError::Empty), Ok(())) => Ok(None),
            (Err(_), _) => Err(unknown(fault)),
        }
    }

    /// Raises the fence, unless that has been done since a transaction began with it, and returns where it is.
    pub(super) async fn raise(&self, from: i64, deadline: Instant) -> Result<i64, Fault> {
        let late = |_| Fault::Unreachable("the fence is still being raised".to_owned());
        let _one_at_a_time = timeout_at(deadline, self.fence.raising.lock()).await.map_err(late)?;
        let raised = self.fence.raised.load(Ordering::Acquire);
        if raised != from {
            return Ok(raised);
        }
        let put = PutRequest { key: self.fence.key.clone(), ..PutRequest::default() };
        let answer: Acknowledgement = self.mirror.cluster.persist(PUT, &put, deadline).await?;
        let raised = revision(answer.header.as_ref());
        self.fence.raised.store(raised, Ordering::Release);
        Ok(raised)
    }

    /// Makes sure that there is a fence.
    pub(super) async fn begin(&self, deadline: Instant) -> Result<i64, Fault> {
        self.raise(NEVER, deadline).await
    }

    /// Writes the transaction in etcd's way: what must hold, what to do, and what to read if it does not hold.
    fn request(&self, transaction: &Transaction, number: u64, fence: i64) -> TxnRequest {
        let count = transaction.operations().len() + 2;
        let mut request = TxnRequest {
            compare: Vec::with_capacity(count),
            success: Vec::with_capacity(count),
            failure: Vec::with_capacity(count),
        };
        let freeze = self.mirror.keys.freeze();
        request.compare.push(Compare::absent(freeze.clone()));
        request.compare.push(Compare::at(self.fence.key.clone(), fence));
        request.failure.push(RequestOp::get(freeze));
        request.failure.push(RequestOp::get(self.fence.key.clone()));
        for operation in transaction.operations() {
            let key = self.mirror.keys.entry(&operation.key);
            request.compare.extend(match operation.expected {
                Expected::Anything => None,
                Expected::Absent => Some(Compare::absent(key.clone())),
                Expected::Present => Some(Compare::present(key.clone())),
                Expected::At(revision) => {
                    Some(Compare::at(key.clone(), self.mirror.offset.etcd(revision).unwrap_or(NEVER)))
                }
            });
            request.failure.push(RequestOp::get(key.clone()));
            request.success.extend(match &operation.action {
                Action::Put(value) => Some(RequestOp::put(key, value.clone())),
                Action::Delete => Some(RequestOp::delete(key)),
                Action::Check => None,
            });
        }
        let mark = Mark { number, written_at: now() };
        request.success.push(RequestOp::put(self.mark.clone(), mark.encode()));
        request
    }

    /// Tells what a transaction that has happened replaced.
    fn committed(&self, transaction: &Transaction, landed: &Landed) -> Committed {
        let changes = landed.commit.as_ref().map_or(&[][..], |commit| &commit.changes);
        let previous = |key: &Bytes| match changes.binary_search_by(|change| change.key.cmp(key)) {
            Ok(place) => changes.get(place)?.previous.clone(),
            // It was not changed, and so is what it was.
            Err(_) => self.mirror.ledger.read(|state| state.index.get_at(key, landed.revision).cloned()),
        };
        let previous = transaction.operations().iter().map(|operation| previous(&operation.key)).collect();
        Committed { revision: landed.revision, previous }
    }

    fn entry(&self, key: &Bytes, kv: &KeyValue) -> Entry {
        self.mirror.entry(key.clone(), kv)
    }
}

fn unknown(fault: &Fault) -> Error {
    Error::Unknown { reason: fault.to_string().into() }
}
