//! The types of the API machinery, which are in the document of every version although no resource has them: discovery, watch
//! events, the options of a deletion.

use super::schemas::{Publisher, group_version_kind};
use tenure_value::Value;

/// The types that have no schema of their own among the built-in kinds. `$META` and `$RUNTIME` are the places of the others.
const TYPES: [(&str, &str); 4] = [
    (
        "APIResource",
        r#"{"type":"object","required":["name","singularName","namespaced","kind","verbs"],"properties":{
            "name":{"type":"string","default":""},"singularName":{"type":"string","default":""},
            "namespaced":{"type":"boolean","default":false},"group":{"type":"string"},"version":{"type":"string"},
            "kind":{"type":"string","default":""},"verbs":{"type":"array","items":{"type":"string","default":""}},
            "shortNames":{"type":"array","x-kubernetes-list-type":"atomic","items":{"type":"string","default":""}},
            "categories":{"type":"array","x-kubernetes-list-type":"atomic","items":{"type":"string","default":""}},
            "storageVersionHash":{"type":"string"}}}"#,
    ),
    (
        "APIResourceList",
        r#"{"type":"object","required":["groupVersion","resources"],"properties":{
            "apiVersion":{"type":"string"},"kind":{"type":"string"},"groupVersion":{"type":"string","default":""},
            "resources":{"type":"array","x-kubernetes-list-type":"atomic","items":{"$ref":"$META.APIResource"}}}}"#,
    ),
    ("Patch", r#"{"type":"object"}"#),
    (
        "WatchEvent",
        r#"{"type":"object","required":["type","object"],"properties":{
            "type":{"type":"string","default":""},"object":{"$ref":"$RUNTIME.RawExtension"}}}"#,
    ),
];

const META: &str = "io.k8s.apimachinery.pkg.apis.meta.v1";
const RUNTIME: &str = "io.k8s.apimachinery.pkg.runtime";

/// Adds the types to the document of the given versions.
pub(super) fn add(publisher: &mut Publisher<'_>, api_versions: &[&str]) {
    for name in ["DeleteOptions", "Status"] {
        publisher.named(&format!("{META}.{name}"));
    }
    publisher.named(&format!("{RUNTIME}.RawExtension"));
    let place = publisher.place();
    for (name, text) in TYPES {
        let text = text.replace("$META", &format!("{place}{META}"));
        let text = text.replace("$RUNTIME", &format!("{place}{RUNTIME}"));
        let schema: Value = text.parse().unwrap_or_default();
        let kinds: Vec<Value> = match name {
            "APIResourceList" => vec![group_version_kind("v1", name)],
            "WatchEvent" => {
                let others = api_versions.iter().filter(|version| **version != "v1");
                ["v1"].iter().chain(others).map(|version| group_version_kind(version, name)).collect()
            }
            _ => Vec::new(),
        };
        let fields = schema.as_object().cloned().unwrap_or_default();
        let fields = match kinds.is_empty() {
            true => fields,
            false => fields.with("x-kubernetes-group-version-kind", Value::array(kinds)),
        };
        publisher.define(&format!("{META}.{name}"), fields.into());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tenure_profile::KubernetesVersion;

    #[test]
    fn every_document_has_the_types_of_the_machinery() {
        let registry = tenure_builtin::registry();
        let names =
            ["APIResource", "APIResourceList", "DeleteOptions", "Patch", "Preconditions", "WatchEvent"];
        for (group, version) in [("", "v1"), ("batch", "v1"), ("authorization.k8s.io", "v1")] {
            let document =
                crate::openapi::version_3(registry, KubernetesVersion::DEFAULT, group, version, &[]);
            for name in names {
                let schema = document.at(["components", "schemas", &format!("{META}.{name}")]);
                assert!(schema.is_some_and(|schema| schema.as_object().is_some()), "{group} {name}");
            }
        }
        let document = crate::openapi::version_2(registry, KubernetesVersion::DEFAULT, &[]);
        let event = document.at(["definitions", &format!("{META}.WatchEvent")]).cloned().unwrap_or_default();
        let kinds = event.get("x-kubernetes-group-version-kind").and_then(Value::as_array);
        assert!(kinds.is_some_and(|kinds| kinds.contains(&group_version_kind("batch/v1", "WatchEvent"))));
        assert_eq!(
            event.at(["properties", "object", "$ref"]).and_then(Value::as_str),
            Some(format!("#/definitions/{RUNTIME}.RawExtension").as_str())
        );
    }
}
