//! The built-in resources: rows of `data/resources.json`.

use crate::pack::RESOURCES;
use std::sync::{Arc, LazyLock};
use tenure_meta::{Group, Registry, Resource, Row};

/// Returns the built-in resources.
pub fn registry() -> &'static Registry {
    static BUILTIN: LazyLock<Registry> = LazyLock::new(|| {
        let groups = RESOURCES.items("groups").iter();
        let groups = groups.map(|row| Group { name: row.text("group"), versions: row.texts("versions") });
        let resources = RESOURCES.items("resources").iter();
        let resources = resources.map(|row| Arc::new(Resource::from_row(row)));
        Registry::new(groups.collect(), resources.collect())
    });
    &BUILTIN
}

#[cfg(test)]
mod tests {
    use super::*;
    use tenure_meta::Scope;

    #[test]
    fn resources_are_found_by_path_and_by_kind() {
        let registry = registry();
        assert_eq!(registry.resources().len(), 68);
        let deployments = registry.find("apps", "v1", "deployments").unwrap();
        assert_eq!(deployments.kind, "Deployment");
        assert_eq!(deployments.scope, Scope::Namespaced);
        assert!(deployments.has_status() && deployments.subresource("scale").is_some());
        assert!(Arc::ptr_eq(deployments, registry.of_kind("apps/v1", "Deployment").unwrap()));
        assert!(registry.find("apps", "v2", "deployments").is_none());
    }

    #[test]
    fn every_resource_is_stored_in_a_version_that_is_served() {
        let registry = registry();
        for of in registry.resources().iter().filter(|of| of.is_stored()) {
            assert!(registry.storage_of(of).is_some(), "{}", of.qualified());
        }
        let events = registry.find("events.k8s.io", "v1", "events").unwrap();
        assert_eq!(registry.storage_of(events).unwrap().group, "");
        assert_eq!(registry.forms_of(events).count(), 2);
    }
}
