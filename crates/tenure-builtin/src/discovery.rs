//! Discovery documents, generated from a registry: the legacy ones (`APIVersions`, `APIGroupList`,
//! `APIGroup`, `APIResourceList`) and the aggregated one. The order of fields does not matter, the order of
//! lists does.

use tenure_meta::{Group, Registry, Resource, Subresource, api_version};
use tenure_value::{Text, Value};

fn texts(words: &[Text]) -> Value {
    Value::array(words.iter().cloned().map(Value::from))
}

fn group_version(group: &str, version: &str) -> Value {
    Value::object([
        ("groupVersion", Value::from(api_version(group, version))),
        ("version", Value::from(version)),
    ])
}

/// Returns the `APIVersions` of `/api`, for a server with that address.
pub fn api_versions(registry: &Registry, address: &str) -> Value {
    let core = registry.groups().iter().find(|group| group.name.is_empty());
    let client = Value::object([("clientCIDR", "0.0.0.0/0".into()), ("serverAddress", address.into())]);
    Value::object([
        ("kind", Value::from("APIVersions")),
        ("versions", core.map(|group| texts(&group.versions)).unwrap_or_default()),
        ("serverAddressByClientCIDRs", Value::array([client])),
    ])
}

fn group_fields(group: &Group) -> Vec<(&'static str, Value)> {
    let versions = group.versions.iter().map(|version| group_version(&group.name, version));
    let mut fields = vec![("name", Value::from(group.name.clone())), ("versions", Value::array(versions))];
    if let Some(preferred) = group.versions.first() {
        fields.push(("preferredVersion", group_version(&group.name, preferred)));
    }
    fields
}

/// Returns the `APIGroupList` of `/apis`.
pub fn api_group_list(registry: &Registry) -> Value {
    let named = registry.groups().iter().filter(|group| !group.name.is_empty());
    Value::object([
        ("kind", Value::from("APIGroupList")),
        ("apiVersion", Value::from("v1")),
        ("groups", Value::array(named.map(|group| Value::object(group_fields(group))))),
    ])
}

/// Returns the `APIGroup` of `/apis/GROUP`.
pub fn api_group(registry: &Registry, group: &str) -> Option<Value> {
    let group = registry.groups().iter().find(|listed| listed.name == group)?;
    let mut fields = group_fields(group);
    fields.extend([("kind", Value::from("APIGroup")), ("apiVersion", Value::from("v1"))]);
    Some(Value::object(fields))
}

/// Returns the `APIResourceList` of `/api/v1` or `/apis/GROUP/VERSION`.
pub fn api_resource_list(registry: &Registry, group: &str, version: &str) -> Option<Value> {
    let served = registry.groups().iter().find(|listed| listed.name == group)?;
    served.versions.iter().find(|listed| **listed == version)?;
    let rows = registry.of_version(group, version).flat_map(|resource| {
        std::iter::once(legacy_row(resource))
            .chain(resource.subresources.iter().map(|sub| legacy_subrow(resource, sub)))
    });
    let mut fields = vec![
        ("kind", Value::from("APIResourceList")),
        ("groupVersion", Value::from(api_version(group, version))),
        ("resources", Value::array(rows)),
    ];
    // Only the list of the core group has no apiVersion.
    if !group.is_empty() {
        fields.push(("apiVersion", Value::from("v1")));
    }
    Some(Value::object(fields))
}

fn legacy_row(resource: &Resource) -> Value {
    let mut fields = vec![
        ("name", Value::from(resource.name.clone())),
        ("singularName", Value::from(resource.singular.clone())),
        ("namespaced", Value::from(resource.scope == super::Scope::Namespaced)),
        ("kind", Value::from(resource.kind.clone())),
        ("verbs", texts(&resource.verbs)),
    ];
    if !resource.short_names.is_empty() {
        fields.push(("shortNames", texts(&resource.short_names)));
    }
    if !resource.categories.is_empty() {
        fields.push(("categories", texts(&resource.categories)));
    }
    if !resource.storage_version_hash.is_empty() {
        fields.push(("storageVersionHash", Value::from(resource.storage_version_hash.clone())));
    }
    Value::object(fields)
}

fn legacy_subrow(resource: &Resource, sub: &Subresource) -> Value {
    let mut fields = vec![
        ("name", Value::from(format!("{}/{}", resource.name, sub.name))),
        ("singularName", Value::from("")),
        ("namespaced", Value::from(resource.scope == super::Scope::Namespaced)),
        ("kind", Value::from(sub.kind.clone())),
        ("verbs", texts(&sub.verbs)),
    ];
    if !sub.version.is_empty() {
        fields.push(("group", Value::from(sub.group.clone())));
        fields.push(("version", Value::from(sub.version.clone())));
    }
    Value::object(fields)
}

/// Returns the aggregated discovery of the core group (`/api`) or of all named groups (`/apis`).
pub fn group_discovery_list(registry: &Registry, root: Root) -> Value {
    let groups = registry.groups().iter().filter(|group| (root == Root::Api) == group.name.is_empty());
    let items = groups.map(|group| {
        let versions = group.versions.iter().map(|version| {
            let resources =
                registry.of_version(&group.name, version).map(|resource| aggregated_row(resource));
            Value::object([
                ("version", Value::from(version.clone())),
                ("freshness", Value::from("Current")),
                ("resources", Value::array(resources)),
            ])
        });
        let name = (!group.name.is_empty()).then(|| ("name", Value::from(group.name.clone())));
        Value::object([("metadata", Value::object(name)), ("versions", Value::array(versions))])
    });
    Value::object([
        ("kind", Value::from("APIGroupDiscoveryList")),
        ("apiVersion", Value::from("apidiscovery.k8s.io/v2")),
        ("metadata", Value::object::<Text>([])),
        ("items", Value::array(items)),
    ])
}

/// The two endpoints of aggregated discovery.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Root {
    /// `/api`, the core group.
    Api,
    /// `/apis`, every other group.
    Apis,
}

fn response_kind(group: &str, version: &str, kind: &str) -> Value {
    Value::object([("group", group), ("version", version), ("kind", kind)].map(|(n, v)| (n, v.into())))
}

fn aggregated_row(resource: &Resource) -> Value {
    let mut fields = vec![
        ("resource", Value::from(resource.name.clone())),
        ("responseKind", response_kind("", "", &resource.kind)),
        ("scope", Value::from(resource.scope.word())),
        ("singularResource", Value::from(resource.singular.clone())),
        ("verbs", texts(&resource.verbs)),
    ];
    if !resource.short_names.is_empty() {
        fields.push(("shortNames", texts(&resource.short_names)));
    }
    if !resource.categories.is_empty() {
        fields.push(("categories", texts(&resource.categories)));
    }
    if !resource.subresources.is_empty() {
        let rows = resource.subresources.iter().map(|sub| {
            Value::object([
                ("subresource", Value::from(sub.name.clone())),
                ("responseKind", response_kind(&sub.group, &sub.version, &sub.kind)),
                ("verbs", texts(&sub.verbs)),
            ])
        });
        fields.push(("subresources", Value::array(rows)));
    }
    Value::object(fields)
}
