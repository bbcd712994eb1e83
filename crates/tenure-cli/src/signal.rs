//! The signals that stop a server.

use std::{future::Future, io};
use tokio::signal::unix::{SignalKind, signal};

/// Installs the handlers of SIGTERM and SIGINT, and returns a future that waits for one of them.
pub fn terminated() -> io::Result<impl Future<Output = ()>> {
    let (mut terminate, mut interrupt) = (signal(SignalKind::terminate())?, signal(SignalKind::interrupt())?);
    Ok(async move {
        tokio::select! {
            _ = terminate.recv() => {}
            _ = interrupt.recv() => {}
        }
    })
}
