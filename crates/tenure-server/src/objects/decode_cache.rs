//! Objects that were read or written lately, decoded: most writes follow a read or a write of the same object, and
//! one that finds its object here neither parses it nor loses the memory it shares with the next state. Of custom
//! resources what their definition makes of them is kept as well.

use crate::{catalog::handler::Served, object::Stored};
use std::{
    collections::HashMap,
    sync::{Mutex, MutexGuard, PoisonError},
};
use tenure_store::Revision;
use tenure_value::{Text, Value};

/// How many objects are kept; when there are more, all are forgotten and the next ones begin anew.
const KEPT: usize = 1024;

/// Decoded objects by their keys.
#[derive(Default)]
pub(crate) struct DecodeCache(Mutex<HashMap<String, Kept>>);

struct Kept {
    stored: Stored,
    read: Option<Reading>,
}

/// What reading made of an object by the rules of a definition.
struct Reading {
    rules: u64,
    api_version: Text,
    object: Value,
}

impl Reading {
    fn is_by(&self, served: &Served) -> bool {
        self.rules == served.rules() && self.api_version == served.resource.api_version
    }
}

impl DecodeCache {
    /// Returns the object under a key as it is stored, if it is known as it was at that revision.
    pub fn get(&self, key: &str, revision: Revision) -> Option<Stored> {
        let kept = self.kept();
        kept.get(key).map(|kept| &kept.stored).filter(|stored| stored.revision == revision).cloned()
    }

    /// Returns the object under a key as a resource reads it, if that is known.
    pub fn get_read(&self, key: &str, revision: Revision, served: &Served) -> Option<Stored> {
        let kept = self.kept();
        let kept = kept.get(key).filter(|kept| kept.stored.revision == revision)?;
        let read = kept.read.as_ref().filter(|read| read.is_by(served))?;
        Some(Stored { object: read.object.clone(), ..kept.stored.clone() })
    }

    /// Keeps an object as it is stored.
    pub fn put(&self, key: String, stored: Stored) {
        let mut kept = self.kept();
        if kept.len() >= KEPT && !kept.contains_key(&key) {
            kept.clear();
        }
        kept.insert(key, Kept { stored, read: None });
    }

    /// Keeps what a resource reads of an object that is kept, where that is more than the object as it is stored and
    /// nobody else decides on it.
    pub fn put_read(&self, key: &str, served: &Served, read: &Stored) {
        if !served.is_custom() || served.asks() {
            return;
        }
        if let Some(kept) = self.kept().get_mut(key)
            && kept.stored.revision == read.revision
        {
            let api_version = served.resource.api_version.clone();
            kept.read = Some(Reading { rules: served.rules(), api_version, object: read.object.clone() });
        }
    }

    fn kept(&self) -> MutexGuard<'_, HashMap<String, Kept>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
