//! The frames that several watchers get, joined once. Watchers that are woken together are at the same revision: the first of them
//! gathers the frames of everything that has changed, and the others send the same bytes and continue after its last change.

use bytes::Bytes;
use std::sync::Arc;
use tenure_catalog::{Cache, ResourceHandler};
use tenure_http::Format;
use tenure_store::Revision;

/// The most bytes of all batches together.
const CAPACITY: usize = 6 * 1024 * 1024;
/// The weight of a batch besides its frames and the text of its stream.
const OVERHEAD: usize = 256;

/// The newest batches.
pub(crate) struct Broadcasts(Cache<(Arc<Stream>, Revision), SharedBatch>);

/// What the watchers of a stream have in common: the prefix of the keys, the selectors, the generation of the rules and the resource by
/// which objects are read, and the format.
#[derive(PartialEq, Eq, Hash)]
pub(crate) struct Stream {
    prefix: String,
    selectors: Box<str>,
    generation: u64,
    resource: usize,
    format: Format,
}

/// The frames of all changes up to a revision.
#[derive(Clone)]
pub(crate) struct SharedBatch {
    pub last: Revision,
    /// The number of events.
    pub count: u64,
    pub frames: Bytes,
    /// Keeps the resource alive, so that no other resource has its address.
    _handler: ResourceHandler,
    weight: usize,
}

impl Stream {
    /// Returns the stream of the objects that selectors select.
    pub fn new(prefix: String, selectors: &str, handler: &ResourceHandler, format: Format) -> Arc<Stream> {
        let resource = Arc::as_ptr(&handler.resource) as usize;
        Arc::new(Stream {
            prefix,
            selectors: selectors.into(),
            generation: handler.generation(),
            resource,
            format,
        })
    }
}

impl Default for Broadcasts {
    fn default() -> Broadcasts {
        Broadcasts(Cache::new(CAPACITY, |batch| batch.weight))
    }
}

impl Broadcasts {
    /// Returns the batch of a stream that begins with the change of a revision.
    pub fn find(&self, stream: &Arc<Stream>, first: Revision) -> Option<SharedBatch> {
        self.0.get(&(stream.clone(), first))
    }

    /// Offers the frames of the changes from one revision to another to the other watchers of a stream.
    pub fn offer(
        &self,
        stream: &Arc<Stream>,
        (first, last): (Revision, Revision),
        (count, frames): (u64, Bytes),
        handler: &ResourceHandler,
    ) {
        let weight = OVERHEAD + stream.prefix.len() + stream.selectors.len() + frames.len();
        let batch = SharedBatch { last, count, frames, _handler: handler.clone(), weight };
        self.0.insert(&(stream.clone(), first), batch);
    }

    pub fn drop_unread(&self) {
        self.0.drop_unread();
    }
}
