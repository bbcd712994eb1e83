//! The frames that several watchers get, joined once. Watchers that are woken together are at the same revision: the first of them
//! gathers the frames of everything that has changed, and the others send the same bytes and continue after its last change.

use bytes::Bytes;
use parking_lot::Mutex;
use std::{
    collections::{HashMap, VecDeque},
    sync::{Arc, Weak},
};
use tenure_catalog::ResourceHandler;
use tenure_http::Format;
use tenure_store::Revision;

/// How many batches are kept for watchers that are behind.
const KEPT: usize = 8;

/// What is watched by more than one.
#[derive(Default)]
pub(crate) struct Broadcasts {
    by_stream: Mutex<HashMap<StreamKey, Weak<Broadcast>>>,
}

/// What the watchers of a stream have in common: the prefix of the keys, the selectors, the generation of the rules and the resource by
/// which objects are read, and the format.
type StreamKey = (String, Box<str>, u64, usize, Format);

/// What watchers of the same objects share.
pub(crate) struct Broadcast {
    /// Keeps the resource alive, so that no other resource has its address.
    _handler: ResourceHandler,
    batches: Mutex<VecDeque<SharedBatch>>,
}

/// The frames of all changes from one revision to another.
#[derive(Clone)]
pub(crate) struct SharedBatch {
    pub first: Revision,
    pub last: Revision,
    /// The number of events.
    pub count: u64,
    pub frames: Bytes,
}

impl Broadcasts {
    /// Returns what a watcher of the objects that selectors select shares with the others.
    pub fn join(
        &self,
        prefix: String,
        selectors: &str,
        handler: &ResourceHandler,
        format: Format,
    ) -> Arc<Broadcast> {
        let key =
            (prefix, selectors.into(), handler.generation(), Arc::as_ptr(&handler.resource) as usize, format);
        let mut by_stream = self.by_stream.lock();
        if let Some(known) = by_stream.get(&key).and_then(Weak::upgrade) {
            return known;
        }
        by_stream.retain(|_, stream| stream.strong_count() > 0);
        let stream = Arc::new(Broadcast { _handler: handler.clone(), batches: Mutex::default() });
        by_stream.insert(key, Arc::downgrade(&stream));
        stream
    }
}

impl Broadcast {
    /// Returns the batch that begins with the change of a revision.
    pub fn find(&self, first: Revision) -> Option<SharedBatch> {
        self.batches.lock().iter().rev().find(|batch| batch.first == first).cloned()
    }

    /// Offers a batch to the other watchers.
    pub fn offer(&self, batch: SharedBatch) {
        let mut batches = self.batches.lock();
        // One that is behind the others gathers what nobody else needs.
        let is_old = batches.back().is_some_and(|newest| batch.last <= newest.last);
        if is_old {
            return;
        }
        if batches.len() == KEPT {
            batches.pop_front();
        }
        batches.push_back(batch);
    }
}
