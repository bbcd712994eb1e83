//! What can go wrong, told to a person: each message says what, where, and what to do next.

use crate::document::Place;
use std::{io, path::PathBuf};

/// Why a command failed.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// Nobody reads the output any more; that is no failure.
    #[error("the output was closed")]
    ClosedOutput,
    /// The output cannot be written.
    #[error("cannot write the output: {0}")]
    Output(io::Error),
    /// A file cannot be read.
    #[error("cannot read {}: {source}", .path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// What the system says.
        source: io::Error,
    },
    /// A file cannot be written.
    #[error("cannot write {}: {source}", .path.display())]
    Write {
        /// The file.
        path: PathBuf,
        /// What the system says.
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
    /// The command line asks for something that cannot be.
    #[error("{0}")]
    Usage(String),
    /// The server could not be run.
    #[error("{0}")]
    Serve(Box<dyn std::error::Error>),
}

impl Error {
    /// Says what is wrong with a document.
    pub fn document(place: &Place, problem: impl ToString) -> Error {
        Error::Document { place: place.clone(), problem: problem.to_string() }
    }

    /// Says what is wrong with the command line.
    pub fn usage(problem: impl Into<String>) -> Error {
        Error::Usage(problem.into())
    }

    /// Says that the output cannot be written, or that nobody reads it.
    pub fn output(error: io::Error) -> Error {
        match error.kind() {
            io::ErrorKind::BrokenPipe => Error::ClosedOutput,
            _ => Error::Output(error),
        }
    }
}
