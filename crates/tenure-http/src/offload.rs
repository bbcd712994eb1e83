//! Requests that take long to compute. A worker of the runtime serves all connections in turn, so that one request that computes
//! for a second would keep health checks and signals waiting for as long. Such a request gives its worker to others while it
//! computes, and no more of them compute at once than there are processors.

use std::{
    cell::Cell,
    future::{Future, poll_fn},
    pin::pin,
    task::Poll,
};
use tokio::{
    runtime::{Handle, RuntimeFlavor},
    sync::Semaphore,
    task::block_in_place,
};

thread_local! {
    /// Whether this thread computes for a request that has its turn. What that waits for must not wait for another turn: all turns could
    /// be those of requests that wait.
    static COMPUTES: Cell<bool> = const { Cell::new(false) };
}

/// Lets few requests compute at a time.
pub struct Offload(Semaphore);

impl Default for Offload {
    fn default() -> Offload {
        let processors = std::thread::available_parallelism().map_or(1, usize::from);
        Offload(Semaphore::new(processors))
    }
}

/// From this many bytes on, work on them may take a millisecond: to parse, convert or print a byte takes some nanoseconds.
pub const LARGE: usize = 64 << 10;

impl Offload {
    /// Runs a future that works on so many bytes: here if they are few.
    pub async fn run_for<F: Future>(&self, bytes: usize, future: F) -> F::Output {
        if bytes > LARGE { self.run(future).await } else { future.await }
    }

    /// Runs a future that may compute for long between its pauses. Part of such a future may be another one.
    pub async fn run<F: Future>(&self, future: F) -> F::Output {
        let mut future = pin!(future);
        // A runtime of one thread has no other worker.
        if COMPUTES.get() || Handle::current().runtime_flavor() == RuntimeFlavor::CurrentThread {
            return future.await;
        }
        loop {
            // The semaphore is never closed.
            let permit = self.0.acquire().await;
            let polled = poll_fn(|context| {
                Poll::Ready(block_in_place(|| {
                    let _computing = Computing::begin();
                    future.as_mut().poll(context)
                }))
            });
            match polled.await {
                Poll::Ready(output) => return output,
                Poll::Pending => drop(permit),
            }
            until_woken().await;
        }
    }
}

/// A thread that computes, until this is dropped, also by a panic.
struct Computing;

impl Computing {
    fn begin() -> Computing {
        COMPUTES.set(true);
        Computing
    }
}

impl Drop for Computing {
    fn drop(&mut self) {
        COMPUTES.set(false);
    }
}

/// Computes what may take long, and gives the worker to others meanwhile.
pub fn compute<T>(compute: impl FnOnce() -> T) -> T {
    match Handle::try_current().map(|handle| handle.runtime_flavor()) {
        Ok(RuntimeFlavor::MultiThread) => block_in_place(compute),
        _ => compute(),
    }
}

/// Waits until the task is woken: what it waits for has its waker.
async fn until_woken() {
    let mut is_woken = false;
    poll_fn(|_| if std::mem::replace(&mut is_woken, true) { Poll::Ready(()) } else { Poll::Pending }).await;
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::{
        sync::Arc,
        time::{Duration, Instant},
    };
    use tokio::sync::mpsc;

    #[tokio::test(flavor = "multi_thread", worker_threads = 1)]
    async fn others_run_while_a_request_computes() {
        let offload = Arc::new(Offload::default());
        let (started, mut start) = mpsc::channel(1);
        let (release, released) = std::sync::mpsc::channel::<()>();
        let computing = tokio::spawn(async move {
            offload
                .run(async move {
                    tokio::task::yield_now().await;
                    started.send(()).await.unwrap();
                    // The only worker is blocked until another task has run.
                    released.recv_timeout(Duration::from_secs(60)).unwrap();
                    tokio::time::sleep(Duration::from_millis(1)).await;
                    7
                })
                .await
        });
        start.recv().await.unwrap();
        let begin = Instant::now();
        tokio::spawn(async move { release.send(()).unwrap() }).await.unwrap();
        assert_eq!(computing.await.unwrap(), 7);
        assert!(begin.elapsed() < Duration::from_secs(60));
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn what_computes_within_a_turn_takes_no_other() {
        let offload = Arc::new(Offload::default());
        let running = (0..64).map(|_| {
            let offload = offload.clone();
            tokio::spawn(async move {
                let inner = offload.clone();
                offload.run(async move { inner.run_for(usize::MAX, tokio::task::yield_now()).await }).await;
            })
        });
        for task in running.collect::<Vec<_>>() {
            tokio::time::timeout(Duration::from_secs(60), task).await.unwrap().unwrap();
        }
    }
}
