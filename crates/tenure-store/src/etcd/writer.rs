//! Commits transactions in batches, one at a time; the mirror tells when a batch has been applied. If etcd's answer is lost,
//! the server raises its fence, which every batch of it requires to be unchanged: a batch that the mirror has not shown by
//! then is never applied, and can be retried.

use super::batch::{Batch, Destination, Job, JobState, NEVER};
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

/// The pause before a retry.
const PAUSE: Duration = Duration::from_millis(30);

/// The entrance of transactions.
#[derive(Debug)]
pub(super) struct Writer {
    jobs: mpsc::UnboundedSender<Job>,
}

impl Writer {
    /// Commits a validated transaction.
    pub(super) async fn commit(&self, transaction: Transaction, deadline: Instant) -> Result<Committed> {
        let (answer, answered) = oneshot::channel();
        let job = Job { transaction, deadline, answer, state: JobState::New };
        self.jobs.send(job).map_err(|_| Error::Closed)?;
        answered.await.unwrap_or(Err(Error::Closed))
    }
}

/// The task that sends batches.
#[derive(Debug)]
pub(super) struct Committer {
    mirror: Arc<Mirror>,
    jobs: mpsc::UnboundedReceiver<Job>,
    server: String,
    /// The key that all batches of this server require to be unchanged, and etcd's revision at which it was raised.
    fence: Bytes,
    raised: i64,
    /// The number of the next batch.
    next: u64,
}

/// The result of one attempt to send a batch.
enum Attempt {
    /// It has arrived; all jobs but these are answered.
    Arrived(Vec<Job>),
    /// It was surely not applied.
    Again(CallError),
    /// It was not applied, and a retry would fail too.
    Refused(Error),
    /// It may have been applied or not.
    Unknown(CallError),
}

impl Committer {
    /// Creates the task and its entrance.
    pub(super) fn new(mirror: Arc<Mirror>, server: &str) -> (Writer, Committer) {
        let (sender, jobs) = mpsc::unbounded_channel();
        let fence = mirror.keys.fence(server);
        let server = server.to_owned();
        let committer = Committer { mirror, jobs, server, fence, raised: NEVER, next: 1 };
        (Writer { jobs: sender }, committer)
    }

    /// Runs until the entrance is dropped.
    pub(super) async fn run(mut self) {
        let mut queue = VecDeque::new();
        loop {
            if queue.is_empty() {
                match self.jobs.recv().await {
                    Some(job) => queue.push_back(job),
                    None => return,
                }
                // Writers that are about to commit join the batch.
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
        let request = match self.request(&batch, number) {
            Ok(request) => request,
            Err(error) => return refuse(batch.into_jobs(), &error),
        };
        let mut arrived = self.mirror.expect(number, batch);
        let attempt = self.attempt(&request, number, &mut arrived, deadline).await;
        let attempt = match attempt {
            Attempt::Arrived(_) => attempt,
            // It may be arriving at this moment.
            _ => match self.mirror.withdraw(number) {
                Some(batch) => return self.give_up(attempt, batch, queue).await,
                None => Attempt::Arrived(arrived.await.unwrap_or_default()),
            },
        };
        if let Attempt::Arrived(again) = attempt {
            for job in queue.iter_mut().filter(|job| job.state == JobState::PassedOver) {
                job.state = JobState::Overtaken;
            }
            requeue(again, queue);
        }
    }

    /// Answers or retries the jobs of a batch that has not arrived.
    async fn give_up(&self, attempt: Attempt, batch: Batch, queue: &mut VecDeque<Job>) {
        let jobs = batch.into_jobs();
        match attempt {
            Attempt::Arrived(_) => {}
            Attempt::Again(error) => {
                let (in_time, late): (Vec<_>, Vec<_>) =
                    jobs.into_iter().partition(|job| Instant::now() + PAUSE < job.deadline);
                refuse(late, &Error::NotDurable { reason: error.to_string().into() });
                requeue(in_time, queue);
                sleep(PAUSE).await;
            }
            // To find the invalid one, each is sent alone.
            Attempt::Refused(Error::Invalid(_)) if jobs.len() > 1 => {
                let alone = |job| Job { state: JobState::Alone, ..job };
                requeue(jobs.into_iter().map(alone).collect(), queue);
            }
            Attempt::Refused(error) => refuse(jobs, &error),
            Attempt::Unknown(error) => refuse(jobs, &Error::Unknown { reason: error.to_string().into() }),
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

    /// Waits for a batch that etcd has applied, until the mirror shows it.
    async fn arrived(
        &self,
        answer: &TxnResponse,
        arrived: &mut oneshot::Receiver<Vec<Job>>,
        deadline: Instant,
    ) -> Attempt {
        loop {
            let timeout = deadline.min(Instant::now() + STALLED);
            match timeout_at(timeout, &mut *arrived).await {
                Ok(again) => return Attempt::Arrived(again.unwrap_or_default()),
                Err(_) if Instant::now() >= deadline => {
                    let at = revision(answer.header.as_ref());
                    return Attempt::Unknown(CallError::Unclear(format!(
                        "it was committed at revision {at} of etcd, but the watch did not deliver it"
                    )));
                }
                Err(_) => self.mirror.reopen(),
            }
        }
    }

    /// Determines why the conditions of a batch did not hold.
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

    /// Determines whether a batch was applied.
    async fn settle(
        &mut self,
        number: u64,
        arrived: &mut oneshot::Receiver<Vec<Job>>,
        deadline: Instant,
        error: CallError,
    ) -> Attempt {
        tracing::debug!(number, %error, "etcd's answer to a batch was lost");
        let fenced = async {
            let raised = self.raise(deadline).await?;
            self.mirror.wait(raised, deadline).await
        };
        tokio::select! {
            biased;
            again = arrived => Attempt::Arrived(again.unwrap_or_default()),
            settled = fenced => match settled {
                // The mirror has passed the fence. If it has not shown the batch by then, it never will.
                Ok(()) => Attempt::Again(error),
                Err(_) => Attempt::Unknown(error),
            },
        }
    }

    /// Raises the fence and returns its revision. Needed once before the first batch.
    pub(super) async fn raise(&mut self, deadline: Instant) -> Result<i64, CallError> {
        let put = PutRequest { key: self.fence.clone(), ..PutRequest::default() };
        let answer: Acknowledgement = self.mirror.cluster.persist(PUT, &put, deadline).await?;
        self.raised = revision(answer.header.as_ref());
        Ok(self.raised)
    }

    /// Encodes a batch: the conditions for all of it, its operations, and what to read if the conditions do not hold.
    fn request(&self, batch: &Batch, number: u64) -> Result<TxnRequest> {
        let freeze = self.mirror.keys.freeze();
        let mut request = TxnRequest {
            compare: vec![Compare::absent(freeze.clone()), Compare::at(self.fence.clone(), self.raised)],
            success: Vec::new(),
            failure: vec![RequestOp::get(freeze)],
        };
        let mirror = &self.mirror;
        let destination = Destination {
            server: &self.server,
            number,
            now: mirror.clock.millis(),
            keys: &mirror.keys,
            offset: mirror.offset,
            encryption: &mirror.encryption.session(),
        };
        batch.write(&destination, &mut request)?;
        Ok(request)
    }
}

/// Answers jobs with an error.
fn refuse(jobs: Vec<Job>, error: &Error) {
    for job in jobs {
        let _ = job.answer.send(Err(error.clone()));
    }
}

/// Puts jobs back to the front of the queue.
fn requeue(jobs: Vec<Job>, queue: &mut VecDeque<Job>) {
    for job in jobs.into_iter().rev() {
        queue.push_front(job);
    }
}
