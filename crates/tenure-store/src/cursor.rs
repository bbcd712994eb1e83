//! The watch of a store: a position in the history, not a queue. A slow watcher therefore costs nothing and a dropped future
//! loses nothing; only compaction can overtake it.

use crate::shared_state::{Place, SharedState};
use crate::watch::{Signal, WatchSource};
use crate::{Result, Revision, Watch, WatchRequest};
use async_trait::async_trait;
use std::sync::Arc;
use std::time::Duration;
use tokio::time::Instant;

/// Opens a watch.
pub(crate) fn watch(state: &Arc<SharedState>, request: &WatchRequest) -> Result<Watch> {
    let place = state.join(&request.prefix, request.after)?;
    let marks = request.progress.map(|every| Marks { every, due: None });
    Ok(Watch::new(Cursor { state: state.clone(), place, marks }))
}

struct Cursor {
    state: Arc<SharedState>,
    place: Place,
    marks: Option<Marks>,
}

/// When the next progress mark is due; the interval begins with the first wait after a signal.
struct Marks {
    every: Duration,
    due: Option<Instant>,
}

impl Cursor {
    fn due(&mut self) -> Option<Instant> {
        let marks = self.marks.as_mut()?;
        Some(*marks.due.get_or_insert_with(|| Instant::now() + marks.every))
    }

    /// Returns the next changes, if there are any.
    fn poll(&mut self) -> Result<Option<Signal>> {
        if !self.place.topic.has_news(self.place.seen) {
            return Ok(None);
        }
        let changes = self.state.next(&mut self.place)?;
        Ok(changes.map(|changes| self.deliver(Signal::Changes(changes))))
    }

    fn deliver(&mut self, signal: Signal) -> Signal {
        if let Some(marks) = &mut self.marks {
            marks.due = None;
        }
        signal
    }
}

#[async_trait]
impl WatchSource for Cursor {
    async fn next(&mut self) -> Result<Signal> {
        let topic = self.place.topic.clone();
        loop {
            if let Some(signal) = self.poll()? {
                return Ok(signal);
            }
            let changed = topic.changed.notified();
            tokio::pin!(changed);
            // From here on no notification is missed; a change from just before is found by the check.
            if changed.as_mut().enable() {
                topic.pass_on(self.place.seen);
                continue;
            }
            if topic.has_news(self.place.seen) {
                continue;
            }
            let Some(due) = self.due() else {
                changed.await;
                topic.pass_on(self.place.seen);
                continue;
            };
            tokio::select! {
                () = changed => topic.pass_on(self.place.seen),
                () = tokio::time::sleep_until(due) => {
                    // A change may have arrived at this moment; it precedes the mark.
                    if let Some(signal) = self.poll()? {
                        return Ok(signal);
                    }
                    self.state.catch_up(&mut self.place);
                    let seen = self.place.seen;
                    return Ok(self.deliver(Signal::Progress(seen)));
                }
            }
        }
    }

    fn progress(&mut self) -> Revision {
        self.state.catch_up(&mut self.place);
        self.place.seen
    }

    fn skip_to(&mut self, revision: Revision) {
        self.place.seen = self.place.seen.max(revision);
    }

    fn audience(&self) -> usize {
        self.place.topic.watchers()
    }
}

impl Drop for Cursor {
    fn drop(&mut self) {
        self.state.leave(&self.place);
    }
}

#[cfg(test)]
mod tests {
    use crate::{Expected, MemoryStore, Signal, Store, Transaction, WatchRequest};
    use std::{sync::Arc, time::Duration};
    use tokio::time::timeout;

    /// Many watchers, who are woken by each other. Some stop waiting for a moment, some leave, and all others see every change.
    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn many_watchers_see_every_change_though_others_leave() {
        const CHANGES: u64 = 60;
        let store = Arc::new(MemoryStore::new());
        let start = store.revision().await.unwrap();
        let mut watchers = Vec::new();
        for number in 0..200_u64 {
            let mut watch = store.watch(WatchRequest::prefix("a/").after(start)).await.unwrap();
            let last = if number % 5 == 0 { number % CHANGES } else { CHANGES };
            watchers.push(tokio::spawn(async move {
                let (mut seen, mut attempt) = (0, number);
                while seen < last {
                    attempt += 1;
                    let patience = Duration::from_micros(if attempt % 3 == 0 { 50 } else { 60_000_000 });
                    match timeout(patience, watch.next()).await {
                        Ok(Ok(Signal::Changes(_))) => seen += 1,
                        Ok(other) => panic!("{other:?}"),
                        Err(_) if attempt % 3 == 0 => {}
                        Err(_) => panic!("watcher {number} was not woken after {seen} changes"),
                    }
                }
            }));
        }
        for number in 0..CHANGES {
            let put = Transaction::new().put(format!("a/{number}"), Expected::Absent, "value");
            store.commit(put).await.unwrap();
            if number % 7 == 0 {
                tokio::time::sleep(Duration::from_millis(2)).await;
            }
        }
        for watcher in watchers {
            watcher.await.unwrap();
        }
    }
}
