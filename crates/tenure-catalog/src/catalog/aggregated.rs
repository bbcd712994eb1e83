//! What extension API servers add to discovery and OpenAPI. The documents of a snapshot together with it are made when they are first
//! requested, and again when either of the two has changed.

use super::{documents::Documents, snapshot::Snapshot};
use parking_lot::Mutex;
use std::{
    cmp::Reverse,
    collections::{BTreeMap, HashMap},
    sync::Arc,
};
use tenure_crd::version_rank;
use tenure_meta::{Group, Registry, ValueExt};
use tenure_value::{Text, Value};

/// The group of APIServices, which comes before all others.
const REGISTRATION_GROUP: &str = "apiregistration.k8s.io";

/// The priorities of a version of a group: that of its group, and its own within the group. Higher ones come first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Priority {
    /// The priority of the group, as far as this version decides it.
    pub group: i64,
    /// The priority of the version within its group.
    pub version: i64,
}

impl Priority {
    /// The priority of custom resources.
    pub const CUSTOM: Priority = Priority { group: 1000, version: 100 };
}

/// A version of a group that an extension API server serves.
#[derive(Clone, Debug)]
pub struct AggregatedVersion {
    /// The group.
    pub group: Text,
    /// The version.
    pub version: Text,
    /// Where it comes in discovery.
    pub priority: Priority,
    /// Its `APIVersionDiscovery`.
    pub discovery: Value,
    /// Its document in version 3.
    pub openapi_3: Option<OpenApi3>,
    /// The part of the server's document in version 2 that is about it.
    pub openapi_2: Option<Arc<Value>>,
}

/// Where the OpenAPI document in version 3 of an extension API server is.
#[derive(Clone, Debug, PartialEq)]
pub enum OpenApi3 {
    /// The extension server serves it; its address in the index.
    Served(Text),
    /// It was made from the document in version 2.
    Converted(Arc<Value>),
}

/// What extension API servers serve at one moment.
#[derive(Default)]
pub struct Aggregated {
    versions: Vec<AggregatedVersion>,
    /// The priorities of what this server serves, as far as they are not those of custom resources.
    priorities: HashMap<(Text, Text), Priority>,
    merged: Mutex<Option<(Arc<Snapshot>, Arc<Merged>)>>,
}

/// A snapshot together with what extension API servers serve.
pub(super) struct Merged {
    pub registry: Registry,
    pub documents: Documents,
}

impl Aggregated {
    /// Creates the versions of extension servers, with the priorities of what this server serves.
    pub fn new(versions: Vec<AggregatedVersion>, priorities: HashMap<(Text, Text), Priority>) -> Aggregated {
        Aggregated { versions, priorities, merged: Mutex::default() }
    }

    /// Whether discovery is that of this server alone.
    pub fn is_empty(&self) -> bool {
        self.versions.is_empty() && self.priorities.is_empty()
    }

    /// Returns the versions of extension servers.
    pub fn versions(&self) -> &[AggregatedVersion] {
        &self.versions
    }

    /// Finds a version of an extension server.
    pub fn find(&self, group: &str, version: &str) -> Option<&AggregatedVersion> {
        self.versions.iter().find(|served| served.group == group && served.version == version)
    }

    pub(super) fn merged(&self, snapshot: &Arc<Snapshot>) -> Arc<Merged> {
        let mut merged = self.merged.lock();
        if let Some((of_snapshot, merged)) = &*merged
            && Arc::ptr_eq(of_snapshot, snapshot)
        {
            return merged.clone();
        }
        let new = Arc::new(Merged { registry: self.registry(snapshot), documents: Documents::default() });
        *merged = Some((snapshot.clone(), new.clone()));
        new
    }

    /// Returns the groups and resources of a snapshot, with the groups of extension servers, in the order of discovery.
    fn registry(&self, snapshot: &Snapshot) -> Registry {
        let local = snapshot.registry();
        let mut groups: BTreeMap<Text, BTreeMap<Text, Priority>> = BTreeMap::new();
        for group in local.groups() {
            for version in group.versions.iter() {
                let priority = self.priorities.get(&(group.name.clone(), version.clone()));
                let priority = priority.copied().unwrap_or(Priority::CUSTOM);
                groups.entry(group.name.clone()).or_default().insert(version.clone(), priority);
            }
        }
        for version in &self.versions {
            groups
                .entry(version.group.clone())
                .or_default()
                .insert(version.version.clone(), version.priority);
        }
        let mut sorted: Vec<(Text, BTreeMap<Text, Priority>)> = groups.into_iter().collect();
        sorted.sort_by_key(|(name, versions)| {
            let first = if name.is_empty() { 2 } else { u8::from(name == REGISTRATION_GROUP) };
            Reverse((first, versions.values().map(|priority| priority.group).max(), Reverse(name.clone())))
        });
        let groups = sorted.into_iter().map(|(name, versions)| {
            let mut versions: Vec<(Text, Priority)> = versions.into_iter().collect();
            versions.sort_by_key(|(name, priority)| Reverse((priority.version, version_rank(name))));
            Group { name, versions: versions.into_iter().map(|(name, _)| name).collect() }
        });
        let resources = local.resources().iter();
        let own = resources.filter(|resource| self.find(&resource.group, &resource.version).is_none());
        Registry::new(groups.collect(), own.cloned().collect())
    }

    /// Replaces the versions of extension servers in an aggregated discovery document.
    pub(super) fn complete(&self, list: Value) -> Value {
        let items = list.items("items").iter().map(|group| {
            let name = group.get("metadata").map(|metadata| metadata.text("name")).unwrap_or_default();
            let versions = group.items("versions").iter().map(|own| {
                let found = self.find(&name, &own.text("version"));
                found.map_or_else(|| own.clone(), |served| served.discovery.clone())
            });
            let fields = group.as_object().cloned().unwrap_or_default();
            Value::from(fields.with("versions", Value::array(versions)))
        });
        let items = Value::array(items);
        list.as_object().cloned().unwrap_or_default().with("items", items).into()
    }
}
