//! Recently read or written objects, decoded. Most writes follow a read or a write of the same object; one that finds
//! it here parses nothing and shares its memory with the next state. For custom resources, the object as decoded by the definition
//! is kept beside the stored one.

use crate::{cache::Cache, catalog::ResourceHandler, object::Stored};
use tenure_store::Revision;
use tenure_value::{Text, Value};

/// The most bytes, as they are stored, of all objects together.
const CAPACITY: usize = 8 * 1024 * 1024;
/// The weight of an object besides its bytes.
const OVERHEAD: usize = 512;

/// Decoded objects by their keys.
pub(super) struct DecodeCache(Cache<String, Decoded>);

struct Decoded {
    stored: Stored,
    converted: Option<Converted>,
    bytes: usize,
}

/// An object as the rules of a definition read it.
struct Converted {
    generation: u64,
    api_version: Text,
    object: Value,
}

impl Default for DecodeCache {
    fn default() -> DecodeCache {
        DecodeCache(Cache::new(CAPACITY, |decoded| decoded.bytes + OVERHEAD))
    }
}

impl DecodeCache {
    /// Whether objects are also kept as the handler reads them: not if a webhook converts them.
    pub fn keeps_converted(handler: &ResourceHandler) -> bool {
        handler.is_custom() && !handler.has_conversion_webhook()
    }

    /// Returns an object as it is stored at a revision.
    pub fn get(&self, key: &str, revision: Revision) -> Option<Stored> {
        self.0.look(key, |decoded| (decoded.stored.revision == revision).then(|| decoded.stored.clone()))
    }

    /// Returns an object as a custom resource reads it at a revision.
    pub fn get_converted(&self, key: &str, revision: Revision, handler: &ResourceHandler) -> Option<Stored> {
        self.0.look(key, |decoded| {
            let converted = decoded.converted.as_ref().filter(|_| decoded.stored.revision == revision)?;
            let same = converted.generation == handler.generation()
                && converted.api_version == handler.resource.api_version;
            same.then(|| Stored { object: converted.object.clone(), ..decoded.stored.clone() })
        })
    }

    /// Keeps an object of `bytes` as it is stored and, if the two differ by rules that do not depend on a webhook, as the
    /// handler reads it.
    pub fn put(
        &self,
        key: String,
        handler: &ResourceHandler,
        stored: Stored,
        converted: &Stored,
        bytes: usize,
    ) {
        let converted = DecodeCache::keeps_converted(handler).then(|| Converted {
            generation: handler.generation(),
            api_version: handler.resource.api_version.clone(),
            object: converted.object.clone(),
        });
        self.0.insert(&key, Decoded { stored, converted, bytes });
    }

    pub fn drop_unread(&self) {
        self.0.drop_unread();
    }
}
