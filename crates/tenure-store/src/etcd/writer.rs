//! Committing: what waits when a batch has come back goes to etcd in the next one, whose success is told by the mirror.
//! If etcd's answer is lost, the server raises its fence, which every batch of it requires to be unchanged: after
//! that, a batch that the mirror has not shown by then never happens, and can be tried again.

use super::batch::{Batch, Job, JobState, NEVER};
use super::call_error::{CallError, Refusal};
use super::mirror::{Mirror, STALLED};
use super::wire::{
    Acknowledgement, Compare, PUT, PutRequest, RequestOp, TXN, TxnRequest, TxnResponse, revision,
};
use crate::{Committed, Error, Result, Transaction};
use bytes::Bytes;
use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::{mpsc, oneshot};
use tokio::time::{Instant, sleep, timeout_at};

/// How long to wait before trying again.
const PAUSE: Duration = Duration::from_millis(30);

/// Where transactions are handed in.
#[derive(Debug)]
pub(super) struct Writer {
    jobs: mpsc::UnboundedSender<Job>,
}

impl Writer {
    /// Does a validated transaction.
    pub(super) async fn commit(&self, transaction: Transaction, deadline: Instant) -> Result<Committed> {
        let (answer, answered) = oneshot::channel();
        let job = Job { transaction, deadline, answer, standing: JobState::New };
        self.jobs.send(job).map_err(|_| Error::Closed)?;
        answered.await.unwrap_or(Err(Error::Closed))
    }
}

/// What serves the writers, one batch at a time.
#[derive(Debug)]
pub(super) struct Committer {
    mirror: Arc<Mirror>,
    jobs: mpsc::UnboundedReceiver<Job>,
    mark: Bytes,
    /// The key that all batches of this server require to be unchanged, and etcd's revision that it was raised at.
    fence: Bytes,
    raised: i64,
    /// The number of the next batch.
    next: u64,
}

/// What one attempt at a batch came to.
enum Attempt {
    /// It has arrived, and all but these jobs are answered.
    Arrived(Vec<Job>),
    /// It surely did not happen.
    Again(CallError),
    /// It did not happen, and would not if tried again.
    Refused(Error),
    /// It is not known whether it happened.
    Unknown(CallError),
}

impl Committer {
    /// Makes a committer and what hands transactions to it.
    pub(super) fn new(mirror: Arc<Mirror>, server: &str) -> (Writer, Committer) {
        let (sender, jobs) = mpsc::unbounded_channel();
        let (mark, fence) = (mirror.keys.mark(server), mirror.keys.fence(server));
        let committer = Committer { mirror, jobs, mark, fence, raised: NEVER, next: 1 };
        (Writer { jobs: sender }, committer)
    }

    /// Serves until nobody can hand in anything any more.
    pub(super) async fn run(mut self) {
        let mut queue = VecDeque::new();
        loop {
            if queue.is_empty() {
                match self.jobs.recv().await {
                    Some(job) => queue.push_back(job),
                    None => return,
                }
                // Whoever is about to hand in something may as well come along.
                tokio::task::yield_now().await;
            }
            while let Ok(job) = self.jobs.try_recv() {
                queue.push_back(job);
            }
            let batch =
                self.mirror.state.read(|state| Batch::gather(&mut queue, &state.index, self.mirror.offset));
            if !batch.is_empty() {
                self.send(batch, &mut queue).await;
            }
        }
    }

    async fn send(&mut self, batch: Batch, queue: &mut VecDeque<Job>) {
        let number = self.next;
        self.next += 1;
        let deadline = batch.deadline().unwrap_or_else(Instant::now);
        let request = self.request(&batch, number);
        let mut arrived = self.mirror.expect(number, batch);
        let attempt = self.attempt(&request, number, &mut arrived, deadline).await;
        let attempt = match attempt {
            Attempt::Arrived(_) => attempt,
            // It may be arriving right now.
            _ => match self.mirror.withdraw(number) {
                Some(batch) => return self.give_up(attempt, batch, queue).await,
                None => Attempt::Arrived(arrived.await.unwrap_or_default()),
            },
        };
        if let Attempt::Arrived(again) = attempt {
            for job in queue.iter_mut().filter(|job| job.standing == JobState::PassedOver) {
                job.standing = JobState::Overtaken;
            }
            requeue(again, queue);
        }
    }

    /// Does with a batch that has not arrived what the attempt says.
    async fn give_up(&self, attempt: Attempt, batch: Batch, queue: &mut VecDeque<Job>) {
        let jobs = batch.into_jobs();
        let refuse = |jobs: Vec<Job>, error: Error| {
            for job in jobs {
                let _ = job.answer.send(Err(error.clone()));
            }
        };
        match attempt {
            Attempt::Arrived(_) => {}
            Attempt::Again(error) => {
                let (in_time, late): (Vec<_>, Vec<_>) =
                    jobs.into_iter().partition(|job| Instant::now() + PAUSE < job.deadline);
                refuse(late, Error::NotDurable { reason: error.to_string().into() });
                requeue(in_time, queue);
                sleep(PAUSE).await;
            }
            // Which of them it was is found out one by one.
            Attempt::Refused(Error::Invalid(_)) if jobs.len() > 1 => {
                let alone = |job| Job { standing: JobState::Alone, ..job };
                requeue(jobs.into_iter().map(alone).collect(), queue);
            }
            Attempt::Refused(error) => refuse(jobs, error),
            Attempt::Unknown(error) => refuse(jobs, Error::Unknown { reason: error.to_string().into() }),
        }
    }

    async fn attempt(
        &mut self,
        request: &TxnRequest,
        number: u64,
        arrived: &mut oneshot::Receiver<Vec<Job>>,
        deadline: Instant,
    ) -> Attempt {
        let answer = self.mirror.cluster.attempt::<TxnResponse>(TXN, request, deadline).await;
        match answer {
            Ok(answer) if answer.succeeded => self.arrived(&answer, arrived, deadline).await,
            Ok(answer) => self.failed(&answer, deadline).await,
            Err(error @ CallError::Unclear(_)) => self.settle(number, arrived, deadline, error).await,
            Err(error) if error.may_pass() => Attempt::Again(error),
            Err(CallError::Refused(Refusal::Invalid, reason)) => {
                Attempt::Refused(Error::Invalid(format!("etcd: {reason}")))
            }
            Err(error) => Attempt::Refused(Error::NotDurable { reason: error.to_string().into() }),
        }
    }

    /// Waits for a batch that is known to have happened; that it is also here is a matter of moments.
    async fn arrived(
        &self,
        answer: &TxnResponse,
        arrived: &mut oneshot::Receiver<Vec<Job>>,
        deadline: Instant,
    ) -> Attempt {
        loop {
            let patience = deadline.min(Instant::now() + STALLED);
            match timeout_at(patience, &mut *arrived).await {
                Ok(again) => return Attempt::Arrived(again.unwrap_or_default()),
                Err(_) if Instant::now() >= deadline => {
                    let at = revision(answer.header.as_ref());
                    return Attempt::Unknown(CallError::Unclear(format!(
                        "it was committed at revision {at} of etcd, but did not arrive here"
                    )));
                }
                Err(_) => self.mirror.reopen(),
            }
        }
    }

    /// Finds out why a batch's own conditions did not hold.
    async fn failed(&mut self, answer: &TxnResponse, deadline: Instant) -> Attempt {
        let frozen = answer.responses.first().and_then(|found| found.range.as_ref()?.kvs.first());
        if frozen.is_some() {
            return Attempt::Refused(Error::frozen());
        }
        // The fence was raised by an attempt whose answer was lost, or was removed.
        let raised = self.raise(deadline).await;
        Attempt::Again(
            raised.err().unwrap_or_else(|| CallError::Unreachable("the fence was raised".to_owned())),
        )
    }

    /// Finds out whether a batch happened.
    async fn settle(
        &mut self,
        number: u64,
        arrived: &mut oneshot::Receiver<Vec<Job>>,
        deadline: Instant,
        error: CallError,
    ) -> Attempt {
        tracing::debug!(number, %error, "a batch without an answer");
        let fenced = async {
            let raised = self.raise(deadline).await?;
            self.mirror.wait(raised, deadline).await
        };
        tokio::select! {
            biased;
            again = arrived => Attempt::Arrived(again.unwrap_or_default()),
            settled = fenced => match settled {
                // The mirror is past the fence. If it has not shown the batch by then, it never will.
                Ok(()) => Attempt::Again(error),
                Err(_) => Attempt::Unknown(error),
            },
        }
    }

    /// Raises the fence and returns where it is. Needed once before the first batch.
    pub(super) async fn raise(&mut self, deadline: Instant) -> Result<i64, CallError> {
        let put = PutRequest { key: self.fence.clone(), ..PutRequest::default() };
        let answer: Acknowledgement = self.mirror.cluster.persist(PUT, &put, deadline).await?;
        self.raised = revision(answer.header.as_ref());
        Ok(self.raised)
    }

    /// Writes a batch in etcd's way: what must hold for all of it, what to do, and what to read if it does not hold.
    fn request(&self, batch: &Batch, number: u64) -> TxnRequest {
        let freeze = self.mirror.keys.freeze();
        let mut request = TxnRequest {
            compare: vec![Compare::absent(freeze.clone()), Compare::at(self.fence.clone(), self.raised)],
            success: Vec::new(),
            failure: vec![RequestOp::get(freeze)],
        };
        batch.write(number, self.mark.clone(), &self.mirror.keys, self.mirror.offset, &mut request);
        request
    }
}

/// Puts jobs back to where they were.
fn requeue(jobs: Vec<Job>, queue: &mut VecDeque<Job>) {
    for job in jobs.into_iter().rev() {
        queue.push_front(job);
    }
}
