//! The one thread that writes (group commit). All transactions that wait when a batch ends go into the next one: they are
//! evaluated in order, become durable together, then visible, then acknowledged. History and ledger are trimmed in small
//! steps along the way, so that no write waits for a large clean-up.

use super::batch::Batch;
use super::commit_queue::{CommitQueue, Delivery};
use super::engine::Engine;
use super::group_commit::GroupCommit;
use crate::entry::Commit;
use crate::index::Index;
use crate::limits::{BATCH_BYTES, BATCH_COUNT, FORGET_STEP, WAITING_WRITERS};
use crate::shared_state::SharedState;
use crate::stage::Stage;
use crate::state::State;
use crate::{
    Clock, Committed, Compaction, Error, HistoryLimits, LedgerPosition, Result, Revision, StagedTransactions,
    Transaction,
};
use parking_lot::Mutex;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, oneshot};

/// How often a store without writes looks for history that has become too old.
const IDLE: Duration = Duration::from_secs(1);

/// A request to the committer.
pub(super) enum Request {
    Commit(Job),
    Compact(Compaction, oneshot::Sender<Result<Revision>>),
    Reencrypt(oneshot::Sender<Result<()>>),
}

/// What is to be committed. The permit limits how many can wait.
pub(super) struct Job {
    pub(super) work: Work,
    pub(super) _permit: OwnedSemaphorePermit,
}

/// One transaction, or several together, and the channel for the result.
pub(super) enum Work {
    One(Transaction, oneshot::Sender<Result<Committed>>),
    All(StagedTransactions, oneshot::Sender<Result<Vec<Revision>>>),
}

/// The result of evaluating a job.
enum Evaluated {
    One(Result<Committed>),
    All(Result<Vec<Revision>>),
}

impl Work {
    fn size(&self) -> usize {
        match self {
            Work::One(transaction, _) => transaction.size(),
            Work::All(staged, _) => staged.size(),
        }
    }

    fn evaluate(&self, stage: &mut Stage, index: &Index) -> Evaluated {
        match self {
            Work::One(transaction, _) => Evaluated::One(stage.add(transaction, index)),
            Work::All(staged, _) => Evaluated::All(stage.add_all(staged, index)),
        }
    }

    /// Answers the writer, who may be gone.
    fn answer(self, evaluated: Evaluated) {
        match (self, evaluated) {
            (Work::One(_, answer), Evaluated::One(result)) => _ = answer.send(result),
            (Work::All(_, answer), Evaluated::All(result)) => _ = answer.send(result),
            // The result has the form of the work.
            (Work::One(..), Evaluated::All(_)) | (Work::All(..), Evaluated::One(_)) => {}
        }
    }

    fn fail(self, error: Error) {
        match self {
            Work::One(_, answer) => _ = answer.send(Err(error)),
            Work::All(_, answer) => _ = answer.send(Err(error)),
        }
    }
}

/// Why the last batch failed, if it did.
pub(super) type Failure = Arc<Mutex<Option<Error>>>;

pub(super) struct Committer {
    pub(super) state: Arc<SharedState>,
    pub(super) engine: Engine,
    pub(super) limits: HistoryLimits,
    pub(super) failure: Failure,
    pub(super) clock: Clock,
    pub(super) compactions: Vec<(Revision, oneshot::Sender<Result<Revision>>)>,
    pub(super) reencryptions: Vec<oneshot::Sender<Result<()>>>,
    /// Each writer that has not been answered holds one permit.
    pub(super) waiting: Arc<Semaphore>,
    pub(super) group_commit: GroupCommit,
}

impl Committer {
    /// Serves requests until the queue is closed.
    pub(super) fn run(mut self, inbox: &CommitQueue<Request>) {
        loop {
            let pause = if self.work_left() { Duration::ZERO } else { IDLE };
            let Delivery::Requests(requests) = inbox.take(pause, self.group_commit.waits()) else {
                return;
            };
            let mut jobs = Vec::with_capacity(requests.len());
            let mut bytes = 0;
            for request in requests {
                match request {
                    Request::Commit(job) => {
                        bytes += job.work.size();
                        jobs.push(job);
                    }
                    Request::Compact(compaction, answer) => {
                        let target =
                            self.state.read(|state| state.history.target(compaction, self.clock.millis()));
                        self.compactions.push((target, answer));
                    }
                    Request::Reencrypt(answer) => self.reencrypt(answer),
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
        let (now, began) = (self.clock.millis(), Instant::now());
        let (stage, answers) = self.state.read(|state| {
            let mut stage = Stage::new(state.history.newest(), now);
            let answers: Vec<_> =
                jobs.iter().map(|job| job.work.evaluate(&mut stage, &state.index)).collect();
            (stage, answers)
        });
        let commits = stage.into_commits();
        let forgotten = self.to_forget(now, commits.len());
        let written = self.write(&commits, &forgotten, now);
        if !jobs.is_empty() {
            let waiting = WAITING_WRITERS - self.waiting.available_permits();
            self.group_commit.learn(jobs.len(), waiting, began.elapsed());
        }
        if let Err(error) = written {
            // A conflict, too, may have been with a transaction of this batch, which was not applied.
            for job in jobs {
                job.work.fail(error.clone());
            }
            for (_, answer) in self.compactions.drain(..) {
                let _ = answer.send(Err(error.clone()));
            }
            return;
        }
        for (job, answer) in jobs.into_iter().zip(answers) {
            job.work.answer(answer);
        }
        self.answer_compactions();
    }

    /// Makes commits durable, then visible.
    fn write(&mut self, commits: &[Arc<Commit>], forgotten: &[Arc<Commit>], now: u64) -> Result<()> {
        // After a failure an empty batch is written too, to find out whether the disk has recovered.
        if commits.is_empty() && forgotten.is_empty() && self.failure.lock().is_none() {
            let compacted = self.state.read(|state| state.history.compacted());
            let trimmed = self.state.advance(&[], compacted, now, FORGET_STEP);
            if !trimmed.is_empty() || self.engine.is_reencrypting() {
                self.follow(&[], &trimmed);
            }
            return Ok(());
        }
        let (after, compacted) = self.state.read(|state| (state.history.newest(), state.history.compacted()));
        let compacted = forgotten.last().map_or(compacted, |commit| commit.revision);
        let state = self.state.clone();
        let batch = Batch { after, commits, forgotten: compacted };
        let written = self.engine.write(&batch, || state.read(State::clone));
        *self.failure.lock() = written.as_ref().err().cloned();
        written?;
        let trimmed = self.state.advance(commits, compacted, now, 2 * commits.len() + FORGET_STEP);
        self.follow(forgotten, &trimmed);
        Ok(())
    }

    fn follow(&mut self, forgotten: &[Arc<Commit>], trimmed: &[LedgerPosition]) {
        if self.engine.follow(forgotten, trimmed, &self.state) {
            for answer in self.reencryptions.drain(..) {
                let _ = answer.send(Ok(()));
            }
        }
    }

    fn reencrypt(&mut self, answer: oneshot::Sender<Result<()>>) {
        match self.engine.reencrypt(self.state.read(|state| state.history.newest())) {
            Ok(true) => self.reencryptions.push(answer),
            Ok(false) => {
                let _ = answer.send(Ok(()));
            }
            Err(error) => {
                let _ = answer.send(Err(error));
            }
        }
    }

    /// Returns the oldest commits that limits and compactions allow to forget, up to a number that depends on the batch.
    fn to_forget(&self, now: u64, batch: usize) -> Vec<Arc<Commit>> {
        let step = 2 * batch + FORGET_STEP;
        self.state.read(|state| {
            let target = self.target(state, now);
            let due = state.history.iter().take_while(|commit| commit.revision <= target);
            due.take(step).cloned().collect()
        })
    }

    fn target(&self, state: &State, now: u64) -> Revision {
        let requested = self.compactions.iter().map(|(target, _)| *target).max().unwrap_or(Revision::ZERO);
        requested.max(state.history.limit(&self.limits, now))
    }

    /// Tells whether history has to be forgotten without waiting for the next write: because a compaction was requested, or
    /// because it has become long. A batch for it alone costs a sync; a little is forgotten with the next write instead. After
    /// a failure everything waits for the next request.
    fn work_left(&self) -> bool {
        let (target, compacted) =
            self.state.read(|state| (self.target(state, self.clock.millis()), state.history.compacted()));
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
