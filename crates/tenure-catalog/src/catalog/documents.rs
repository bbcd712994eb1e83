//! Discovery and OpenAPI documents: each is made once for a snapshot and then served from memory.

use bytes::Bytes;
use parking_lot::Mutex;
use std::{
    collections::{HashMap, hash_map::DefaultHasher},
    hash::{Hash, Hasher},
    sync::Arc,
};
use tenure_value::{Text, Value, json};

/// The documents of one snapshot, by name.
#[derive(Default)]
pub struct Documents(Mutex<HashMap<Text, Document>>);

/// A document and its entity tag.
#[derive(Clone)]
pub struct Document {
    pub bytes: Bytes,
    pub entity_tag: Arc<str>,
}

impl Documents {
    /// Returns a document as JSON, made on first use.
    pub fn get(&self, name: &str, make: impl FnOnce() -> Value) -> Document {
        self.get_bytes(name, || json::to_vec(&make()))
    }

    /// Returns a document, written on first use.
    pub fn get_bytes(&self, name: &str, write: impl FnOnce() -> Vec<u8>) -> Document {
        let known = || self.0.lock();
        if let Some(document) = known().get(name) {
            return document.clone();
        }
        let bytes = Bytes::from(write());
        let document = Document { entity_tag: entity_tag(&bytes), bytes };
        known().entry(name.into()).or_insert(document).clone()
    }
}

/// Returns an entity tag: 128 hexadecimal digits that differ where the bytes differ.
fn entity_tag(bytes: &[u8]) -> Arc<str> {
    let digit = |part: u64| {
        let mut hasher = DefaultHasher::new();
        (part, bytes).hash(&mut hasher);
        format!("{:016X}", hasher.finish())
    };
    (0..8).map(digit).collect::<String>().into()
}
