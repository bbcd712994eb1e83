//! Objects that were read or written lately, decoded: most writes follow a read or a write of the same object, and
//! one that finds its object here neither parses it nor loses the memory it shares with the next state.

use super::object::Stored;
use std::{
    collections::HashMap,
    sync::{Mutex, PoisonError},
};
use tenure_store::Revision;

/// How many objects are kept; when there are more, all are forgotten and the next ones begin anew.
const KEPT: usize = 1024;

/// Decoded objects by their keys.
#[derive(Default)]
pub(crate) struct Recent(Mutex<HashMap<String, Stored>>);

impl Recent {
    /// Returns the object under a key, if it is known as it was at that revision.
    pub fn get(&self, key: &str, revision: Revision) -> Option<Stored> {
        let kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        kept.get(key).filter(|stored| stored.revision == revision).cloned()
    }

    /// Keeps an object.
    pub fn put(&self, key: String, stored: Stored) {
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if kept.len() >= KEPT && !kept.contains_key(&key) {
            kept.clear();
        }
        kept.insert(key, stored);
    }
}
