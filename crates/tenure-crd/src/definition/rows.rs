//! The resources of a definition, one per served version, so that discovery and the verbs treat them like any
//! other resource.

use super::{Definition, Version, version_rank::version_rank};
use ring::digest::{SHA256, digest};
use std::cmp::Reverse;
use tenure_meta::{
    GenerationTriggers, Group, Resource, SelectableField, StatusOnCreate, StrategyOptions, Subresource,
    base64,
};
use tenure_profile::Behaviour;
use tenure_value::Text;

const VERBS: [&str; 8] = ["delete", "deletecollection", "get", "list", "patch", "create", "update", "watch"];
const PART_VERBS: [&str; 3] = ["get", "patch", "update"];

impl Definition {
    /// Returns the resource of each served version, preferred first.
    pub fn resources(&self) -> Vec<Resource> {
        self.served().into_iter().map(|version| self.resource(version)).collect()
    }

    /// Returns the group with its served versions, preferred first.
    pub fn group(&self) -> Group {
        let versions = self.served().into_iter().map(|version| version.name.clone()).collect();
        Group { name: self.group.clone(), versions }
    }

    /// Whether any version is served.
    pub fn is_served(&self) -> bool {
        self.versions.iter().any(|version| version.is_served)
    }

    /// Returns the served versions, preferred first.
    pub fn served(&self) -> Vec<&Version> {
        let mut served: Vec<&Version> = self.versions.iter().filter(|version| version.is_served).collect();
        served.sort_by_key(|version| Reverse(version_rank(&version.name)));
        served
    }

    /// Returns the resource of a version.
    pub fn resource(&self, version: &Version) -> Resource {
        let storage = self.storage_version().map_or(&version.name, |storage| &storage.name);
        Resource {
            type_id: None,
            group: self.group.clone(),
            version: version.name.clone(),
            api_version: version.api_version.clone(),
            name: self.names.plural.clone(),
            kind: self.names.kind.clone(),
            list_kind: self.names.list_kind.clone(),
            singular: self.names.singular.clone(),
            short_names: self.names.short_names.clone(),
            categories: self.names.categories.clone(),
            scope: self.scope,
            verbs: VERBS.map(Text::new).into(),
            subresources: self.subresources(version),
            storage_version_hash: storage_version_hash(&self.group, storage, &self.names.kind),
            storage: (self.group.clone(), storage.clone()),
            selectable_fields: version
                .selectable
                .iter()
                .map(|path| SelectableField::new(path.selector()))
                .collect(),
            strategy: StrategyOptions {
                generation: true,
                bumps: GenerationTriggers {
                    content: true,
                    status: !version.has_status,
                    ..GenerationTriggers::default()
                },
                status_on_create: match version.has_status {
                    true => StatusOnCreate::Dropped,
                    false => StatusOnCreate::Taken,
                },
                status_keeps: [].into(),
                unconditional_update: false,
                plain_finalizers: true,
                indexed_owners: self.kubernetes.has(Behaviour::IndexedOwnerErrors),
                ..StrategyOptions::default()
            },
        }
    }

    fn subresources(&self, version: &Version) -> Box<[Subresource]> {
        let verbs: Box<[Text]> = PART_VERBS.map(Text::new).into();
        let status = version.has_status.then(|| Subresource {
            name: "status".into(),
            group: Text::default(),
            version: Text::default(),
            kind: self.names.kind.clone(),
            verbs: verbs.clone(),
        });
        let scale = version.scale.is_some().then(|| Subresource {
            name: "scale".into(),
            group: "autoscaling".into(),
            version: "v1".into(),
            kind: "Scale".into(),
            verbs,
        });
        status.into_iter().chain(scale).collect()
    }
}

/// Returns the hash that identifies the storage version.
fn storage_version_hash(group: &str, version: &str, kind: &str) -> Text {
    let hash = digest(&SHA256, format!("{group}/{version}/{kind}").as_bytes());
    base64::encode(hash.as_ref().get(..8).unwrap_or_default()).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn storage_version_hashes_equal_those_recorded_for_built_in_kinds() {
        for (group, kind, recorded) in [
            ("", "ConfigMap", "qFsyl6wFWjQ="),
            ("", "Pod", "xPOwRZ+Yhw8="),
            ("apps", "Deployment", "8aSe+NMegvE="),
        ] {
            assert_eq!(storage_version_hash(group, "v1", kind), recorded, "{kind}");
        }
    }
}
