//! The resources that are served at one moment: the built-in ones and those that definitions add. A snapshot never changes; a
//! definition that is created, changed or deleted makes a new one, and running requests keep theirs.

use super::{custom_kind::CustomKind, documents::Documents, handler::ResourceHandler};
use crate::object::Stored;
use bytes::Bytes;
use std::{
    collections::{HashMap, HashSet},
    sync::Arc,
};
use tenure_meta::{Group, Registry, Resource};
use tenure_profile::Profile;
use tenure_value::Text;

/// Group, version and plural name of a resource.
type ResourceName = (Text, Text, Text);

/// The resources that are served, and the documents about them.
pub struct Snapshot {
    /// Groups and resources, for discovery.
    pub registry: Registry,
    /// Every resource by its name.
    handlers: HashMap<ResourceName, ResourceHandler>,
    /// The established custom kinds by the names of their definitions.
    pub(super) kinds: HashMap<Text, Arc<CustomKind>>,
    /// Every stored definition by its key, served or not.
    pub(super) definitions: HashMap<Bytes, Arc<Stored>>,
    /// Discovery and OpenAPI documents, made when they are first requested.
    pub documents: Documents,
}

impl Snapshot {
    /// Returns the snapshot of the built-in resources alone.
    pub fn builtin(profile: Profile) -> Snapshot {
        Snapshot::new(HashMap::new(), HashMap::new(), None, profile)
    }

    /// Creates a snapshot; handlers of the former one that have not changed are reused.
    pub fn new(
        kinds: HashMap<Text, Arc<CustomKind>>,
        definitions: HashMap<Bytes, Arc<Stored>>,
        former: Option<&Snapshot>,
        profile: Profile,
    ) -> Snapshot {
        let builtin = tenure_builtin::registry();
        let mut groups: Vec<Group> = builtin.groups().to_vec();
        let mut resources: Vec<Arc<Resource>> = builtin.resources().to_vec();
        // Both are asked for every definition, of which there may be thousands.
        let mut positions: HashMap<Text, usize> =
            groups.iter().enumerate().map(|(at, group)| (group.name.clone(), at)).collect();
        let builtin_versions: HashSet<(&Text, &Text)> =
            builtin.resources().iter().map(|of| (&of.group, &of.version)).collect();
        let mut custom = HashMap::new();
        let mut sorted: Vec<&Arc<CustomKind>> = kinds.values().collect();
        sorted.sort_by(|a, b| {
            (&a.definition.group, &a.definition.name).cmp(&(&b.definition.group, &b.definition.name))
        });
        for kind in sorted {
            let definition = &kind.definition;
            let added = definition.group();
            if added.versions.is_empty() {
                continue;
            }
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
            // A version of a built-in group has its built-in resources alone.
            let is_builtin = |of: &&Arc<Resource>| builtin_versions.contains(&(&of.group, &of.version));
            resources.extend(kind.resources.iter().filter(|of| !is_builtin(of)).cloned());
            custom.insert((definition.group.clone(), definition.names.plural.clone()), kind.clone());
        }
        let registry = Registry::new(groups, resources);
        let handlers = registry.resources().iter().map(|resource| {
            let kind = custom.get(&(resource.group.clone(), resource.name.clone()));
            let name = (resource.group.clone(), resource.version.clone(), resource.name.clone());
            let same = former.and_then(|former| former.handlers.get(&name));
            let same = same.filter(|handler| handler.is_of(resource, kind)).cloned();
            let handler =
                same.unwrap_or_else(|| ResourceHandler::new(resource.clone(), kind.cloned(), profile));
            (name, handler)
        });
        let handlers = handlers.collect();
        Snapshot { registry, handlers, kinds, definitions, documents: Documents::default() }
    }

    /// Finds a resource by group, version and plural name.
    pub fn find(&self, group: &str, version: &str, resource: &str) -> Option<ResourceHandler> {
        self.handlers.get(&(group.into(), version.into(), resource.into())).cloned()
    }

    /// Finds the resource of a kind.
    pub fn of_kind(&self, api_version: &str, kind: &str) -> Option<ResourceHandler> {
        let resource = self.registry.of_kind(api_version, kind)?;
        self.find(&resource.group, &resource.version, &resource.name)
    }

    /// Returns every resource whose objects are stored, at every version.
    pub fn stored(&self) -> impl Iterator<Item = ResourceHandler> {
        let stored = self.registry.resources().iter().filter(|resource| resource.is_stored());
        stored.filter_map(|resource| self.find(&resource.group, &resource.version, &resource.name))
    }

    /// Returns the custom kinds that are served.
    pub fn custom_kinds(&self) -> impl Iterator<Item = &Arc<CustomKind>> {
        self.kinds.values().filter(|kind| !kind.definition.group().versions.is_empty())
    }
}
