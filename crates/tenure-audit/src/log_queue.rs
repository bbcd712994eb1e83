//! The queue of the log: lines that wait in one buffer for the one thread that writes them.
//!
//! Waking a thread and writing a line cost more than making the line. While events keep coming, the writer therefore collects
//! them for a moment and writes them at once; an event after a pause is written without delay.

use crate::log::LogFile;
use std::{
    sync::{
        Arc, Condvar, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU64, Ordering::Relaxed},
    },
    thread,
    time::Duration,
};
use tokio::sync::oneshot;

/// How many events may wait.
const MAX_EVENTS: usize = 10_000;
/// How many bytes may wait; a single larger event may, too.
const MAX_BYTES: usize = 64 << 20;
/// How long the writer collects events before it writes again.
const COLLECTION_TIME: Duration = Duration::from_millis(10);
/// The capacity above which the buffer is not kept for the next events.
const KEPT_CAPACITY: usize = 1 << 20;

/// The lines that wait.
pub(crate) struct LogQueue {
    waiting: Mutex<Waiting>,
    /// Wakes the writer.
    arrived: Condvar,
    dropped: Arc<AtomicU64>,
}

#[derive(Default)]
struct Waiting {
    /// Lines, one after the other.
    lines: Vec<u8>,
    /// Where each line ends.
    ends: Vec<usize>,
    /// Who waits until everything before is written.
    flushes: Vec<oneshot::Sender<()>>,
    /// Whether the writer sleeps until something arrives.
    is_writer_idle: bool,
    is_closed: bool,
}

impl Waiting {
    fn has_work(&self) -> bool {
        !self.ends.is_empty() || !self.flushes.is_empty() || self.is_closed
    }

    fn is_urgent(&self) -> bool {
        !self.flushes.is_empty() || self.is_closed
    }
}

impl LogQueue {
    /// Starts the thread that writes to a file until the queue is closed.
    pub fn start(file: LogFile, dropped: Arc<AtomicU64>) -> std::io::Result<Arc<LogQueue>> {
        let queue = Arc::new(LogQueue { waiting: Mutex::default(), arrived: Condvar::new(), dropped });
        let writer = queue.clone();
        thread::Builder::new().name("audit-log".into()).spawn(move || writer.write_to(file))?;
        Ok(queue)
    }

    /// Adds a line, given with its end. A line that finds the queue full is counted as dropped.
    pub fn push(&self, line: &[u8]) {
        let mut waiting = self.waiting();
        let is_full = waiting.ends.len() >= MAX_EVENTS || waiting.lines.len() >= MAX_BYTES;
        if is_full || waiting.is_closed {
            self.dropped.fetch_add(1, Relaxed);
            return;
        }
        waiting.lines.extend_from_slice(line);
        let end = waiting.lines.len();
        waiting.ends.push(end);
        self.wake(&mut waiting);
    }

    /// Returns what reports when everything that waits now is written.
    pub fn flush(&self) -> oneshot::Receiver<()> {
        let (done, written) = oneshot::channel();
        let mut waiting = self.waiting();
        waiting.flushes.push(done);
        // It does not wait until the events are collected.
        waiting.is_writer_idle = false;
        self.arrived.notify_one();
        written
    }

    /// Ends the writer once everything that waits is written.
    pub fn close(&self) {
        self.waiting().is_closed = true;
        self.arrived.notify_one();
    }

    fn waiting(&self) -> MutexGuard<'_, Waiting> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Wakes the writer unless it looks by itself before long.
    fn wake(&self, waiting: &mut Waiting) {
        if std::mem::take(&mut waiting.is_writer_idle) {
            self.arrived.notify_one();
        }
    }

    fn write_to(&self, mut file: LogFile) {
        let (mut lines, mut ends) = (Vec::new(), Vec::new());
        let mut reported = 0;
        loop {
            let mut waiting = self.waiting();
            while !waiting.has_work() {
                waiting.is_writer_idle = true;
                waiting = self.arrived.wait(waiting).unwrap_or_else(PoisonError::into_inner);
            }
            waiting.is_writer_idle = false;
            std::mem::swap(&mut waiting.lines, &mut lines);
            std::mem::swap(&mut waiting.ends, &mut ends);
            let flushes = std::mem::take(&mut waiting.flushes);
            let is_closed = waiting.is_closed;
            drop(waiting);

            let lost = file.append(&lines, &ends);
            self.dropped.fetch_add(lost as u64, Relaxed);
            lines.clear();
            lines.shrink_to(KEPT_CAPACITY);
            ends.clear();
            for done in flushes {
                // Who waited may have given up.
                let _ = done.send(());
            }
            let lost = self.dropped.load(Relaxed);
            if lost > reported {
                tracing::error!(lost = lost - reported, "audit events were lost");
                reported = lost;
            }
            if is_closed {
                return;
            }
            let waiting = self.waiting();
            // A timeout and a wake-up lead to the same place.
            let _ = self.arrived.wait_timeout_while(waiting, COLLECTION_TIME, |waiting| !waiting.is_urgent());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::LogOptions;

    fn queue(directory: &std::path::Path) -> (Arc<LogQueue>, Arc<AtomicU64>) {
        let file = LogFile::open(LogOptions::new(directory.join("audit.log"))).unwrap();
        let dropped = Arc::new(AtomicU64::new(0));
        (LogQueue::start(file, dropped.clone()).unwrap(), dropped)
    }

    #[test]
    fn lines_of_many_threads_are_whole_and_in_the_order_of_each() {
        let directory = tempfile::tempdir().unwrap();
        let (queue, dropped) = queue(directory.path());
        thread::scope(|scope| {
            for thread in 0..4 {
                let queue = &queue;
                scope.spawn(move || {
                    for line in 0..1_000 {
                        queue.push(format!("{thread} {line}\n").as_bytes());
                    }
                });
            }
        });
        queue.flush().blocking_recv().unwrap();
        let text = std::fs::read_to_string(directory.path().join("audit.log")).unwrap();
        for thread in 0..4 {
            let prefix = format!("{thread} ");
            let of_thread: Vec<usize> =
                text.lines().filter_map(|line| line.strip_prefix(&prefix)?.parse().ok()).collect();
            assert!(of_thread.iter().copied().eq(0..1_000), "{of_thread:?}");
        }
        assert_eq!((text.lines().count(), dropped.load(Relaxed)), (4_000, 0));
    }

    #[test]
    fn what_does_not_fit_is_counted() {
        let directory = tempfile::tempdir().unwrap();
        let dropped = Arc::new(AtomicU64::new(0));
        // No writer takes anything out of this one.
        let queue = LogQueue { waiting: Mutex::default(), arrived: Condvar::new(), dropped: dropped.clone() };
        for _ in 0..MAX_EVENTS + 7 {
            queue.push(b"x\n");
        }
        assert_eq!(dropped.load(Relaxed), 7);
        queue.close();
        queue.write_to(LogFile::open(LogOptions::new(directory.path().join("audit.log"))).unwrap());
        let text = std::fs::read_to_string(directory.path().join("audit.log")).unwrap();
        assert_eq!(text.lines().count(), MAX_EVENTS);
    }

    #[test]
    fn an_event_after_a_pause_is_written_without_a_flush() {
        let directory = tempfile::tempdir().unwrap();
        let (queue, _) = queue(directory.path());
        queue.push(b"one\n");
        let path = directory.path().join("audit.log");
        let deadline = std::time::Instant::now() + Duration::from_secs(20);
        while std::fs::read_to_string(&path).unwrap_or_default() != "one\n" {
            assert!(std::time::Instant::now() < deadline, "the line is written");
            thread::yield_now();
        }
    }
}
