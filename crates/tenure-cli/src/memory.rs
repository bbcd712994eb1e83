//! Gives memory back to the system. The allocator does so a second after something was freed, but only while threads allocate
//! or when one ends: a server that is idle would keep what its start or its last load took.

use std::{hint::black_box, thread, time::Duration};

/// How often freed memory is given back.
const PERIOD: Duration = Duration::from_secs(5);

/// Gives freed memory back for as long as the server runs.
pub async fn release() {
    loop {
        tokio::time::sleep(PERIOD).await;
        // Only a thread that has allocated something is known to the allocator.
        let ended =
            thread::Builder::new().name("memory-release".to_owned()).spawn(|| drop(black_box(Box::new(0))));
        if let Err(error) = ended {
            tracing::debug!(%error, "no thread to give memory back");
        }
    }
}
