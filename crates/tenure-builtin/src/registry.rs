//! The built-in resources: rows of `data/resources.json`.

use crate::data::{self, DataError, PerVersion, RESOURCES, per_version};
use std::sync::Arc;
use tenure_meta::{Group, Registry, Resource, ValueExt};
use tenure_profile::{Behaviour, KubernetesVersion};
use tenure_schema::Schema;
use tenure_value::Value;

/// Returns the built-in resources of the default version of Kubernetes. It is enough for those who need the names and keys of a
/// resource that all versions have; what is served is that of [`registry_at`].
///
/// # Panics
///
/// If the data files of this crate are invalid; [`Kinds::check`](crate::Kinds::check) returns an error
/// instead.
pub fn registry() -> &'static Registry {
    registry_at(KubernetesVersion::DEFAULT)
}

/// Returns the built-in resources of a version of Kubernetes.
///
/// # Panics
///
/// If the data files of this crate are invalid, as [`registry`] does.
pub fn registry_at(version: KubernetesVersion) -> &'static Registry {
    try_registry(version).unwrap_or_else(|error| panic!("{error}"))
}

/// Returns the built-in resources of a version, or the error in the data.
pub(crate) fn try_registry(version: KubernetesVersion) -> Result<&'static Registry, DataError> {
    static BUILTIN: PerVersion<Result<Registry, DataError>> = per_version();
    let read = || compile(&data::resources(version)?, version);
    BUILTIN[version as usize].get_or_init(read).as_ref().map_err(DataError::clone)
}

fn compile(document: &Value, version: KubernetesVersion) -> Result<Registry, DataError> {
    let schema = Schema::builtin_at(version);
    let groups = data::rows(RESOURCES, document, "groups")?.iter();
    let groups = groups.map(|row| Group { name: row.text("group"), versions: row.texts("versions") });
    let rows = data::rows(RESOURCES, document, "resources")?.iter();
    let resources = rows.map(|row| {
        let name = format!("{}/{} {}", row.text("group"), row.text("version"), row.text("resource"));
        let mut resource =
            Resource::from_row(row, schema).map_err(|reason| DataError::new(RESOURCES, name, reason))?;
        resource.strategy.indexed_owners = version.has(Behaviour::IndexedOwnerErrors);
        Ok(Arc::new(resource))
    });
    Ok(Registry::new(groups.collect(), resources.collect::<Result<_, _>>()?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use tenure_meta::Scope;

    #[test]
    fn an_invalid_row_is_an_error_with_its_name() {
        for (row, reason) in [
            (r#""scope":"Galaxy""#, "unknown scope \"Galaxy\"; known are Namespaced, Cluster"),
            (r#""scope":"Cluster","strategy":{"names":"nope"}"#, "unknown names \"nope\""),
            (r#""scope":"Cluster","strategy":{"bumps":["all"]}"#, "unknown bumps \"all\""),
            (r#""scope":"Cluster","strateggy":{}"#, "unknown member \"strateggy\""),
        ] {
            let text = format!(
                r#"{{"groups":[],"resources":[{{"group":"g","version":"v1","resource":"as","kind":"A",{row}}}]}}"#
            );
            let error = compile(&text.parse().unwrap(), KubernetesVersion::DEFAULT).unwrap_err().to_string();
            assert!(error.starts_with("data/resources.json: g/v1 as: ") && error.contains(reason), "{error}");
        }
    }

    #[test]
    fn resources_are_found_by_path_and_by_kind() {
        let counts = KubernetesVersion::ALL.map(|version| registry_at(version).resources().len());
        assert_eq!(counts, [68, 72]);
        let registry = registry();
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
        for resource in registry.resources().iter().filter(|resource| resource.is_stored()) {
            assert!(registry.storage_of(resource).is_some(), "{}", resource.qualified());
        }
        let events = registry.find("events.k8s.io", "v1", "events").unwrap();
        assert_eq!(registry.storage_of(events).unwrap().group, "");
        assert_eq!(registry.forms_of(events).count(), 2);
    }
}
