//! What is served now: the built-in resources and those that definitions add. A catalogue is never changed; a
//! definition that comes, changes or goes makes a new one, and requests under way keep the one they began with.

pub(crate) mod discovery;
pub(crate) mod handler;
pub mod openapi;
pub(crate) mod schema_history;

use crate::{
    Failure,
    catalog::{discovery::Documents, handler::Served, schema_history::SchemaHistory},
    custom::{Definition, NamesInUse},
    kinds::{Group, Kinds, Registry, Resource},
    object::{Stored, prefix},
    server::Server,
};
use bytes::Bytes;
use std::{
    collections::HashMap,
    sync::{
        Arc, PoisonError, RwLock,
        atomic::{AtomicU64, Ordering::Relaxed},
    },
};
use tenure_store::{Entry, ListRequest};
use tenure_value::{Text, Value};

/// The next number of a definition.
static SERIAL: AtomicU64 = AtomicU64::new(1);

/// The resources that are served, and the documents about them.
pub(crate) struct Catalog {
    pub registry: Registry,
    definitions: HashMap<Text, Arc<CustomKind>>,
    /// Every stored definition as it was read last, served or not, by its key.
    stored: HashMap<Bytes, Arc<Stored>>,
    /// Custom resources by group and plural name.
    custom: HashMap<(Text, Text), Arc<CustomKind>>,
    /// Every resource with the rules of its kind, by group, version and plural name.
    served: HashMap<(Text, Text, Text), Served>,
    pub documents: Documents,
}

/// A custom kind: its definition, and the types it had before.
pub(crate) struct CustomKind {
    pub definition: Arc<Definition>,
    /// What it was compiled from.
    object: Value,
    pub formers: SchemaHistory,
    /// Its rows of the registry.
    resources: Vec<Arc<Resource>>,
    /// Tells this definition from all that were there before, its own former ones included; never 0.
    pub serial: u64,
}

impl CustomKind {
    /// Whether all objects are stored in one version, as the status of the definition says.
    pub fn is_stored_only_in(&self, version: &str) -> bool {
        let stored = self.object.at(["status", "storedVersions"]).and_then(Value::as_array);
        let storage = self.definition.storage_version().map(|storage| storage.name.as_str());
        storage == Some(version) && stored.is_some_and(|stored| stored.items() == [Value::from(version)])
    }
}

impl Catalog {
    /// Returns the catalogue of the built-in resources alone.
    fn builtin() -> Catalog {
        Catalog::of(HashMap::new(), HashMap::new(), &HashMap::new())
    }

    /// Makes a catalogue; what was served before and has not changed is taken over, with what is prepared of it.
    fn of(
        definitions: HashMap<Text, Arc<CustomKind>>,
        stored: HashMap<Bytes, Arc<Stored>>,
        before: &HashMap<(Text, Text, Text), Served>,
    ) -> Catalog {
        let builtin = crate::kinds::registry();
        let mut groups: Vec<Group> = builtin.groups().to_vec();
        let mut resources: Vec<Arc<Resource>> = builtin.resources().to_vec();
        let mut custom = HashMap::new();
        let mut kinds: Vec<&Arc<CustomKind>> = definitions.values().collect();
        kinds.sort_by(|a, b| {
            (&a.definition.group, &a.definition.name).cmp(&(&b.definition.group, &b.definition.name))
        });
        for kind in kinds {
            let definition = &kind.definition;
            let added = definition.group();
            if added.versions.is_empty() {
                continue;
            }
            match groups.iter_mut().find(|group| group.name == added.name) {
                Some(group) => {
                    let new = added.versions.iter().filter(|version| !group.versions.contains(version));
                    group.versions = group.versions.iter().chain(new).cloned().collect();
                }
                None => groups.push(added),
            }
            resources.extend(kind.resources.iter().cloned());
            custom.insert((definition.group.clone(), definition.names.plural.clone()), kind.clone());
        }
        let registry = Registry::new(groups, resources);
        let served = registry.resources().iter().map(|resource| {
            let custom = custom.get(&(resource.group.clone(), resource.name.clone()));
            let key = (resource.group.clone(), resource.version.clone(), resource.name.clone());
            let same = before.get(&key).filter(|served| served.is_of(resource, custom)).cloned();
            let served =
                same.unwrap_or_else(|| Served::new(resource.clone(), Kinds::builtin(), custom.cloned()));
            (key, served)
        });
        let served = served.collect();
        Catalog { registry, definitions, stored, custom, served, documents: Documents::default() }
    }

    /// Finds the resource that a path names.
    pub fn find(&self, group: &str, version: &str, resource: &str) -> Option<Served> {
        self.served.get(&(group.into(), version.into(), resource.into())).cloned()
    }

    /// Finds the resource of a kind.
    pub fn of_kind(&self, api_version: &str, kind: &str) -> Option<Served> {
        let resource = self.registry.of_kind(api_version, kind)?;
        self.find(&resource.group, &resource.version, &resource.name)
    }

    /// Returns every resource whose objects are kept.
    pub fn stored(&self) -> impl Iterator<Item = Served> {
        let stored = self.registry.resources().iter().filter(|resource| resource.is_stored());
        stored.filter_map(|resource| self.find(&resource.group, &resource.version, &resource.name))
    }

    /// Returns the custom kinds.
    pub fn custom_kinds(&self) -> impl Iterator<Item = &Arc<CustomKind>> {
        self.custom.values()
    }
}

/// The catalogue of a server, which changes with its definitions.
pub(crate) struct Current(RwLock<Arc<Catalog>>);

impl Default for Current {
    fn default() -> Current {
        Current(RwLock::new(Arc::new(Catalog::builtin())))
    }
}

impl Server {
    /// Returns what is served now.
    pub(crate) fn catalog(&self) -> Arc<Catalog> {
        self.current.0.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Reads the definitions anew and serves what they say.
    pub(crate) async fn refresh_catalog(&self) -> Result<(), Failure> {
        let _one_at_a_time = self.refreshing.lock().await;
        let old = self.catalog();
        let stored = self.stored_definitions(&old).await?;
        let known = |name: &str| old.definitions.get(name).map(|kind| &kind.formers);
        let mut formers = schema_history::read_all(self, known).await?;
        let mut kinds = HashMap::with_capacity(stored.len());
        for object in stored.values().map(|stored| stored.object.clone()) {
            if !is_established(&object) {
                continue;
            }
            let name = Text::new(crate::object::meta_text(&object, "name"));
            let formers = formers.remove(&name).unwrap_or_default();
            let known = old.definitions.get(&name);
            if let Some(kind) = known.filter(|kind| kind.object.ptr_eq(&object) && kind.formers.are(&formers))
            {
                kinds.insert(name, kind.clone());
                continue;
            }
            if let Some(kind) = known.filter(|kind| kind.object.get("spec") == object.get("spec")) {
                let (definition, resources) = (kind.definition.clone(), kind.resources.clone());
                let serial = kind.serial;
                let kind = CustomKind { definition, object, formers, resources, serial };
                kinds.insert(name, Arc::new(kind));
                continue;
            }
            match Definition::read(&object).map(Arc::new) {
                Ok(definition) => {
                    let serial = SERIAL.fetch_add(1, Relaxed);
                    let resources = definition.resources().into_iter().map(Arc::new).collect();
                    let kind = CustomKind { definition, object, formers, resources, serial };
                    kinds.insert(name, Arc::new(kind));
                }
                Err(error) => {
                    tracing::warn!(%name, %error, "a stored definition cannot be read and is not served")
                }
            }
        }
        let catalog = Arc::new(Catalog::of(kinds, stored, &old.served));
        *self.current.0.write().unwrap_or_else(PoisonError::into_inner) = catalog;
        Ok(())
    }

    /// Returns the names that other definitions of a group have.
    pub(crate) async fn names_in_use(&self, group: &str, asking: &str) -> Result<NamesInUse, Failure> {
        let mut names = NamesInUse::default();
        for stored in self.stored_definitions(&self.catalog()).await?.values() {
            names.add(&stored.object, group, asking);
        }
        Ok(names)
    }

    /// Reads the definitions of the store; those that a catalogue has as they are now are not decoded again, so that
    /// the cost of one more definition does not grow with those there are.
    async fn stored_definitions(&self, known: &Catalog) -> Result<HashMap<Bytes, Arc<Stored>>, Failure> {
        let Some(definitions) =
            crate::kinds::registry().find("apiextensions.k8s.io", "v1", "customresourcedefinitions")
        else {
            return Ok(HashMap::new());
        };
        let listing = self.store.list(ListRequest::prefix(prefix(definitions, ""))).await?;
        let read = |entry: &Entry| {
            let same = known.stored.get(&entry.key).filter(|stored| stored.revision == entry.modified);
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
