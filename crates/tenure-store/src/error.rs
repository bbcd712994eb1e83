//! The error of the crate. It can be cloned because one failed batch is reported to every writer in it.

use crate::Revision;
use crate::precondition::Conflict;
use std::path::PathBuf;
use std::sync::Arc;

/// The result of a store operation.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Why an operation failed.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A precondition of the transaction does not hold, and nothing was written. Retry with the current entry.
    #[error("{0}")]
    Conflict(Box<Conflict>),

    /// The history before `oldest` has been compacted. List again and watch from that revision.
    #[error("revision {requested} is too old: history is kept from revision {oldest}; list again")]
    TooOld {
        /// The requested revision.
        requested: Revision,
        /// The oldest revision that can be read, and after which changes can be watched.
        oldest: Revision,
    },

    /// The store has not reached the revision, so that it cannot have come from this store.
    #[error("revision {requested} is in the future: the store is at revision {current}")]
    Future {
        /// The requested revision.
        requested: Revision,
        /// The store's revision.
        current: Revision,
    },

    /// The request exceeds a limit or contradicts itself. The same request will always fail.
    #[error("invalid request: {0}")]
    Invalid(String),

    /// The write could not be made durable (disk full, read-only, I/O error, etcd unreachable) and was not applied.
    /// Reads still work; the same write may succeed later.
    #[error("the write could not be made durable: {reason}")]
    NotDurable {
        /// The cause.
        reason: Arc<str>,
    },

    /// The outcome of the write could not be determined in time. It was applied completely or not at all; read to find out.
    #[error("the outcome of the write is unknown: {reason}; read the object before retrying")]
    Unknown {
        /// The cause.
        reason: Arc<str>,
    },

    /// The storage behind the store did not answer in time, so that the current state is unknown. Reads that may be stale
    /// still work; the same request may succeed later.
    #[error("the store cannot be read: {reason}")]
    Unavailable {
        /// The cause.
        reason: Arc<str>,
    },

    /// The store is a view of the past and accepts no writes.
    #[error("the store is a read-only view of revision {revision}")]
    ReadOnly {
        /// The revision of the view.
        revision: Revision,
    },

    /// A stored value cannot be decrypted with the configured keys.
    #[error("{key}: cannot be decrypted: {reason}")]
    Undecryptable {
        /// The key of the entry.
        key: String,
        /// What is missing or wrong.
        reason: String,
    },

    /// Another process holds the directory.
    #[error("{directory}: in use by {holder}; stop it or choose another directory")]
    Locked {
        /// The directory.
        directory: PathBuf,
        /// The process that holds it, as far as known.
        holder: String,
    },

    /// The directory has a format that this version does not support.
    #[error("{directory}: has format {found}, and this version reads format {supported}; {advice}")]
    UnknownFormat {
        /// The directory.
        directory: PathBuf,
        /// The format found.
        found: String,
        /// The supported format.
        supported: u32,
        /// What to do.
        advice: &'static str,
    },

    /// A file is missing or damaged, and the store cannot be opened without losing data. Nothing was removed.
    #[error(
        "{path}: damaged: {reason}; nothing was removed. Restore a backup, or put the file back; `tenure store repair` \
         keeps what can still be read and reports what is lost"
    )]
    Damaged {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        reason: String,
    },

    /// A file operation failed.
    #[error("{path}: cannot {action}: {source}")]
    File {
        /// The file or directory.
        path: PathBuf,
        /// The operation.
        action: &'static str,
        /// The system's error.
        #[source]
        source: Arc<std::io::Error>,
    },

    /// The store has been closed.
    #[error("the store is closed")]
    Closed,
}

impl Error {
    /// The answer to a write while the store is frozen.
    pub(crate) fn frozen() -> Error {
        let reason = "the store is frozen for a move and accepts no writes; `tenure store thaw` unfreezes it";
        Error::NotDurable { reason: reason.into() }
    }

    /// Returns the conflict, if this is one.
    pub fn conflict(&self) -> Option<&Conflict> {
        match self {
            Error::Conflict(conflict) => Some(conflict),
            _ => None,
        }
    }
}
