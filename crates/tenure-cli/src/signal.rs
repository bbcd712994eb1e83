//! The signals that stop a server.

use std::{future::Future, io};

/// Installs the handlers of SIGTERM and SIGINT, and returns a future that waits for one of them.
#[cfg(unix)]
pub fn terminated() -> io::Result<impl Future<Output = ()>> {
    use tokio::signal::unix::{SignalKind, signal};
    let (mut terminate, mut interrupt) = (signal(SignalKind::terminate())?, signal(SignalKind::interrupt())?);
    Ok(async move {
        tokio::select! {
            _ = terminate.recv() => {}
            _ = interrupt.recv() => {}
        }
    })
}

/// Installs the handlers of Ctrl-C and Ctrl-Break, and returns a future that waits for one of them.
#[cfg(windows)]
pub fn terminated() -> io::Result<impl Future<Output = ()>> {
    use tokio::signal::windows::{ctrl_break, ctrl_c};
    let (mut pause, mut interrupt) = (ctrl_break()?, ctrl_c()?);
    Ok(async move {
        tokio::select! {
            _ = pause.recv() => {}
            _ = interrupt.recv() => {}
        }
    })
}
