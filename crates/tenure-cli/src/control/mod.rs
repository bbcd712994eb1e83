//! Requests of commands to a server that runs on the same machine and has the store locked.

mod request;
#[cfg(unix)]
mod socket;

pub use request::Request;
#[cfg(unix)]
pub use socket::{listen, request};

/// There is no such socket on Windows: exports need a stopped server.
#[cfg(windows)]
pub fn listen(_directory: &std::path::Path, _store: std::sync::Arc<tenure_store::EmbeddedStore>) {}

/// No server can be asked.
#[cfg(windows)]
pub fn request(_directory: &std::path::Path, _request: Request) -> std::io::Result<Option<std::io::Empty>> {
    Ok(None)
}
