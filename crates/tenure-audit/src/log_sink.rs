//! The way of an event to the log: by the queue, or at once.

use crate::{LogMode, LogOptions, log::LogFile, log_queue::LogQueue};
use std::{
    io,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicU64, Ordering::Relaxed},
    },
};

/// The log of an auditor.
pub(crate) enum LogSink {
    /// Lines wait until they are written together.
    Batch(Arc<LogQueue>),
    /// Whoever records an event writes its line.
    Blocking { file: Mutex<LogFile>, dropped: Arc<AtomicU64> },
}

impl LogSink {
    /// Opens the log. Lines that are lost are added to `dropped`.
    pub fn open(options: LogOptions, dropped: Arc<AtomicU64>) -> io::Result<LogSink> {
        let mode = options.mode;
        let file = LogFile::open(options)?;
        Ok(match mode {
            LogMode::Batch => LogSink::Batch(LogQueue::start(file, dropped)?),
            LogMode::Blocking => LogSink::Blocking { file: Mutex::new(file), dropped },
        })
    }

    /// Adds a line, given with its end.
    pub fn push(&self, line: &[u8]) {
        match self {
            LogSink::Batch(queue) => queue.push(line),
            LogSink::Blocking { file, dropped } => {
                let lost = file.lock().unwrap_or_else(PoisonError::into_inner).append(line, &[line.len()]);
                dropped.fetch_add(lost as u64, Relaxed);
            }
        }
    }

    /// Waits until the lines so far are written.
    pub async fn flush(&self) {
        if let LogSink::Batch(queue) = self {
            // An error means that the writer has ended.
            let _ = queue.flush().await;
        }
    }
}

impl Drop for LogSink {
    fn drop(&mut self) {
        if let LogSink::Batch(queue) = self {
            queue.close();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_blocking_log_has_the_line_at_once_and_counts_what_it_cannot_write() {
        let directory = tempfile::tempdir().unwrap();
        let dropped = Arc::new(AtomicU64::new(0));
        let open = |path: &std::path::Path| {
            LogSink::open(LogOptions { mode: LogMode::Blocking, ..LogOptions::new(path) }, dropped.clone())
        };
        let path = directory.path().join("audit.log");
        let log = open(&path).unwrap();
        log.push(b"one\n");
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "one\n");
        log.push(b"two\n");
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "one\ntwo\n");
        assert_eq!(dropped.load(Relaxed), 0);
        open("/dev/full".as_ref()).unwrap().push(b"three\n");
        assert_eq!(dropped.load(Relaxed), 1);
    }
}
