//! What the server publishes about itself as OpenAPI, made from the topology it works with: version 3 by
//! group and version, version 2 as one document. `kubectl` explains, validates and patches by it, so every
//! `x-kubernetes-*` mark must be in it.
//!
//! It does not know HTTP or storage.

mod binary;
mod binary_2;
mod binary_3;
mod descriptions;
mod machinery;
mod merge;
mod operations;
mod schemas;
mod server_version;

pub use binary_2::version_2_in_protobuf;
pub use binary_3::version_3_in_protobuf;
pub use merge::{convert_to_version_3, filter_version_2, merge_version_2};
use operations::paths;
pub use schemas::Component;
use schemas::Publisher;
pub use server_version::server_version;
use std::collections::BTreeSet;
pub use tenure_meta::OpenApiVersion;
use tenure_meta::Registry;
use tenure_profile::KubernetesVersion;
use tenure_schema::Schema;
use tenure_value::{Text, Value};

/// The document of one group and version of a version of Kubernetes, in version 3.
pub fn version_3(
    registry: &Registry,
    kubernetes: KubernetesVersion,
    group: &str,
    version: &str,
    custom: &[Component],
) -> Value {
    let mut publisher =
        Publisher::new(Schema::builtin_at(kubernetes), kubernetes, OpenApiVersion::V3, custom);
    let paths = paths(registry.of_version(group, version), &mut publisher);
    machinery::add(&mut publisher, &[&tenure_meta::api_version(group, version)]);
    Value::object([
        ("openapi", Value::from("3.0.0")),
        ("info", info(kubernetes)),
        ("paths", paths),
        (
            "components",
            Value::object([("schemas", publisher.definitions()), ("securitySchemes", security_schemes())]),
        ),
        ("security", security()),
    ])
}

/// The document of everything, in version 2.
pub fn version_2(registry: &Registry, kubernetes: KubernetesVersion, custom: &[Component]) -> Value {
    let mut publisher =
        Publisher::new(Schema::builtin_at(kubernetes), kubernetes, OpenApiVersion::V2, custom);
    let paths = paths(registry.resources().iter(), &mut publisher);
    let versions: BTreeSet<&str> =
        registry.resources().iter().map(|resource| resource.api_version.as_str()).collect();
    machinery::add(&mut publisher, &versions.into_iter().collect::<Vec<&str>>());
    Value::object([
        ("swagger", Value::from("2.0")),
        ("info", info(kubernetes)),
        ("paths", paths),
        ("definitions", publisher.definitions()),
        ("securityDefinitions", security_schemes()),
        ("security", security()),
    ])
}

/// The name by which the index of version 3 lists a group and version.
pub fn index_name(group: &str, version: &str) -> Text {
    if group.is_empty() { format!("api/{version}").into() } else { format!("apis/{group}/{version}").into() }
}

fn info(kubernetes: KubernetesVersion) -> Value {
    Value::object([("title", Value::from("Kubernetes")), ("version", Value::from(kubernetes.release()))])
}

fn security_schemes() -> Value {
    let bearer =
        [("type", "apiKey"), ("in", "header"), ("name", "authorization"), ("description", "Bearer token")];
    Value::object([("BearerToken", Value::object(bearer.map(|(name, value)| (name, Value::from(value)))))])
}

fn security() -> Value {
    Value::array([Value::object([("BearerToken", Value::array([]))])])
}

#[cfg(test)]
mod tests {
    use super::*;
    use tenure_schema::openapi;

    #[test]
    fn published_schemas_compile_to_the_same_types() {
        for kubernetes in KubernetesVersion::ALL {
            published_schemas_of(kubernetes);
        }
    }

    fn published_schemas_of(kubernetes: KubernetesVersion) {
        let (registry, schema) = (tenure_builtin::registry_at(kubernetes), Schema::builtin_at(kubernetes));
        let document = version_3(registry, kubernetes, "apps", "v1", &[]);
        let back = openapi::compile_v3(&document).unwrap();
        let whole = openapi::compile_v2(&version_2(registry, kubernetes, &[])).unwrap();
        for (again, dialect) in [(&back, OpenApiVersion::V3), (&whole, OpenApiVersion::V2)] {
            let (ours, theirs) = (schema.kind("apps/v1", "Deployment"), again.kind("apps/v1", "Deployment"));
            let described = |ty: Option<tenure_schema::TypeRef<'_>>, from: &Schema| {
                let mut publisher = Publisher::new(from, kubernetes, dialect, &[]);
                publisher.reference(ty.unwrap());
                publisher.definitions()
            };
            assert_eq!(described(ours, schema), described(theirs, again), "{dialect:?}");
        }
    }

    #[test]
    fn every_reference_resolves() {
        fn references(value: &Value, found: &mut Vec<Text>) {
            match value {
                Value::Object(object) => {
                    found.extend(object.get("$ref").and_then(Value::as_str).map(Text::new));
                    object.iter().for_each(|(_, value)| references(value, found));
                }
                Value::Array(items) => items.iter().for_each(|item| references(item, found)),
                _ => {}
            }
        }
        for (kubernetes, group) in KubernetesVersion::ALL.into_iter().flat_map(|kubernetes| {
            tenure_builtin::registry_at(kubernetes).groups().iter().map(move |group| (kubernetes, group))
        }) {
            let registry = tenure_builtin::registry_at(kubernetes);
            for version in group.versions.iter() {
                let document = version_3(registry, kubernetes, &group.name, version, &[]);
                let schemas = document.at(["components", "schemas"]).unwrap();
                let mut found = Vec::new();
                references(&document, &mut found);
                assert!(!found.is_empty());
                for reference in found {
                    let name = reference.strip_prefix("#/components/schemas/").unwrap();
                    assert!(schemas.get(name).is_some(), "{}/{version}: {reference}", group.name);
                }
            }
        }
    }
}
