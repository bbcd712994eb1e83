//! Watching: the request, and the stream that every implementation gives.

use crate::{Changes, Result, Revision};
use async_trait::async_trait;
use bytes::Bytes;
use std::fmt;
use std::time::Duration;

/// Asks for every change under a prefix.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct WatchRequest {
    /// What the keys start with; empty for all.
    pub prefix: Bytes,
    /// The revision after which changes are given; none for the current one.
    pub after: Option<Revision>,
    /// How long without a change until a progress mark is given; none for no such marks.
    pub progress: Option<Duration>,
}

impl WatchRequest {
    /// Asks for all further changes under a prefix.
    pub fn prefix(prefix: impl Into<Bytes>) -> WatchRequest {
        WatchRequest { prefix: prefix.into(), ..WatchRequest::default() }
    }

    /// Starts after this revision.
    pub fn after(self, revision: Revision) -> WatchRequest {
        WatchRequest { after: Some(revision), ..self }
    }

    /// Marks progress when nothing changed for so long.
    pub fn progress(self, every: Duration) -> WatchRequest {
        WatchRequest { progress: Some(every), ..self }
    }
}

/// What a watch gives.
#[derive(Clone, Debug, PartialEq)]
pub enum Signal {
    /// A transaction changed something under the prefix.
    Changes(Changes),
    /// Everything up to this revision has been given.
    Progress(Revision),
}

impl Signal {
    /// Returns the revision after which a new watch would go on from here.
    pub fn revision(&self) -> Revision {
        match self {
            Signal::Changes(changes) => changes.revision(),
            Signal::Progress(revision) => *revision,
        }
    }
}

/// Where an implementation's watch gets its signals from.
#[async_trait]
pub trait WatchSource: Send {
    /// Waits for the next signal. Dropping the future before it is ready must lose nothing.
    async fn next(&mut self) -> Result<Signal>;

    /// Returns a revision up to which everything has been given, as new as can be told without waiting.
    fn progress(&mut self) -> Revision;
}

/// The changes under a prefix: every one, in order, exactly once.
///
/// Nothing is queued for a slow watcher: it reads on in the store's history, and if that has been compacted
/// past its place it ends with [`Error::TooOld`](crate::Error::TooOld).
pub struct Watch {
    source: Box<dyn WatchSource>,
}

impl Watch {
    /// Makes a watch of an implementation's source.
    pub fn new(source: impl WatchSource + 'static) -> Watch {
        Watch { source: Box::new(source) }
    }

    /// Waits for the next signal. Dropping the future loses nothing, so this may stand in a `select!`. After an
    /// error the watch is over.
    pub async fn next(&mut self) -> Result<Signal> {
        self.source.next().await
    }

    /// Returns a revision up to which everything has been given: the store's current one unless changes wait.
    pub fn progress(&mut self) -> Revision {
        self.source.progress()
    }
}

impl fmt::Debug for Watch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Watch").finish_non_exhaustive()
    }
}
