//! What is served: built-in resources, custom resources, discovery and OpenAPI.
//!
//! [`Catalog`] holds the current [`Snapshot`] and replaces it when definitions change. A [`ResourceHandler`] is one resource
//! at one version, with the [`Strategy`](tenure_meta::Strategy) of its kind. The catalog reads definitions from the store and nothing else.

mod aggregated;
mod custom_kind;
pub mod discovery;
mod documents;
mod handler;
mod schema_history;
mod snapshot;
mod versions;

use crate::object::{Stored, prefix};
pub use aggregated::{Aggregated, AggregatedVersion, OpenApi3, Priority};
use bytes::Bytes;
pub use custom_kind::CustomKind;
pub use handler::{
    ResourceHandler, invalid_object_type, unknown_conversion, unregistered, why_unconvertible,
};
use parking_lot::RwLock;
use schema_history::SchemaHistory;
pub use snapshot::Snapshot;
use std::{collections::HashSet, sync::Arc};
use tenure_builtin::role::DEFINITIONS;
use tenure_meta::{ApiError, GroupVersionResource};
use tenure_profile::Profile;
use tenure_store::{Entry, KeyChange, ListRequest, Revision, Store, Transaction};
use tenure_value::{Text, Value};
pub use versions::{Conversions, KindVersions};

/// Where definitions are in the store.
pub const DEFINITIONS_PREFIX: &str = "objects/apiextensions.k8s.io/customresourcedefinitions/";

/// The resources that the server serves now.
pub struct Catalog {
    store: Arc<dyn Store>,
    current: RwLock<Arc<Snapshot>>,
    /// Held while definitions are read, so that an older state does not replace a newer one.
    refreshing: tokio::sync::Mutex<()>,
    /// Notified of every snapshot.
    changes: tokio::sync::watch::Sender<()>,
    profile: Profile,
}

impl Catalog {
    /// Reads the definitions of a store. New definitions, and objects of stored ones, are checked by the rules of the profile.
    pub async fn open(store: Arc<dyn Store>, profile: Profile) -> Result<Arc<Catalog>, ApiError> {
        let current = RwLock::new(Arc::new(Snapshot::builtin(profile)));
        let catalog = Arc::new(Catalog {
            store,
            current,
            refreshing: Default::default(),
            changes: tokio::sync::watch::Sender::new(()),
            profile,
        });
        catalog.refresh().await?;
        Ok(catalog)
    }

    /// Returns the catalog of a fork of the store, which serves what this one serves until its own definitions change.
    pub fn fork(&self, store: Arc<dyn Store>) -> Arc<Catalog> {
        let current = RwLock::new(self.snapshot());
        Arc::new(Catalog {
            store,
            current,
            refreshing: Default::default(),
            changes: tokio::sync::watch::Sender::new(()),
            profile: self.profile,
        })
    }

    /// Returns which improvements on Kubernetes are on.
    pub fn profile(&self) -> Profile {
        self.profile
    }

    /// Returns what is served now.
    pub fn snapshot(&self) -> Arc<Snapshot> {
        self.current.read().clone()
    }

    /// Finds the resource that a path names.
    pub fn resource(&self, group: &str, version: &str, resource: &str) -> Result<ResourceHandler, ApiError> {
        let snapshot = self.current.read();
        // Where no built-in resource is, Kubernetes has no routes, but for the versions that definitions serve.
        snapshot.find(group, version, resource).ok_or_else(|| match snapshot.has_builtin_group(group) {
            true => ApiError::no_such_path(),
            false => ApiError::page_not_found(),
        })
    }

    /// Finds the resource of a kind.
    pub fn resource_of_kind(&self, api_version: &str, kind: &str) -> Option<ResourceHandler> {
        self.current.read().of_kind(api_version, kind)
    }

    /// Finds the resource whose objects are stored under a group and a plural name, at the version of storage.
    pub fn stored_resource(&self, group: &str, name: &str) -> Option<ResourceHandler> {
        let snapshot = self.snapshot();
        let mut versions =
            snapshot.versions_of(group, name).filter(|version| version.resource.group == group);
        let first = versions.next()?;
        let is_storage = |handler: &ResourceHandler| {
            handler.resource.storage == (handler.resource.group.clone(), handler.resource.version.clone())
        };
        if is_storage(&first) { Some(first) } else { versions.find(is_storage).or(Some(first)) }
    }

    /// Returns every resource whose objects are stored, once each.
    pub fn stored_resources(&self) -> Vec<ResourceHandler> {
        let mut seen: HashSet<(Text, Text)> = HashSet::new();
        let first = |handler: &ResourceHandler| {
            seen.insert((handler.resource.storage.0.clone(), handler.resource.name.clone()))
        };
        self.snapshot().stored().filter(first).collect()
    }

    /// Returns every resource whose objects are in namespaces, once each.
    pub fn namespaced_resources(&self) -> Vec<ResourceHandler> {
        let mut resources = self.stored_resources();
        resources.retain(|handler| handler.resource.scope == tenure_meta::Scope::Namespaced);
        resources
    }

    /// Whether any resource of a group is served.
    pub fn has_group(&self, group: &str) -> bool {
        self.current.read().has_group(group)
    }

    /// Reads all definitions again and serves what they define. Those that are known at the same revision are not decoded
    /// again.
    pub async fn refresh(&self) -> Result<(), ApiError> {
        let _one_at_a_time = self.refreshing.lock().await;
        let former = self.snapshot();
        let GroupVersionResource { group, version, resource: name } = DEFINITIONS;
        let Some(definitions) = tenure_builtin::registry().find(group, version, name) else { return Ok(()) };
        let listing = self.store.list(ListRequest::prefix(prefix(definitions, ""))).await?;
        let known = |name: &str| former.kind(name).map(|kind| kind.history());
        let mut histories = schema_history::read_all(&*self.store, known).await?;
        let mut next = former.successor();
        let stored: HashSet<&Bytes> = listing.entries.iter().map(|entry| &entry.key).collect();
        for key in former.definition_keys().filter(|key| !stored.contains(key)) {
            self.follow(&mut next, key, None, SchemaHistory::default())?;
        }
        for entry in &listing.entries {
            let history = histories.remove(definition_name(&entry.key)).unwrap_or_default();
            self.follow(&mut next, &entry.key, Some(entry), history)?;
        }
        self.publish(next);
        Ok(())
    }

    /// Reads one definition again and serves what it defines, at a cost that does not depend on the number of definitions.
    pub async fn refresh_key(&self, key: &Bytes) -> Result<(), ApiError> {
        let name = definition_name(key);
        if name.is_empty() {
            return Ok(());
        }
        let _one_at_a_time = self.refreshing.lock().await;
        let former = self.snapshot();
        let entry = self.store.get(key).await?;
        let known = former.kind(name).map(|kind| kind.history());
        let history = schema_history::read(&*self.store, name, known).await?;
        let mut next = former.successor();
        self.follow(&mut next, key, entry.as_ref(), history)?;
        self.publish(next);
        Ok(())
    }

    /// Takes a definition as it is stored now, or its absence, into the next snapshot.
    fn follow(
        &self,
        next: &mut Snapshot,
        key: &Bytes,
        entry: Option<&Entry>,
        history: SchemaHistory,
    ) -> Result<(), ApiError> {
        let name = Text::new(definition_name(key));
        let stored = match (entry, next.definition(key)) {
            (Some(entry), Some(known)) if known.revision == entry.modified => Some(known.clone()),
            (Some(entry), _) => Some(Arc::new(Stored::read(entry)?)),
            (None, _) => None,
        };
        let established =
            stored.as_ref().map(|stored| &stored.object).filter(|object| is_established(object));
        let kind = established.and_then(|object| {
            CustomKind::compile(object, history, next.kind(&name), self.profile)
                .inspect_err(
                    |error| tracing::warn!(%name, error, "stored definition is invalid and is not served"),
                )
                .ok()
        });
        next.set_kind(&name, kind);
        next.set_definition(key, stored);
        Ok(())
    }

    fn publish(&self, next: Snapshot) {
        *self.current.write() = Arc::new(next);
        self.changes.send_replace(());
    }

    /// Whether what is served follows a change of a definition already: this server made it.
    pub fn has_seen(&self, change: &KeyChange) -> bool {
        let snapshot = self.current.read();
        match (&change.current, snapshot.definition(&change.key)) {
            (Some(entry), Some(known)) => known.revision >= entry.modified,
            (None, known) => known.is_none(),
            (Some(_), None) => false,
        }
    }

    /// Returns a receiver that is notified when what is served may have changed.
    pub fn subscribe(&self) -> tokio::sync::watch::Receiver<()> {
        self.changes.subscribe()
    }

    /// Completes when a custom resource is no longer served as a handler serves it: its definition has changed or is gone.
    pub async fn redefined(&self, handler: &ResourceHandler) {
        let mut changes = self.changes.subscribe();
        let resource = &handler.resource;
        loop {
            let current = self.snapshot().find(&resource.group, &resource.version, &resource.name);
            if current.is_none_or(|current| current.generation() != handler.generation()) {
                return;
            }
            // The sender lives as long as the catalog.
            if changes.changed().await.is_err() {
                return;
            }
        }
    }

    /// Adds to the transaction that changes a definition what is needed to read older objects.
    pub async fn record_schema(
        &self,
        transaction: Transaction,
        old: (&Value, Revision),
        new: &Value,
    ) -> Result<Transaction, ApiError> {
        schema_history::record(&*self.store, transaction, old, new).await
    }

    /// Deletes the former schemas of a definition.
    pub async fn forget_schemas(&self, definition: &str) -> Result<(), ApiError> {
        schema_history::forget(&*self.store, definition).await
    }
}

/// Returns the name of the definition with a key, or nothing if it is the key of another object.
fn definition_name(key: &[u8]) -> &str {
    let name = std::str::from_utf8(key).ok().and_then(|key| key.strip_prefix(DEFINITIONS_PREFIX));
    name.unwrap_or_default()
}

fn is_established(definition: &Value) -> bool {
    let conditions = definition.at(["status", "conditions"]).and_then(Value::as_array);
    conditions.is_some_and(|conditions| {
        conditions.iter().any(|condition| {
            let text = |name: &str| condition.get(name).and_then(Value::as_str);
            text("type") == Some("Established") && text("status") == Some("True")
        })
    })
}
