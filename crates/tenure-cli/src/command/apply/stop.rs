//! Stopping an apply: on Ctrl-C no further object is written, and those under way are finished, so that the summary is true.

use crate::terminal::Terminal;
use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};
use tenure_client::Mode;
use tokio::task::AbortHandle;

/// The exit code of a command that is interrupted before it writes, or twice, as shells count it.
const INTERRUPTED: i32 = 130;

/// Until it is dropped, Ctrl-C ends the command and says that nothing was written.
pub struct Untouched(AbortHandle);

impl Untouched {
    /// Listens for Ctrl-C.
    pub fn new(terminal: Terminal) -> Untouched {
        let listening = tokio::spawn(async move {
            if tokio::signal::ctrl_c().await.is_ok() {
                terminal.note("\nnothing was written");
                std::process::exit(INTERRUPTED);
            }
        });
        Untouched(listening.abort_handle())
    }
}

impl Drop for Untouched {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// Whether no further object is written.
pub struct Stop(Arc<AtomicBool>);

impl Stop {
    /// Listens for Ctrl-C while objects are written. A second one ends the command at once.
    pub fn new(mode: Mode) -> Stop {
        let stop = Arc::new(AtomicBool::new(false));
        if mode == Mode::Write {
            let stop = stop.clone();
            tokio::spawn(async move {
                while tokio::signal::ctrl_c().await.is_ok() {
                    if stop.swap(true, Ordering::Relaxed) {
                        std::process::exit(INTERRUPTED);
                    }
                }
            });
        }
        Stop(stop)
    }

    /// Stops.
    pub fn set(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    /// Whether the command was stopped.
    pub fn is_set(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}
