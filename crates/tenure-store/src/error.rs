//! The crate's one error. It can be cloned because one failed commit is reported to every writer that was in it.

use crate::Revision;
use crate::precondition::Conflict;
use std::path::PathBuf;
use std::sync::Arc;

/// The result of a store operation.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Why the store did not do what was asked.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A key was not as the transaction expected, and nothing was written. Look at what is there and decide anew.
    #[error("{0}")]
    Conflict(Box<Conflict>),

    /// The history before `oldest` has been compacted. Read the current state and go on from its revision.
    #[error("revision {requested} is too old: history is kept from revision {oldest}; list again")]
    TooOld {
        /// The revision asked for.
        requested: Revision,
        /// The oldest revision that can be read, and after which can be watched.
        oldest: Revision,
    },

    /// The revision has not been reached yet, so it cannot have come from this store.
    #[error("revision {requested} is in the future: the store is at revision {current}")]
    Future {
        /// The revision asked for.
        requested: Revision,
        /// The store's revision.
        current: Revision,
    },

    /// The request breaks a limit or contradicts itself. The same request will always fail.
    #[error("invalid request: {0}")]
    Invalid(String),

    /// The write could not be made durable (disk full, read-only, I/O error, etcd unreachable) and was not applied.
    /// Reads still work; the same write may succeed later.
    #[error("the write could not be made durable: {reason}")]
    NotDurable {
        /// What failed.
        reason: Arc<str>,
    },

    /// Whether the write happened could not be found out in time. It was done whole or not at all; reading tells.
    #[error("it is not known whether the write happened: {reason}; read the object before trying again")]
    Unknown {
        /// What failed.
        reason: Arc<str>,
    },

    /// What is behind the store did not answer in time, so the current state is not known. Reads that may be behind
    /// are still served; the same request may succeed later.
    #[error("the store cannot be read: {reason}")]
    Unavailable {
        /// What failed.
        reason: Arc<str>,
    },

    /// Another process holds the directory.
    #[error("{directory}: in use by {holder}; stop it or choose another directory")]
    Locked {
        /// The directory.
        directory: PathBuf,
        /// Who holds it, as far as known.
        holder: String,
    },

    /// The directory was written in a format that this version does not know.
    #[error("{directory}: has format {found}, and this version reads format {supported}; {advice}")]
    UnknownFormat {
        /// The directory.
        directory: PathBuf,
        /// The format found.
        found: String,
        /// The format this version reads.
        supported: u32,
        /// What to do.
        advice: &'static str,
    },

    /// A file is damaged and what it held cannot be trusted.
    #[error("{path}: damaged: {reason}; restore a backup")]
    Damaged {
        /// The file.
        path: PathBuf,
        /// What was found wrong.
        reason: String,
    },

    /// A file operation failed.
    #[error("{path}: cannot {action}: {source}")]
    File {
        /// The file or directory.
        path: PathBuf,
        /// What was attempted.
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
