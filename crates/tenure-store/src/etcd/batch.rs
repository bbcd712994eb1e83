//! Batches of transactions that go to etcd together, nested in one etcd transaction. Each is applied or not, independently of
//! the others, and no two of them touch the same key. The mirror determines the outcome of each from its state when the batch
//! arrives there, so that etcd's answer may be lost.

use super::keys::Keys;
use super::mark::Mark;
use super::revisions::{Offset, Slot, Slots, append_slots};
use super::wire::{Compare, RequestOp, TxnRequest};
use crate::Conflict;
use crate::encryption::{Protection, Session};
use crate::index::Index;
use crate::transaction::Action;
use crate::{Committed, Entry, Error, Expected, Operation, Result, Revision, Transaction};
use bytes::Bytes;
use std::collections::{HashSet, VecDeque};
use tokio::sync::oneshot;
use tokio::time::Instant;

/// The most transactions and bytes of one batch. etcd accepts 128 operations per transaction, where those of the outer
/// transaction count for the nested ones.
const MOST: usize = 64;
const MOST_BYTES: usize = 768 * 1024;
/// The most operations of a transaction that shares a batch with others.
const MOST_OPERATIONS: usize = 128 - MOST - 2;
/// No key was ever written at this revision.
pub(super) const NEVER: i64 = -1;

/// A transaction and the channel for its result.
#[derive(Debug)]
pub(super) struct Job {
    pub(super) transaction: Transaction,
    pub(super) deadline: Instant,
    pub(super) answer: oneshot::Sender<Result<Committed>>,
    pub(super) state: JobState,
}

/// The state of a job in the queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum JobState {
    New,
    /// A batch was sent without it, because both touch the same key or there was no room.
    PassedOver,
    /// That batch has arrived: the mirror shows a state from after the job was queued.
    Overtaken,
    /// etcd refused its batch, so that it is sent alone.
    Alone,
}

/// The condition on a key in etcd. It implies what the transaction expects and is sometimes stricter: a put stores the slot in
/// which the entry was created, so that it must be known whether it replaces one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Required {
    Nothing,
    Absent,
    Present,
    At(Revision),
    Never,
}

impl Required {
    /// With `exact`, it must also be known whether a deletion changes something.
    fn of(operation: &Operation, current: Option<&Entry>, exact: bool) -> Required {
        match (operation.expected, &operation.action) {
            (Expected::At(revision), _) => match current {
                Some(entry) if entry.modified == revision => Required::At(revision),
                _ => Required::Never,
            },
            (Expected::Absent, _) => Required::Absent,
            (expected, Action::Put(_)) => match current {
                Some(entry) => Required::At(entry.modified),
                None if expected == Expected::Anything => Required::Absent,
                None => Required::Never,
            },
            (Expected::Anything, Action::Delete) if exact => {
                current.map_or(Required::Absent, |entry| Required::At(entry.modified))
            }
            (Expected::Anything, _) => Required::Nothing,
            (Expected::Present, _) => Required::Present,
        }
    }

    fn holds(self, current: Option<&Entry>) -> bool {
        match self {
            Required::Nothing => true,
            Required::Absent => current.is_none(),
            Required::Present => current.is_some(),
            Required::At(revision) => current.is_some_and(|entry| entry.modified == revision),
            Required::Never => false,
        }
    }

    fn compare(self, key: Bytes, offset: Offset) -> Option<Compare> {
        match self {
            Required::Nothing => None,
            Required::Absent => Some(Compare::absent(key)),
            Required::Present => Some(Compare::present(key)),
            Required::At(revision) => Some(Compare::at(key, offset.etcd(revision).unwrap_or(NEVER))),
            Required::Never => Some(Compare::at(key, NEVER)),
        }
    }
}

/// A job in a batch, with the condition on each operation's key and the slot in which its entry was created.
#[derive(Debug)]
struct Member {
    job: Job,
    required: Vec<(Required, Option<Slot>)>,
    /// Whether it changes anything, if the conditions hold; only known if it leaves records.
    changes: bool,
}

impl Member {
    fn new(job: Job, index: &Index, offset: Offset) -> Member {
        let exact = !job.transaction.records().is_empty();
        let require = |operation: &Operation| {
            let current = index.get(&operation.key);
            (Required::of(operation, current, exact), current.map(|entry| offset.slot(entry.created)))
        };
        let operations = job.transaction.operations();
        let required = operations.iter().map(require).collect();
        let changes = operations.iter().any(|operation| match operation.action {
            Action::Put(_) => true,
            Action::Delete => index.get(&operation.key).is_some(),
            Action::Check => false,
        });
        Member { job, required, changes }
    }
}

/// The outcome of a job.
#[derive(Debug)]
pub(super) enum Outcome {
    Applied {
        previous: Vec<Option<Entry>>,
        changed: bool,
    },
    Conflict(Conflict),
    /// It was not applied, but only because the conditions were stricter than its preconditions.
    Retry,
}

/// The jobs that are sent together.
#[derive(Debug, Default)]
pub(super) struct Batch {
    members: Vec<Member>,
    bytes: usize,
    written: HashSet<Bytes>,
    required: HashSet<Bytes>,
}

impl Batch {
    /// Takes jobs from a queue that can be sent together, and answers those that need not be sent.
    pub(super) fn gather(queue: &mut VecDeque<Job>, index: &Index, offset: Offset) -> Batch {
        let (mut batch, mut left, now) = (Batch::default(), VecDeque::new(), Instant::now());
        while let Some(mut job) = queue.pop_front() {
            if job.answer.is_closed() {
                continue;
            }
            if job.deadline <= now {
                let reason = "etcd: timeout".into();
                let _ = job.answer.send(Err(Error::NotDurable { reason }));
                continue;
            }
            if job.state == JobState::Overtaken
                && let Some(conflict) = conflict(&job.transaction, index)
            {
                let _ = job.answer.send(Err(Error::Conflict(Box::new(conflict))));
                continue;
            }
            if batch.takes(&job) {
                batch.add(Member::new(job, index, offset));
                continue;
            }
            if job.state == JobState::New {
                job.state = JobState::PassedOver;
            }
            left.push_back(job);
            if batch.members.len() >= MOST {
                break;
            }
        }
        left.append(queue);
        *queue = left;
        batch
    }

    fn takes(&self, job: &Job) -> bool {
        if self.members.is_empty() {
            return true;
        }
        let company = self.members.iter().all(|member| can_share_a_batch(&member.job));
        let bytes = self.bytes.saturating_add(job.transaction.size());
        let room = self.members.len() < MOST && bytes <= MOST_BYTES;
        let apart = |operation: &Operation| match operation.action {
            Action::Check => !self.written.contains(&operation.key),
            Action::Put(_) | Action::Delete => {
                !self.written.contains(&operation.key) && !self.required.contains(&operation.key)
            }
        };
        company && can_share_a_batch(job) && room && job.transaction.operations().iter().all(apart)
    }

    fn add(&mut self, member: Member) {
        for operation in member.job.transaction.operations() {
            match operation.action {
                Action::Check => self.required.insert(operation.key.clone()),
                Action::Put(_) | Action::Delete => self.written.insert(operation.key.clone()),
            };
        }
        self.bytes += member.job.transaction.size();
        self.members.push(member);
    }

    pub(super) fn is_empty(&self) -> bool {
        self.members.is_empty()
    }

    /// Returns the earliest deadline.
    pub(super) fn deadline(&self) -> Option<Instant> {
        self.members.iter().map(|member| member.job.deadline).min()
    }

    pub(super) fn into_jobs(self) -> Vec<Job> {
        self.members.into_iter().map(|member| member.job).collect()
    }

    /// Adds the batch to a request, after its mark.
    pub(super) fn write(&self, to: &Destination<'_>, request: &mut TxnRequest) -> Result<()> {
        let Destination { number, now, keys, offset, .. } = *to;
        let mut note = Mark { number, written_at: now, last: self.last_slot(), deletions: self.deletions() };
        note.deletions.shrink_to_fit();
        request.success.push(RequestOp::put(keys.mark(to.server), note.encode()));
        for (place, member) in self.members.iter().enumerate() {
            let (mut inner, slot) = (TxnRequest::default(), Slot::at(place));
            for (operation, (required, created)) in
                member.job.transaction.operations().iter().zip(&member.required)
            {
                let key = keys.entry(&operation.key);
                inner.compare.extend(required.compare(key.clone(), offset));
                inner.success.extend(match &operation.action {
                    Action::Put(value) => {
                        let slots = Slots { modified: slot, created: created.unwrap_or(slot) };
                        Some(RequestOp::put(key, stored(to.encryption, &operation.key, value, slots)?))
                    }
                    Action::Delete => Some(RequestOp::delete(key)),
                    Action::Check => None,
                });
            }
            let records = member.job.transaction.records().iter().filter(|_| member.changes);
            for (key, record) in records {
                let name = keys.record(key, to.server, number, slot);
                inner
                    .success
                    .push(RequestOp::put(name, record_value(to.encryption, key, record, now, slot)?));
            }
            request.success.push(RequestOp::transaction(inner));
        }
        Ok(())
    }

    pub(super) fn last_slot(&self) -> Slot {
        Slot::at(self.members.len().saturating_sub(1))
    }

    fn deletions(&self) -> Vec<(Slot, Bytes)> {
        let mut deletions = Vec::new();
        for (place, member) in self.members.iter().enumerate() {
            let operations = member.job.transaction.operations().iter();
            let deleted = operations.filter(|operation| operation.action == Action::Delete);
            deletions.extend(deleted.map(|operation| (Slot::at(place), operation.key.clone())));
        }
        deletions
    }

    /// Determines the outcome of each job in the state right before the batch, exactly as etcd has.
    pub(super) fn decide(&self, index: &Index) -> Vec<Outcome> {
        self.members.iter().map(|member| decide(member, index)).collect()
    }

    /// Answers the jobs, given the slots at which something changed, and returns those to retry.
    pub(super) fn answer(
        self,
        outcomes: Vec<Outcome>,
        changed_at: &[Slot],
        revision: impl Fn(Slot) -> Revision,
    ) -> Vec<Job> {
        let last = revision(self.last_slot());
        let mut again = Vec::new();
        for (place, (member, outcome)) in self.members.into_iter().zip(outcomes).enumerate() {
            let (slot, job) = (Slot::at(place), member.job);
            let has_changed = changed_at.contains(&slot);
            let answer = match outcome {
                Outcome::Applied { previous, changed } if changed == has_changed => {
                    let revision = if changed { revision(slot) } else { last };
                    Ok(Committed { revision, previous })
                }
                Outcome::Conflict(conflict) if !has_changed => Err(Error::Conflict(Box::new(conflict))),
                Outcome::Retry if !has_changed => {
                    again.push(job);
                    continue;
                }
                // Another program writes under the prefix.
                _ => Err(Error::Unknown {
                    reason: "etcd: the changes are not those of the transaction".into(),
                }),
            };
            let _ = job.answer.send(answer);
        }
        again
    }
}

fn decide(member: &Member, index: &Index) -> Outcome {
    if let Some(conflict) = conflict(&member.job.transaction, index) {
        return Outcome::Conflict(conflict);
    }
    let operations = member.job.transaction.operations();
    let mut changed = false;
    let mut previous = Vec::with_capacity(operations.len());
    for (operation, (required, _)) in operations.iter().zip(&member.required) {
        let current = index.get(&operation.key);
        if !required.holds(current) {
            return Outcome::Retry;
        }
        changed |= match operation.action {
            Action::Put(_) => true,
            Action::Delete => current.is_some(),
            Action::Check => false,
        };
        previous.push(current.cloned());
    }
    Outcome::Applied { previous, changed }
}

/// Returns the first expectation of a transaction that does not hold.
fn conflict(transaction: &Transaction, index: &Index) -> Option<Conflict> {
    let unmet = |operation: &&Operation| !operation.expected.holds(index.get(&operation.key));
    let operation = transaction.operations().iter().find(unmet)?;
    let (key, current) = (operation.key.clone(), index.get(&operation.key).cloned());
    Some(Conflict { key, expected: operation.expected, current })
}

fn can_share_a_batch(job: &Job) -> bool {
    let operations = job.transaction.operations().len() + job.transaction.records().len();
    job.state != JobState::Alone && operations <= MOST_OPERATIONS
}

/// Where and when a batch is written.
#[derive(Clone, Copy)]
pub(super) struct Destination<'a> {
    pub(super) server: &'a str,
    pub(super) number: u64,
    pub(super) now: u64,
    pub(super) keys: &'a Keys,
    pub(super) offset: Offset,
    pub(super) encryption: &'a Session,
}

/// Returns a value as it is stored in etcd.
pub(super) fn stored(encryption: &Session, key: &[u8], value: &[u8], slots: Slots) -> Result<Bytes> {
    Ok(match encryption.seal(key, value)? {
        Some(sealed) => append_slots(&sealed, Protection::Sealed, slots),
        None => append_slots(value, Protection::Plaintext, slots),
    })
}

/// Returns a ledger record as it is stored in etcd: the time, then the record.
pub(super) fn record_value(
    encryption: &Session,
    key: &[u8],
    record: &[u8],
    now: u64,
    slot: Slot,
) -> Result<Bytes> {
    let stored = stored(encryption, key, record, Slots { modified: slot, created: slot })?;
    Ok([&now.to_le_bytes()[..], &stored].concat().into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    type Answer = oneshot::Receiver<Result<Committed>>;

    fn job(transaction: Transaction, state: JobState) -> (Job, Answer) {
        let (answer, answered) = oneshot::channel();
        let deadline = Instant::now() + Duration::from_secs(60);
        (Job { transaction, deadline, answer, state }, answered)
    }

    fn put(key: impl Into<Bytes>) -> Transaction {
        Transaction::new().put(key, Expected::Anything, "value")
    }

    fn entry(key: &'static str, revision: u64) -> Entry {
        let revision = Revision::from_number(revision);
        Entry { key: key.into(), value: "old".into(), created: revision, modified: revision }
    }

    /// Gathers all transactions, batch by batch, and returns the places of those that went together.
    fn batches(transactions: Vec<Transaction>) -> Vec<Vec<usize>> {
        let (jobs, _answers): (VecDeque<Job>, Vec<Answer>) =
            transactions.iter().cloned().map(|one| job(one, JobState::New)).unzip();
        let (mut queue, mut all) = (jobs, Vec::new());
        while !queue.is_empty() {
            let batch = Batch::gather(&mut queue, &Index::default(), Offset(0));
            let place = |job: Job| transactions.iter().position(|one| *one == job.transaction);
            all.push(batch.into_jobs().into_iter().filter_map(place).collect());
        }
        all
    }

    #[test]
    fn only_transactions_on_different_keys_share_a_batch() {
        let requires = |key: &'static str, required: &'static str| {
            Transaction::new().require(required, Expected::Present).put(key, Expected::Absent, "")
        };
        let deleted = Transaction::new().delete("n", Expected::Present);
        let transactions = vec![
            put("a"),
            requires("b", "n"),
            requires("c", "n"),
            deleted,
            put("a").put("d", Expected::Absent, ""),
        ];
        assert_eq!(batches(transactions), [vec![0, 1, 2], vec![3, 4]]);
    }

    #[test]
    fn batches_end_where_etcd_would_refuse_them() {
        let many = (0..MOST + 3).map(|number| put(format!("{number}"))).collect();
        let sizes: Vec<usize> = batches(many).iter().map(Vec::len).collect();
        assert_eq!(sizes, [MOST, 3]);
        let large = |key| Transaction::new().put(key, Expected::Anything, vec![0; MOST_BYTES / 2]);
        assert_eq!(batches(vec![large("a"), large("b"), put("c")]), [vec![0, 2], vec![1]]);
        let wide = (0..=MOST_OPERATIONS)
            .fold(Transaction::new(), |all, number| all.require(format!("{number}"), Expected::Anything));
        assert_eq!(batches(vec![put("a"), wide, put("b")]), [vec![0, 2], vec![1]]);
    }

    #[test]
    fn transactions_that_must_fail_are_answered_without_etcd() {
        let mut index = Index::default();
        index.insert(entry("a", 700));
        let swap =
            |revision| Transaction::new().put("a", Expected::At(Revision::from_number(revision)), "new");
        let (lost, mut answered) = job(swap(600), JobState::Overtaken);
        let (unsure, _unanswered) = job(swap(600), JobState::New);
        let mut queue = VecDeque::from([lost, unsure]);
        let batch = Batch::gather(&mut queue, &index, Offset(0));
        assert_eq!((batch.members.len(), queue.len()), (1, 0), "a new job is decided by etcd");
        let conflict = answered.try_recv().unwrap().unwrap_err();
        assert_eq!(conflict.conflict().unwrap().current, Some(entry("a", 700)));
        let (late, mut answered) = job(put("b"), JobState::New);
        let mut queue = VecDeque::from([Job { deadline: Instant::now(), ..late }]);
        assert!(Batch::gather(&mut queue, &index, Offset(0)).is_empty());
        assert!(matches!(answered.try_recv(), Ok(Err(Error::NotDurable { .. }))));
    }

    #[test]
    fn outcomes_are_those_of_the_state_before() {
        let (mut before, mut meanwhile) = (Index::default(), Index::default());
        before.insert(entry("there", 700));
        meanwhile.insert(entry("there", 800));
        let cases = [
            (put("there"), "applied", "retry"),
            (put("new"), "applied", "applied"),
            (Transaction::new().put("there", Expected::Present, ""), "applied", "retry"),
            (Transaction::new().put("new", Expected::Present, ""), "conflict", "conflict"),
            (
                Transaction::new().put("there", Expected::At(Revision::from_number(700)), ""),
                "applied",
                "conflict",
            ),
            (
                Transaction::new().put("there", Expected::At(Revision::from_number(800)), ""),
                "conflict",
                "retry",
            ),
            (Transaction::new().delete("there", Expected::Present), "applied", "applied"),
            (Transaction::new().delete("new", Expected::Anything), "unchanged", "unchanged"),
        ];
        for (transaction, same, changed) in cases {
            for (state, expected) in [(&before, same), (&meanwhile, changed)] {
                let (one, _answer) = job(transaction.clone(), JobState::New);
                let batch = Batch::gather(&mut VecDeque::from([one]), &before, Offset(0));
                let found = match batch.decide(state).as_slice() {
                    [Outcome::Applied { changed: true, .. }] => "applied",
                    [Outcome::Applied { changed: false, .. }] => "unchanged",
                    [Outcome::Conflict(_)] => "conflict",
                    [Outcome::Retry] => "retry",
                    other => panic!("{other:?}"),
                };
                assert_eq!(found, expected, "{transaction:?}");
            }
        }
    }
}
