//! How large collections are, roughly and as of a moment ago. A list of a large one takes long, however it is asked for: it takes
//! more seats, and it computes where it does not keep others waiting.

use crate::object::prefix;
use parking_lot::Mutex;
use std::{
    collections::HashMap,
    sync::Arc,
    time::{Duration, Instant},
};
use tenure_meta::Resource;
use tenure_store::{ListRequest, Store};

/// How long a size is taken to be as it was, and how many writes of any objects may have come since.
const FRESH: (Duration, u64) = (Duration::from_secs(60), 1000);
/// How many objects are looked at to learn their average size.
const SAMPLE: usize = 100;

/// The size of a collection.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CollectionSize {
    /// How many objects there are, in all namespaces.
    pub objects: u64,
    /// The bytes of a stored object, on average.
    pub object_bytes: u64,
}

impl CollectionSize {
    /// Returns the bytes of all objects.
    pub fn bytes(&self) -> u64 {
        self.objects.saturating_mul(self.object_bytes)
    }
}

/// The sizes of the collections that were asked for.
pub struct CollectionSizes {
    store: Arc<dyn Store>,
    /// By the prefix of the collection in the store: when it was counted, at which revision, and the size.
    known: Mutex<HashMap<String, (Instant, u64, CollectionSize)>>,
}

impl CollectionSizes {
    /// Creates the sizes of a store, which are counted when they are asked for.
    pub fn new(store: Arc<dyn Store>) -> CollectionSizes {
        CollectionSizes { store, known: Mutex::default() }
    }

    /// Returns the size of the collection of a resource.
    pub async fn of(&self, resource: &Resource) -> CollectionSize {
        let prefix = prefix(resource, "");
        let revision = self.store.known();
        let is_fresh = |time: &Instant, at: &u64| {
            time.elapsed() < FRESH.0 && revision.get().saturating_sub(*at) < FRESH.1
        };
        if let Some((time, at, size)) = self.known.lock().get(&prefix)
            && is_fresh(time, at)
        {
            return *size;
        }
        let mut list = ListRequest::prefix(prefix.clone());
        (list.limit, list.at) = (Some(SAMPLE), Some(revision));
        // The request itself reports an error.
        let Ok(listing) = self.store.list(list).await else { return CollectionSize::default() };
        let sample = listing.entries.len() as u64;
        let bytes: u64 = listing.entries.iter().map(|entry| entry.value.len() as u64).sum();
        let size = CollectionSize {
            objects: sample + listing.remaining as u64,
            object_bytes: bytes.div_ceil(sample.max(1)),
        };
        let mut known = self.known.lock();
        // Those of definitions that no longer exist are dropped.
        known.retain(|_, (time, ..)| time.elapsed() < FRESH.0);
        known.insert(prefix, (Instant::now(), revision.get(), size));
        size
    }
}
