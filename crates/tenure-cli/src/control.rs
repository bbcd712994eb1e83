//! Requests of commands to a server that runs on the same machine and has the store locked.

#[cfg(unix)]
pub use crate::control_socket::{listen, request};

/// A request to a running server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Request {
    /// Send a backup.
    Export,
    /// Refuse writes from now on, and send a backup.
    ExportFrozen,
    /// Accept writes again.
    Thaw,
}

/// There is no such socket on Windows: exports need a stopped server.
#[cfg(windows)]
pub fn listen(_directory: &std::path::Path, _store: std::sync::Arc<tenure_store::EmbeddedStore>) {}

/// No server can be asked.
#[cfg(windows)]
pub fn request(_directory: &std::path::Path, _request: Request) -> std::io::Result<Option<std::io::Empty>> {
    Ok(None)
}
