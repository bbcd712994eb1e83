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
    /// Standard input cannot be read.
    #[error("cannot read standard input: {0}")]
    Input(io::Error),
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
    /// The input and output of the program cannot be set up.
    #[error("cannot start: {0}")]
    Runtime(io::Error),
    /// There is no server to speak to.
    #[error(
        "cannot tell which server to speak to: {problem}; set KUBECONFIG or --kubeconfig, choose a --context, or give a --server"
    )]
    NoConnection {
        /// What is wrong with the configuration.
        problem: String,
    },
    /// The server does not answer.
    #[error("cannot reach {server}: {problem}; is it running, and is this the right context?")]
    Unreachable {
        /// The server.
        server: String,
        /// What went wrong.
        problem: String,
    },
    /// The server refused a request.
    #[error("cannot {verb} {what}: {message}{next}")]
    Refused {
        /// What was to be done.
        verb: String,
        /// With what.
        what: String,
        /// What the server says.
        message: String,
        /// What to do next.
        next: &'static str,
    },
    /// An object is not there.
    #[error(
        "there is no {what} in {place}; look for it with `kubectl get --all-namespaces`, or choose another with -n"
    )]
    Missing {
        /// The object.
        what: String,
        /// Where it was looked for.
        place: String,
    },
    /// A kind is not served.
    #[error("{server} has no kind called {name:?}; `kubectl api-resources` lists those it has")]
    UnknownKind {
        /// The name as given.
        name: String,
        /// The server.
        server: String,
    },
    /// The types that a server publishes cannot be used.
    #[error("the OpenAPI document of {api_version} cannot be used: {problem}")]
    BadSchema {
        /// The group and version.
        api_version: String,
        /// What is wrong with it.
        problem: tenure_schema::SchemaError,
    },
    /// An object that a server showed cannot be read.
    #[error("{what}: {problem}")]
    Strange {
        /// The object.
        what: String,
        /// What is wrong with it.
        problem: tenure_apply::ApplyError,
    },
    /// An object is no longer the one that was looked at.
    #[error("{what} was changed in the meantime; look at it again, then run the command again")]
    ChangedMeanwhile {
        /// The object.
        what: String,
    },
    /// Some objects of many were refused, as was said with each.
    #[error("{number} of {of} refused")]
    SomeRefused {
        /// How many.
        number: usize,
        /// Of how many.
        of: usize,
    },
    /// The command line asks for something that cannot be.
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
    /// Says what is wrong with a document.
    pub fn document(place: &Place, problem: impl ToString) -> Error {
        Error::Document { place: place.clone(), problem: problem.to_string() }
    }

    /// Says what is wrong with an object that a server showed.
    pub fn strange(what: &impl ToString, problem: tenure_apply::ApplyError) -> Error {
        Error::Strange { what: what.to_string(), problem }
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
