//! Access to stored objects at the version that a request names: keys, decoding, conversion between versions and the cache of
//! decoded objects. Nothing here knows HTTP or how a write is decided.

mod cluster;
mod conversion;
mod decode_cache;
mod namespace;
mod webhook_route;

use crate::{
    catalog::{Catalog, ResourceHandler},
    clock::Clock,
    identifiers::Identifiers,
    object::{Stored, key, prefix},
    target::Target,
};
use decode_cache::DecodeCache;
use std::sync::Arc;
use tenure_admission::WebhookClient;
use tenure_meta::{ApiError, Resource};
use tenure_store::{Entry, ListRequest, Store};
use tenure_value::Value;
pub use webhook_route::{addresses as service_addresses, to as webhook_route};

/// The objects of a store.
pub struct Objects {
    /// The store.
    pub store: Arc<dyn Store>,
    /// The served resources.
    pub catalog: Arc<Catalog>,
    /// The clock of all writes.
    pub clock: Clock,
    /// The source of uids and generated names.
    pub identifiers: Identifiers,
    /// The client of conversion and admission webhooks.
    pub webhooks: WebhookClient,
    decoded: DecodeCache,
}

impl Objects {
    /// Creates the objects of a store, none of them decoded yet.
    pub fn new(
        store: Arc<dyn Store>,
        catalog: Arc<Catalog>,
        clock: Clock,
        identifiers: Identifiers,
        webhooks: WebhookClient,
    ) -> Arc<Objects> {
        Arc::new(Objects { store, catalog, clock, identifiers, webhooks, decoded: DecodeCache::default() })
    }

    /// Reads the target's current object.
    pub async fn read(&self, target: &Target) -> Result<Option<Stored>, ApiError> {
        let key = target.key();
        let entry = self.store.get(key.as_bytes()).await?;
        self.read_entry(target, key, entry).await
    }

    /// Reads the target's object as this server knows it, which may be older than writes of another server.
    pub async fn peek(&self, target: &Target) -> Result<Option<Stored>, ApiError> {
        let key = target.key();
        let entry = self.store.peek(key.as_bytes())?;
        self.read_entry(target, key, entry).await
    }

    async fn read_entry(
        &self,
        target: &Target,
        key: String,
        entry: Option<Entry>,
    ) -> Result<Option<Stored>, ApiError> {
        let Some(entry) = entry else { return Ok(None) };
        let keeps_converted = DecodeCache::keeps_converted(&target.handler);
        if keeps_converted
            && let Some(converted) = self.decoded.get_converted(&key, entry.modified, &target.handler)
        {
            return Ok(Some(converted));
        }
        let cached = self.decoded.get(&key, entry.modified);
        let is_new = cached.is_none() || keeps_converted;
        let stored = cached.map_or_else(|| Stored::read(&entry), Ok)?;
        let converted = self.convert_one_from_storage(&target.handler, stored.clone()).await?;
        if is_new {
            self.decoded.put(key, &target.handler, stored, &converted, entry.value.len());
        }
        Ok(Some(converted))
    }

    /// Remembers an object that was just written: as it is stored, and as the handler reads it.
    pub fn remember(
        &self,
        key: String,
        handler: &ResourceHandler,
        stored: Stored,
        converted: &Stored,
        bytes: usize,
    ) {
        self.decoded.put(key, handler, stored, converted, bytes);
    }

    /// Drops decoded objects that were not read recently.
    pub fn drop_unread(&self) {
        self.decoded.drop_unread();
    }

    /// Reads all objects of a resource in a namespace, or in all of them, as they are stored.
    pub async fn read_all(&self, resource: &Resource, namespace: &str) -> Result<Vec<Stored>, ApiError> {
        let listing = self.store.list(ListRequest::prefix(prefix(resource, namespace))).await?;
        listing.entries.iter().map(Stored::read).collect()
    }

    /// Reads a cluster-scoped object of a built-in resource, given by its group and name, as it is stored.
    pub async fn find_builtin(
        &self,
        (group, resource): (&str, &str),
        name: &str,
    ) -> Result<Option<Value>, ApiError> {
        let Some(resource) = tenure_builtin::registry().find(group, "v1", resource) else { return Ok(None) };
        let entry = self.store.get(key(resource, "", name).as_bytes()).await?;
        entry.map(|entry| Stored::read(&entry).map(|stored| stored.object)).transpose()
    }

    /// Decodes an entry, unless the cache has it decoded.
    pub fn decode(&self, entry: &Entry) -> Result<Stored, ApiError> {
        self.decoded(entry).map_or_else(|| Stored::read(entry), Ok)
    }

    /// Returns the object of an entry if the cache has it decoded.
    fn decoded(&self, entry: &Entry) -> Option<Stored> {
        std::str::from_utf8(&entry.key).ok().and_then(|key| self.decoded.get(key, entry.modified))
    }
}

/// Reads all objects of a resource in a namespace, or in all of them, as they are stored but without their managers.
pub async fn read_all_objects(
    store: &dyn Store,
    resource: &Resource,
    namespace: &str,
) -> Result<Vec<Stored>, ApiError> {
    let listing = store.list(ListRequest::prefix(prefix(resource, namespace))).await?;
    listing.entries.iter().map(Stored::read_object).collect()
}
