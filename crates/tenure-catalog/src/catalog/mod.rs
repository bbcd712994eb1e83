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

use crate::object::{Stored, meta_text, prefix};
pub use aggregated::{Aggregated, AggregatedVersion, OpenApi3, Priority};
use bytes::Bytes;
pub use custom_kind::CustomKind;
pub use handler::{ResourceHandler, invalid_object_type, unknown_conversion, unregistered};
use parking_lot::RwLock;
pub use snapshot::Snapshot;
use std::{collections::HashMap, sync::Arc};
use tenure_builtin::role::DEFINITIONS;
use tenure_crd::NamesInUse;
use tenure_meta::ApiError;
use tenure_profile::Profile;
use tenure_store::{Entry, KeyChange, ListRequest, Revision, Store, Transaction};
use tenure_value::{Text, Value};
pub use versions::{Conversions, KindVersions};

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
        self.current.read().find(group, version, resource).ok_or_else(ApiError::no_such_path)
    }

    /// Finds the resource of a kind.
    pub fn resource_of_kind(&self, api_version: &str, kind: &str) -> Option<ResourceHandler> {
        self.current.read().of_kind(api_version, kind)
    }

    /// Finds the resource whose objects are stored under a group and a plural name, at the version of storage.
    pub fn stored_resource(&self, group: &str, name: &str) -> Option<ResourceHandler> {
        let snapshot = self.snapshot();
        let mut versions =
            snapshot.stored().filter(|of| of.resource.name == name && of.resource.group == group);
        let first = versions.next()?;
        let is_storage = |of: &ResourceHandler| {
            of.resource.storage == (of.resource.group.clone(), of.resource.version.clone())
        };
        if is_storage(&first) { Some(first) } else { versions.find(is_storage).or(Some(first)) }
    }

    /// Returns every resource whose objects are in namespaces, once each.
    pub fn namespaced_resources(&self) -> Vec<ResourceHandler> {
        let mut seen: Vec<(Text, Text)> = Vec::new();
        let mut found = Vec::new();
        for handler in self.snapshot().stored() {
            let place = (handler.resource.storage.0.clone(), handler.resource.name.clone());
            if handler.resource.scope == tenure_meta::Scope::Namespaced && !seen.contains(&place) {
                seen.push(place);
                found.push(handler);
            }
        }
        found
    }

    /// Whether any resource of a group is served.
    pub fn has_group(&self, group: &str) -> bool {
        self.current.read().registry.groups().iter().any(|of| of.name == group)
    }

    /// Reads the definitions again and serves what they define.
    pub async fn refresh(&self) -> Result<(), ApiError> {
        let _one_at_a_time = self.refreshing.lock().await;
        let former = self.snapshot();
        let definitions = self.definitions(&former).await?;
        let known = |name: &str| former.kinds.get(name).map(|kind| kind.history());
        let mut histories = schema_history::read_all(&*self.store, known).await?;
        let mut kinds = HashMap::with_capacity(definitions.len());
        for object in definitions.values().map(|stored| &stored.object) {
            if !is_established(object) {
                continue;
            }
            let name = Text::new(meta_text(object, "name"));
            let history = histories.remove(&name).unwrap_or_default();
            match CustomKind::compile(object, history, former.kinds.get(&name), self.profile) {
                Ok(kind) => drop(kinds.insert(name, kind)),
                Err(error) => tracing::warn!(%name, error, "stored definition is invalid and is not served"),
            }
        }
        let snapshot = Arc::new(Snapshot::new(kinds, definitions, Some(&former), self.profile));
        *self.current.write() = snapshot;
        self.changes.send_replace(());
        Ok(())
    }

    /// Whether what is served follows a change of a definition already: this server made it.
    pub fn has_seen(&self, change: &KeyChange) -> bool {
        let snapshot = self.current.read();
        match (&change.current, snapshot.definitions.get(&change.key)) {
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

    /// Returns the names that the other definitions of a group use.
    pub async fn names_in_use(&self, group: &str, definition: &str) -> Result<NamesInUse, ApiError> {
        let mut names = NamesInUse::default();
        for stored in self.definitions(&self.snapshot()).await?.values() {
            names.add(&stored.object, group, definition);
        }
        Ok(names)
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

    /// Reads the definitions of the store. Those that a snapshot has at the same revision are not decoded again, so that the
    /// cost of one more definition does not grow with their number.
    async fn definitions(&self, known: &Snapshot) -> Result<HashMap<Bytes, Arc<Stored>>, ApiError> {
        let (group, version, name) = DEFINITIONS;
        let Some(definitions) = tenure_builtin::registry().find(group, version, name) else {
            return Ok(HashMap::new());
        };
        let listing = self.store.list(ListRequest::prefix(prefix(definitions, ""))).await?;
        let read = |entry: &Entry| {
            let same = known.definitions.get(&entry.key).filter(|stored| stored.revision == entry.modified);
            let stored = match same {
                Some(stored) => stored.clone(),
                None => Arc::new(Stored::read(entry)?),
            };
            Ok((entry.key.clone(), stored))
        };
        listing.entries.iter().map(read).collect()
    }
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
