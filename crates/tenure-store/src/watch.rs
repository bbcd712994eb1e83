//! Watching: the request, and the stream of changes.

use crate::{Changes, Result, Revision};
use async_trait::async_trait;
use bytes::Bytes;
use std::fmt;
use std::time::Duration;

/// A request for every change under a prefix.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct WatchRequest {
    /// The prefix of the keys; empty for all keys.
    pub prefix: Bytes,
    /// The revision after which changes are delivered; `None` for the current one.
    pub after: Option<Revision>,
    /// The time without a change after which a progress mark is delivered; `None` for no marks.
    pub progress: Option<Duration>,
}

impl WatchRequest {
    /// Requests all further changes under a prefix.
    pub fn prefix(prefix: impl Into<Bytes>) -> WatchRequest {
        WatchRequest { prefix: prefix.into(), ..WatchRequest::default() }
    }

    /// Starts after this revision.
    pub fn after(self, revision: Revision) -> WatchRequest {
        WatchRequest { after: Some(revision), ..self }
    }

    /// Requests progress marks after this time without a change.
    pub fn progress(self, every: Duration) -> WatchRequest {
        WatchRequest { progress: Some(every), ..self }
    }
}

/// An item of a watch.
#[derive(Clone, Debug, PartialEq)]
pub enum Signal {
    /// A transaction changed something under the prefix.
    Changes(Changes),
    /// Everything up to this revision has been delivered.
    Progress(Revision),
}

impl Signal {
    /// Returns the revision after which a new watch would continue from here.
    pub fn revision(&self) -> Revision {
        match self {
            Signal::Changes(changes) => changes.revision(),
            Signal::Progress(revision) => *revision,
        }
    }
}

/// The source of the signals of a watch, for implementations of the store.
#[async_trait]
pub trait WatchSource: Send {
    /// Waits for the next signal. Dropping the future before it is ready must lose nothing.
    async fn next(&mut self) -> Result<Signal>;

    /// Returns a revision up to which everything has been delivered, as new as is known without waiting.
    fn progress(&mut self) -> Revision;

    /// Continues after a revision: everything up to it has been delivered in another way.
    fn skip_to(&mut self, revision: Revision);

    /// Returns the number of watchers that the same changes wake.
    fn audience(&self) -> usize;
}

/// The changes under a prefix: every one, in order, exactly once.
///
/// Nothing is queued for a slow watcher: it reads the store's history, and if that has been compacted past its position it ends
/// with [`Error::TooOld`](crate::Error::TooOld).
pub struct Watch {
    source: Box<dyn WatchSource>,
}

impl Watch {
    /// Creates a watch from its source.
    pub fn new(source: impl WatchSource + 'static) -> Watch {
        Watch { source: Box::new(source) }
    }

    /// Waits for the next signal. Dropping the future loses nothing, so that this can be used in a `select!`. An error ends the
    /// watch.
    pub async fn next(&mut self) -> Result<Signal> {
        self.source.next().await
    }

    /// Returns a revision up to which everything has been delivered: the store's current one unless changes are pending.
    pub fn progress(&mut self) -> Revision {
        self.source.progress()
    }

    /// Continues after a revision, for a watcher that got the changes up to it from another one; does nothing if it is further.
    pub fn skip_to(&mut self, revision: Revision) {
        self.source.skip_to(revision);
    }

    /// Returns the number of watchers that the same changes wake, this one included.
    pub fn audience(&self) -> usize {
        self.source.audience()
    }
}

impl fmt::Debug for Watch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Watch").finish_non_exhaustive()
    }
}
