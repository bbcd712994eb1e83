//! The key of an object in the archive, as the server has it: `objects/GROUP/RESOURCE/NAMESPACE/NAME`.

use tenure_catalog::object::OBJECTS;

/// The group, the resource and the name of an object.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ObjectKey {
    /// The group; empty for the core group.
    pub group: String,
    /// The resource in plural.
    pub resource: String,
    /// The namespace; empty if it has none.
    pub namespace: String,
    /// The name.
    pub name: String,
}

impl ObjectKey {
    /// Returns the key in the store.
    pub fn stored(&self) -> String {
        let prefix = ObjectKey::prefix(&self.group, &self.resource, Some(&self.namespace));
        format!("{prefix}{}", self.name)
    }

    /// Returns what the keys of a resource begin with, in a namespace or in all.
    pub fn prefix(group: &str, resource: &str, namespace: Option<&str>) -> String {
        let group = if group.is_empty() { "core" } else { group };
        match namespace {
            None | Some("") => format!("{OBJECTS}{group}/{resource}/"),
            Some(namespace) => format!("{OBJECTS}{group}/{resource}/{namespace}/"),
        }
    }

    /// Reads a key of the store.
    pub fn read(stored: &str) -> Option<ObjectKey> {
        let parts: Vec<&str> = stored.strip_prefix(OBJECTS)?.split('/').collect();
        let (group, resource, namespace, name) = match parts.as_slice() {
            [group, resource, name] => (group, resource, "", name),
            [group, resource, namespace, name] => (group, resource, *namespace, name),
            _ => return None,
        };
        let group = if *group == "core" { "" } else { group };
        Some(ObjectKey {
            group: group.to_owned(),
            resource: (*resource).to_owned(),
            namespace: namespace.to_owned(),
            name: (*name).to_owned(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_read_back() {
        for stored in
            ["objects/apps/deployments/default/web", "objects/core/nodes/a", "objects/core/pods/x/y"]
        {
            assert_eq!(ObjectKey::read(stored).unwrap().stored(), stored);
        }
        assert_eq!(ObjectKey::read("recorder/positions/apps/deployments"), None);
    }
}
