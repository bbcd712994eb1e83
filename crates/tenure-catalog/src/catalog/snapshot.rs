//! The resources that are served at one moment: the built-in ones and those that definitions add. A snapshot never changes; a
//! definition that is created, changed or deleted makes a new one, and running requests keep theirs. Snapshots share what they
//! have in common, so that one more definition costs the same whether there are ten or ten thousand.

use super::{custom_kind::CustomKind, documents::Documents, handler::ResourceHandler};
use crate::object::Stored;
use bytes::Bytes;
use std::{
    collections::HashMap,
    ops::Bound,
    sync::{Arc, OnceLock},
};
use tenure_crd::{NameUse, NamesInUse};
use tenure_meta::{Group, Registry, Resource};
use tenure_profile::{KubernetesVersion, Profile};
use tenure_store::CowMap;
use tenure_value::{Text, Value};

/// Group, version and plural name of a resource.
type ResourceName = (Text, Text, Text);

/// The resources that are served, and the documents about them.
pub struct Snapshot {
    /// The built-in resources, in the order of their registry.
    builtin: Arc<[ResourceHandler]>,
    /// The custom resources by their names.
    custom: CowMap<ResourceName, ResourceHandler>,
    /// The custom resources by `apiVersion`, kind and plural name. The last of those with the same kind is found by it.
    by_kind: CowMap<ResourceName, ResourceHandler>,
    /// The established custom kinds by the names of their definitions.
    kinds: CowMap<Text, Arc<CustomKind>>,
    /// Every stored definition by its key, served or not.
    definitions: CowMap<Bytes, Arc<Stored>>,
    /// The names that definitions use.
    names: CowMap<UsedName, ()>,
    profile: Profile,
    /// Groups and resources for discovery, gathered when they are first requested.
    registry: OnceLock<Registry>,
    /// Discovery and OpenAPI documents, made when they are first requested.
    pub documents: Documents,
}

/// A name that a definition uses. Those of a group with one use are beside each other.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct UsedName {
    group: Text,
    name_use: NameUse,
    word: Text,
    definition: Text,
}

impl Snapshot {
    /// Returns the snapshot of the built-in resources alone.
    pub fn builtin(profile: Profile) -> Snapshot {
        let resources = tenure_builtin::registry_at(profile.version()).resources().iter();
        let handlers =
            resources.map(|resource| ResourceHandler::new(resource.clone(), None, profile)).collect();
        Snapshot {
            builtin: handlers,
            custom: CowMap::default(),
            by_kind: CowMap::default(),
            kinds: CowMap::default(),
            definitions: CowMap::default(),
            names: CowMap::default(),
            profile,
            registry: OnceLock::new(),
            documents: Documents::default(),
        }
    }

    /// Returns the version of Kubernetes whose resources are served.
    pub fn kubernetes(&self) -> KubernetesVersion {
        self.profile.version()
    }

    fn builtin_registry(&self) -> &'static Registry {
        tenure_builtin::registry_at(self.kubernetes())
    }

    /// Returns a copy to be changed, without the documents about what this one serves.
    pub(super) fn successor(&self) -> Snapshot {
        Snapshot {
            builtin: self.builtin.clone(),
            custom: self.custom.clone(),
            by_kind: self.by_kind.clone(),
            kinds: self.kinds.clone(),
            definitions: self.definitions.clone(),
            names: self.names.clone(),
            profile: self.profile,
            registry: OnceLock::new(),
            documents: Documents::default(),
        }
    }

    /// Returns a stored definition by its key.
    pub(super) fn definition(&self, key: &[u8]) -> Option<&Arc<Stored>> {
        self.definitions.get(key)
    }

    /// Returns the keys of all stored definitions.
    pub(super) fn definition_keys(&self) -> impl Iterator<Item = &Bytes> {
        self.definitions.iter().map(|(key, _)| key)
    }

    /// Returns a custom kind by the name of its definition.
    pub(super) fn kind(&self, definition: &str) -> Option<&Arc<CustomKind>> {
        self.kinds.get(definition)
    }

    /// Replaces a stored definition, or removes it.
    pub(super) fn set_definition(&mut self, key: &Bytes, stored: Option<Arc<Stored>>) {
        let former = match &stored {
            Some(stored) => self.definitions.insert(key.clone(), stored.clone()),
            None => self.definitions.remove(key),
        };
        if let Some(former) = former {
            names_of(&former.object).for_each(|name| _ = self.names.remove(&name));
        }
        if let Some(stored) = stored {
            names_of(&stored.object).for_each(|name| _ = self.names.insert(name, ()));
        }
    }

    /// Serves a custom kind in the place of the one that the definition had before, or no longer.
    pub(super) fn set_kind(&mut self, definition: &Text, kind: Option<Arc<CustomKind>>) {
        let former = match &kind {
            Some(kind) => self.kinds.insert(definition.clone(), kind.clone()),
            None => self.kinds.remove(definition),
        };
        if let (Some(former), Some(kind)) = (&former, &kind)
            && Arc::ptr_eq(former, kind)
        {
            return;
        }
        for resource in former.iter().flat_map(|former| &former.resources) {
            self.custom.remove(&resource_name(resource));
            self.by_kind.remove(&kind_name(resource));
        }
        let Some(kind) = kind else { return };
        let builtin = self.builtin_registry();
        // A version of a built-in group has its built-in resources alone.
        for resource in kind.resources.iter().filter(|resource| !is_builtin_version(builtin, resource)) {
            let handler = ResourceHandler::new(resource.clone(), Some(kind.clone()), self.profile);
            self.custom.insert(resource_name(resource), handler.clone());
            self.by_kind.insert(kind_name(resource), handler);
        }
    }

    /// Returns the groups and resources, for discovery.
    pub fn registry(&self) -> &Registry {
        self.registry.get_or_init(|| self.gather())
    }

    fn gather(&self) -> Registry {
        let builtin = self.builtin_registry();
        let mut groups: Vec<Group> = builtin.groups().to_vec();
        let mut resources: Vec<Arc<Resource>> = builtin.resources().to_vec();
        let mut positions: HashMap<Text, usize> =
            groups.iter().enumerate().map(|(at, group)| (group.name.clone(), at)).collect();
        let mut sorted: Vec<&Arc<CustomKind>> = self.custom_kinds().collect();
        sorted.sort_by(|a, b| {
            (&a.definition.group, &a.definition.name).cmp(&(&b.definition.group, &b.definition.name))
        });
        for kind in sorted {
            let added = kind.definition.group();
            match positions.get(&added.name).map(|at| &mut groups[*at]) {
                Some(group) => {
                    let new = added.versions.iter().filter(|version| !group.versions.contains(version));
                    group.versions = group.versions.iter().chain(new).cloned().collect();
                }
                None => {
                    positions.insert(added.name.clone(), groups.len());
                    groups.push(added);
                }
            }
            resources.extend(
                kind.resources.iter().filter(|resource| !is_builtin_version(builtin, resource)).cloned(),
            );
        }
        Registry::new(groups, resources)
    }

    /// Finds a resource by group, version and plural name.
    pub fn find(&self, group: &str, version: &str, resource: &str) -> Option<ResourceHandler> {
        let handler = match self.builtin_registry().place_of(group, version, resource) {
            Some(place) => &self.builtin[place],
            None => self.custom.get(&(group.into(), version.into(), resource.into()))?,
        };
        Some(handler.clone())
    }

    /// Whether a built-in resource is of the group.
    pub fn has_builtin_group(&self, group: &str) -> bool {
        self.builtin_registry().groups().iter().any(|listed| listed.name == group)
    }

    /// Finds the resource of a kind.
    pub fn of_kind(&self, api_version: &str, kind: &str) -> Option<ResourceHandler> {
        if let Some(resource) = self.builtin_registry().of_kind(api_version, kind) {
            return self.find(&resource.group, &resource.version, &resource.name);
        }
        let first = (Text::new(api_version), Text::new(kind), Text::default());
        let all = self.by_kind.range(Bound::Included(&first), None);
        let same =
            all.take_while(|((of_version, of_kind, _), _)| of_version == api_version && of_kind == kind);
        same.last().map(|(_, handler)| handler.clone())
    }

    /// Returns the served versions of the resource whose objects are stored under a group and a plural name.
    pub fn versions_of<'a>(&'a self, group: &'a str, name: &'a str) -> impl Iterator<Item = ResourceHandler> {
        let registry = self.builtin_registry();
        let builtin = registry.resources().iter();
        let builtin = builtin.filter(move |resource| resource.name == name && resource.storage.0 == group);
        let kind = self.kinds.get(format!("{name}.{group}").as_str());
        let custom = kind
            .into_iter()
            .flat_map(|kind| &kind.resources)
            .filter(|resource| !is_builtin_version(registry, resource));
        let all = builtin.chain(custom).filter(|resource| resource.is_stored());
        all.filter_map(|resource| self.find(&resource.group, &resource.version, &resource.name))
    }

    /// Whether any resource of a group is served.
    pub fn has_group(&self, group: &str) -> bool {
        let first = (Text::new(group), Text::default(), Text::default());
        self.has_builtin_group(group)
            || self
                .custom
                .range(Bound::Included(&first), None)
                .next()
                .is_some_and(|((served, ..), _)| served == group)
    }

    /// Returns every resource whose objects are stored, at every version.
    pub fn stored(&self) -> impl Iterator<Item = ResourceHandler> {
        let all = self.builtin.iter().chain(self.custom.iter().map(|(_, handler)| handler));
        all.filter(|handler| handler.resource.is_stored()).cloned()
    }

    /// Returns the custom kinds that are served.
    pub fn custom_kinds(&self) -> impl Iterator<Item = &Arc<CustomKind>> {
        self.kinds.iter().map(|(_, kind)| kind).filter(|kind| kind.definition.is_served())
    }

    /// Returns the groups and versions of custom resources, each once, at a cost that depends on their number alone.
    pub fn custom_versions(&self) -> impl Iterator<Item = (Text, Text)> {
        let mut from = ResourceName::default();
        std::iter::from_fn(move || {
            let ((group, version, _), _) = self.custom.range(Bound::Included(&from), None).next()?;
            // The first name after all those of this version.
            from = (group.clone(), format!("{version}\0").into(), Text::default());
            Some((group.clone(), version.clone()))
        })
    }

    /// Returns which of the names that a definition wants are used by other definitions of its group.
    pub fn names_in_use(&self, definition: &Value) -> NamesInUse {
        let group = definition.at(["spec", "group"]).and_then(Value::as_str).unwrap_or_default();
        let asking = crate::object::meta_text(definition, "name");
        let is_used = |name_use: NameUse, word: &Text| {
            let group = Text::new(group);
            let first = UsedName { group, name_use, word: word.clone(), definition: Text::default() };
            let same = self.names.range(Bound::Included(&first), None).map(|(used, _)| used);
            let mut same = same.take_while(|used| {
                used.group == first.group && used.name_use == name_use && used.word == *word
            });
            same.any(|used| used.definition != asking)
        };
        NamesInUse::among_wanted(definition, is_used)
    }
}

/// Whether a version of a built-in group has resources, which are then its only ones.
fn is_builtin_version(builtin: &Registry, resource: &Resource) -> bool {
    builtin.of_version(&resource.group, &resource.version).next().is_some()
}

fn resource_name(resource: &Resource) -> ResourceName {
    (resource.group.clone(), resource.version.clone(), resource.name.clone())
}

fn kind_name(resource: &Resource) -> ResourceName {
    (resource.api_version.clone(), resource.kind.clone(), resource.name.clone())
}

/// Returns the names that a definition uses, as the index has them.
fn names_of(definition: &Value) -> impl Iterator<Item = UsedName> {
    let group = Text::new(definition.at(["spec", "group"]).and_then(Value::as_str).unwrap_or_default());
    let name = Text::new(crate::object::meta_text(definition, "name"));
    tenure_crd::accepted_names(definition).map(move |(name_use, word)| UsedName {
        group: group.clone(),
        name_use,
        word,
        definition: name.clone(),
    })
}
