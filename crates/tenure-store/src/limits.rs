//! Every limit of the store, in one place. They hold for all implementations, so that data written through
//! one can be moved to another.

use std::time::Duration;

/// The longest key, in bytes.
pub const MAX_KEY: usize = 2048;

/// The largest value, in bytes.
pub const MAX_VALUE: usize = 4 * 1024 * 1024;

/// The most operations in one transaction.
/// Below the 128 that etcd takes by default: a store there adds some of its own.
pub const MAX_OPERATIONS: usize = 120;

/// How many matching revisions a watched prefix remembers, so that its watchers need not search the history.
pub(crate) const RECENT_MATCHES: usize = 1024;

/// How many entries a listing copies before it lets writers pass.
pub(crate) const LIST_STRIDE: usize = 1024;

/// How many commits a late watcher searches before it lets writers pass.
pub(crate) const SCAN_STRIDE: u64 = 4096;

/// How many transactions the embedded store puts into one durable commit at most.
pub(crate) const BATCH_COUNT: usize = 512;

/// After how many bytes the embedded store closes a batch.
pub(crate) const BATCH_BYTES: usize = 4 * 1024 * 1024;

/// How many transactions may wait for the embedded store's disk; further writers wait before they are queued.
pub(crate) const WAITING_WRITERS: usize = 4096;

/// How many old transactions an embedded store forgets in one step beside twice as many as it writes.
pub(crate) const FORGET_STEP: usize = 128;

/// By how much a restored store's revision is above that of its backup: more than can have been written since.
pub(crate) const RESTORE_GAP: u64 = 1_000_000_000_000;

/// How much history a store keeps by itself. A commit that exceeds any of the three is forgotten, oldest first;
/// the current state always stays.
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
    /// Limits that never forget anything by themselves; for tests and for callers who compact on their own.
    pub fn unlimited() -> HistoryLimits {
        HistoryLimits { count: u64::MAX, age: Duration::MAX, bytes: usize::MAX }
    }
}
