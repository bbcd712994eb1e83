//! Stopping an apply: on Ctrl-C no further object is written, and those under way are finished, so that the summary is true.

use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};
use tenure_client::Mode;

/// The exit code of a command that is interrupted twice, as shells count it.
const INTERRUPTED: i32 = 130;

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
