//! Why something cannot be recorded or read.

use std::{io, path::PathBuf};
use tenure_client::ClientError;

/// A failure of the recorder.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RecorderError {
    /// The store failed; what was to be written is not, and is written again from the same position.
    #[error(transparent)]
    Store(#[from] tenure_store::Error),
    /// The server refused a request or cannot be reached.
    #[error(transparent)]
    Client(#[from] ClientError),
    /// A file of the directory cannot be used.
    #[error("{}: {source}", .path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// The error of the system.
        source: io::Error,
    },
    /// An object of the server, or a part of the directory, is not what it must be.
    #[error("{0}")]
    Invalid(String),
}
