//! Every limit of the store. They are the same for all implementations, so that data can be moved from one to another.

use std::time::Duration;

/// The longest key, in bytes.
pub const MAX_KEY: usize = 2048;

/// The largest value, in bytes.
pub const MAX_VALUE: usize = 4 * 1024 * 1024;

/// The most operations and ledger records of one transaction.
/// Below etcd's default limit of 128, because the store on etcd adds operations of its own.
pub const MAX_OPERATIONS: usize = 120;

/// The most transactions that are committed together.
pub const MAX_STAGED: usize = 10_000;

/// How many matching revisions are remembered for a watched prefix, so that its watchers need not search the history.
pub(crate) const RECENT_MATCHES: usize = 1024;

/// How many entries a listing copies before it yields to writers.
pub(crate) const LIST_STRIDE: usize = 1024;

/// How many commits are packed before others get a turn.
pub(crate) const PACK_STRIDE: usize = 32;

/// How many commits a late watcher searches before it yields to writers.
pub(crate) const SCAN_STRIDE: u64 = 4096;

/// How many transactions the embedded store puts into one durable commit at most.
pub(crate) const BATCH_COUNT: usize = 512;

/// After how many bytes the embedded store closes a batch.
pub(crate) const BATCH_BYTES: usize = 4 * 1024 * 1024;

/// How many transactions may be queued for the embedded store's disk; further writers wait for a place in the queue.
pub(crate) const WAITING_WRITERS: usize = 4096;

/// How many old transactions an embedded store forgets with each batch, in addition to twice the batch size.
pub(crate) const FORGET_STEP: usize = 128;

/// By how much the revision of a restored store exceeds that of its backup: more than can have been written since.
pub(crate) const RESTORE_GAP: u64 = 1_000_000_000_000;

/// How much history a store keeps. Commits that exceed any of the three limits are forgotten, oldest first; the
/// current entries always stay.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HistoryLimits {
    /// The most transactions kept.
    pub count: u64,
    /// The age at which a transaction is forgotten.
    pub age: Duration,
    /// The most bytes of replaced and deleted values kept, roughly.
    pub bytes: usize,
}

impl Default for HistoryLimits {
    /// Ten thousand transactions, ten minutes, 32 MiB of replaced values.
    fn default() -> HistoryLimits {
        HistoryLimits { count: 10_000, age: Duration::from_secs(600), bytes: 32 * 1024 * 1024 }
    }
}

impl HistoryLimits {
    /// No limits, for tests and for callers that compact explicitly.
    pub fn unlimited() -> HistoryLimits {
        HistoryLimits { count: u64::MAX, age: Duration::MAX, bytes: usize::MAX }
    }
}

/// How many [ledger records](crate::LedgerRecord) a store keeps. Records that exceed any of the three limits are removed in
/// the background, oldest first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LedgerLimits {
    /// The most records per key; zero keeps none.
    pub per_key: usize,
    /// The age at which a record is removed.
    pub age: Duration,
    /// The most bytes of memory for all records, roughly.
    pub bytes: usize,
}

impl Default for LedgerLimits {
    /// A hundred records per key, thirty days, 160 MiB.
    fn default() -> LedgerLimits {
        LedgerLimits { per_key: 100, age: Duration::from_secs(30 * 24 * 3600), bytes: 160 * 1024 * 1024 }
    }
}

impl LedgerLimits {
    /// No limits, for tests.
    pub fn unlimited() -> LedgerLimits {
        LedgerLimits { per_key: usize::MAX, age: Duration::MAX, bytes: usize::MAX }
    }
}
