//! Errors for the person at the terminal: each message says what is wrong, where, and what to do next.

use crate::place::Place;
use std::{io, path::PathBuf};
use tenure_client::ClientError;
use tenure_ownership::OwnershipError;

/// Why a command failed.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The reader of the output closed it; this is not reported.
    #[error("the output was closed")]
    ClosedOutput,
    /// The output cannot be written.
    #[error("cannot write the output: {0}")]
    Output(io::Error),
    /// Standard input cannot be read.
    #[error("cannot read standard input: {0}")]
    Input(io::Error),
    /// A file cannot be read.
    #[error("cannot read {}: {source}", .path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// The error of the system.
        source: io::Error,
    },
    /// A file cannot be written.
    #[error("cannot write {}: {source}", .path.display())]
    Write {
        /// The file.
        path: PathBuf,
        /// The error of the system.
        source: io::Error,
    },
    /// A document is not what the command needs.
    #[error("{place}: {problem}")]
    Document {
        /// Where it was read.
        place: Place,
        /// What is wrong, and what would be right.
        problem: String,
    },
    /// The async runtime cannot be started.
    #[error("cannot start: {0}")]
    Runtime(io::Error),
    /// A request to the server failed.
    #[error(transparent)]
    Client(#[from] ClientError),
    /// Ownership cannot be moved or explained as requested.
    #[error(transparent)]
    Ownership(#[from] OwnershipError),
    /// Some objects were refused; each was reported.
    #[error("{number} of {total} refused")]
    SomeRefused {
        /// How many.
        number: usize,
        /// Of how many.
        total: usize,
    },
    /// The command was stopped before every object was written; the summary was printed.
    #[error("stopped: {left} of {all} objects were not written; the same command continues with them")]
    Stopped {
        /// How many were not written.
        left: usize,
        /// Of how many.
        all: usize,
    },
    /// The command line is wrong.
    #[error("{0}")]
    Usage(String),
    /// A store could not be moved.
    #[cfg(feature = "etcd")]
    #[error("{0}")]
    Store(Box<dyn std::error::Error>),
    /// The server could not be run.
    #[error("{0}")]
    Serve(Box<dyn std::error::Error>),
}

impl Error {
    /// Returns the error of a document.
    pub fn document(place: &Place, problem: impl ToString) -> Error {
        Error::Document { place: place.clone(), problem: problem.to_string() }
    }

    /// Returns the error of a wrong command line.
    pub fn usage(problem: impl Into<String>) -> Error {
        Error::Usage(problem.into())
    }

    /// Returns the error of writing output.
    pub fn output(error: io::Error) -> Error {
        match error.kind() {
            io::ErrorKind::BrokenPipe => Error::ClosedOutput,
            _ => Error::Output(error),
        }
    }
}
