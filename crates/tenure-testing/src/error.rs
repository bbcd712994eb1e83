//! The errors of setting up a test server and of reading its objects.

use std::path::PathBuf;

/// An error of a test server.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TestError {
    /// The server refused something; the message is that of its status.
    #[error(transparent)]
    Api(#[from] tenure_meta::ApiError),
    /// A file cannot be read.
    #[error("{path}: {source}", path = path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// A document is not an object that the server could have.
    #[error("{place}: {problem}")]
    Manifest {
        /// The file, or where else the document is from.
        place: String,
        /// What is wrong, and what would be right.
        problem: String,
    },
    /// No kind of this name is served.
    #[error(
        "no kind {kind:?} is served; use a kind such as Deployment, a resource such as deployments.apps, or load its definition first"
    )]
    UnknownKind {
        /// The requested name.
        kind: String,
    },
    /// The revision is not part of the history that the server keeps.
    #[error(transparent)]
    Store(#[from] tenure_store::Error),
    /// The socket cannot be opened.
    #[error("cannot listen: {0}")]
    Listen(std::io::Error),
}
