//! The one thread that writes. Everything that waits when a commit ends goes into the next one together: each
//! transaction is decided in order, all become durable in one batch, then visible, then acknowledged. History is
//! forgotten in small steps along the way, so that no write waits for a large clean-up.

use super::batch::Batch;
use super::commit_queue::{CommitQueue, Delivery};
use super::engine::Engine;
use super::group_commit::GroupCommit;
use crate::entry::Commit;
use crate::history::now;
use crate::limits::{BATCH_BYTES, BATCH_COUNT, FORGET_STEP, WAITING_WRITERS};
use crate::shared_state::SharedState;
use crate::stage::Stage;
use crate::state::State;
use crate::transaction::Action;
use crate::{Committed, Compaction, Error, HistoryLimits, Result, Revision, Transaction};
use parking_lot::Mutex;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, oneshot};

/// How often a store without writes looks for history that has become too old.
const IDLE: Duration = Duration::from_secs(1);

/// What the committer is asked to do.
pub(super) enum Request {
    Commit(Job),
    Compact(Compaction, oneshot::Sender<Result<Revision>>),
}

/// A transaction and who waits for it. The permit bounds how many can wait.
pub(super) struct Job {
    pub(super) transaction: Transaction,
    pub(super) answer: oneshot::Sender<Result<Committed>>,
    pub(super) _permit: OwnedSemaphorePermit,
}

/// Why the last batch failed, if it did.
pub(super) type Failure = Arc<Mutex<Option<Error>>>;

pub(super) struct Committer {
    pub(super) state: Arc<SharedState>,
    pub(super) engine: Engine,
    pub(super) limits: HistoryLimits,
    pub(super) failure: Failure,
    pub(super) compactions: Vec<(Revision, oneshot::Sender<Result<Revision>>)>,
    /// One permit is taken by each writer that has not been answered.
    pub(super) waiting: Arc<Semaphore>,
    pub(super) patience: GroupCommit,
}

impl Committer {
    /// Serves requests until nobody can make any more.
    pub(super) fn run(mut self, inbox: &CommitQueue<Request>) {
        loop {
            let pause = if self.work_left() { Duration::ZERO } else { IDLE };
            let Delivery::Requests(requests) = inbox.take(pause, self.patience.waits()) else {
                return;
            };
            let mut jobs = Vec::with_capacity(requests.len());
            let mut bytes = 0;
            for request in requests {
                match request {
                    Request::Commit(job) => {
                        bytes += size(&job.transaction);
                        jobs.push(job);
                    }
                    Request::Compact(compaction, answer) => {
                        let target = self.state.read(|state| state.history.target(compaction, now()));
                        self.compactions.push((target, answer));
                    }
                }
                if jobs.len() >= BATCH_COUNT || bytes >= BATCH_BYTES {
                    self.commit(std::mem::take(&mut jobs));
                    bytes = 0;
                }
            }
            self.commit(jobs);
        }
    }

    fn commit(&mut self, jobs: Vec<Job>) {
        let (now, began) = (now(), Instant::now());
        let (stage, answers) = self.state.read(|state| {
            let mut stage = Stage::new(state.history.newest(), now);
            let answers: Vec<_> = jobs.iter().map(|job| stage.add(&job.transaction, &state.index)).collect();
            (stage, answers)
        });
        let commits = stage.into_commits();
        let forgotten = self.to_forget(now, commits.len());
        let written = self.write(&commits, &forgotten);
        if !jobs.is_empty() {
            let waiting = WAITING_WRITERS - self.waiting.available_permits();
            self.patience.learn(jobs.len(), waiting, began.elapsed());
        }
        if let Err(error) = written {
            // Even a conflict may have been with a transaction that now never happened.
            for job in jobs {
                let _ = job.answer.send(Err(error.clone()));
            }
            for (_, answer) in self.compactions.drain(..) {
                let _ = answer.send(Err(error.clone()));
            }
            return;
        }
        for (job, answer) in jobs.into_iter().zip(answers) {
            let _ = job.answer.send(answer);
        }
        self.answer_compactions();
    }

    /// Makes commits durable, then visible.
    fn write(&mut self, commits: &[Arc<Commit>], forgotten: &[Arc<Commit>]) -> Result<()> {
        // After a failure even an empty batch is tried, to find out whether the disk has recovered.
        if commits.is_empty() && forgotten.is_empty() && self.failure.lock().is_none() {
            return Ok(());
        }
        let (after, compacted) = self.state.read(|state| (state.history.newest(), state.history.compacted()));
        let compacted = forgotten.last().map_or(compacted, |commit| commit.revision);
        let state = self.state.clone();
        let batch = Batch { after, commits, forgotten: compacted };
        let written = self.engine.write(&batch, || state.read(State::clone));
        *self.failure.lock() = written.as_ref().err().cloned();
        written?;
        self.state.advance(commits, compacted);
        self.engine.follow(forgotten, compacted);
        Ok(())
    }

    /// Returns the oldest commits that limits and compactions let go, as many as fit beside a batch of this size.
    fn to_forget(&self, now: u64, batch: usize) -> Vec<Arc<Commit>> {
        let step = 2 * batch + FORGET_STEP;
        self.state.read(|state| {
            let target = self.target(state, now);
            let due = state.history.iter().take_while(|commit| commit.revision <= target);
            due.take(step).cloned().collect()
        })
    }

    fn target(&self, state: &State, now: u64) -> Revision {
        let asked = self.compactions.iter().map(|(target, _)| *target).max().unwrap_or(Revision::ZERO);
        asked.max(state.history.limit(&self.limits, now))
    }

    /// Tells whether history is to be forgotten that cannot wait for the next writers: because somebody asked for it, or
    /// because it has become much. A batch of its own costs a sync; the little that each commit leaves goes with the next.
    /// After a failure everything waits for the next request.
    fn work_left(&self) -> bool {
        let (target, compacted) =
            self.state.read(|state| (self.target(state, now()), state.history.compacted()));
        let due = target.since(compacted);
        let bearable = if self.compactions.is_empty() { FORGET_STEP as u64 } else { 0 };
        due > bearable && self.failure.lock().is_none()
    }

    fn answer_compactions(&mut self) {
        let compacted = self.state.read(|state| state.history.compacted());
        let (done, waiting) =
            std::mem::take(&mut self.compactions).into_iter().partition(|(target, _)| *target <= compacted);
        self.compactions = waiting;
        let done: Vec<(Revision, oneshot::Sender<Result<Revision>>)> = done;
        for (_, answer) in done {
            let _ = answer.send(Ok(compacted));
        }
    }
}

fn size(transaction: &Transaction) -> usize {
    let value = |action: &Action| if let Action::Put(value) = action { value.len() } else { 0 };
    transaction.operations().iter().map(|operation| operation.key.len() + value(&operation.action)).sum()
}
