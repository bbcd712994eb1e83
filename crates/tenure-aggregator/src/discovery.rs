//! The discovery of an extension API server: its aggregated document, or else the list of resources of one group and version, in the
//! form of an `APIVersionDiscovery`.

use crate::{Aggregator, ApiService, publication::unknown_version};
use hyper::{StatusCode, header};
use std::{collections::BTreeMap, time::Duration};
use tenure_meta::ValueExt;
use tenure_value::{Object, Text, Value};

/// The aggregated documents that are understood.
const AGGREGATED: &str = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,\
                          application/json;g=apidiscovery.k8s.io;v=v2beta1;as=APIGroupDiscoveryList";
/// How long a document may take.
const DISCOVERY_TIME: Duration = Duration::from_secs(5);

impl Aggregator {
    /// Reads the discovery of the group and version of an APIService.
    pub(crate) async fn fetch_discovery(&self, service: &ApiService) -> Result<Value, String> {
        let fetched = self.fetch(service, "/apis", (AGGREGATED, ""), DISCOVERY_TIME).await?;
        if fetched.code == StatusCode::SERVICE_UNAVAILABLE {
            return Err(format!("/apis: {}", fetched.code));
        }
        if fetched.code == StatusCode::OK && is_aggregated(fetched.header(header::CONTENT_TYPE)) {
            return Ok(version_of(&fetched.document()?, service));
        }
        let path = service.discovery_path();
        let fetched = self.fetch(service, &path, ("application/json", ""), DISCOVERY_TIME).await?;
        match fetched.code {
            StatusCode::OK => Ok(of_resource_list(&fetched.document()?, &service.version)),
            code => Err(format!("failed to download legacy discovery for {path}: {code}")),
        }
    }
}

/// Whether a media type is that of an aggregated document.
fn is_aggregated(media_type: &str) -> bool {
    let has = |parameter: &str| media_type.split(';').any(|part| part.trim() == parameter);
    has("g=apidiscovery.k8s.io") && has("as=APIGroupDiscoveryList") && (has("v=v2") || has("v=v2beta1"))
}

/// Returns the discovery of the group and version of an APIService in an aggregated document. A server that does not mention them
/// serves nothing of them.
fn version_of(document: &Value, service: &ApiService) -> Value {
    let groups = document.items("items").iter();
    let mut groups = groups.filter(|group| {
        group.get("metadata").map(|metadata| metadata.text("name")).unwrap_or_default() == service.group
    });
    let version = groups.find_map(|group| {
        group.items("versions").iter().find(|version| version.text("version") == service.version).cloned()
    });
    let Some(version) = version else { return unknown_version(&service.version) };
    let resources = version.items("resources").iter().map(|resource| {
        let resource = with_response_kind(resource);
        let subresources = resource.get("subresources").and_then(Value::as_array);
        match subresources {
            Some(list) => {
                let list = Value::array(list.iter().map(|resource| with_response_kind(resource).into()));
                resource.with("subresources", list).into()
            }
            None => Value::from(resource),
        }
    });
    let resources = Value::array(resources);
    version.as_object().cloned().unwrap_or_default().with("resources", resources).into()
}

/// Clients expect a `responseKind` in every row.
fn with_response_kind(row: &Value) -> Object {
    let fields = row.as_object().cloned().unwrap_or_default();
    match fields.get("responseKind") {
        Some(kind) if !kind.is_null() => fields,
        _ => fields.with("responseKind", response_kind("", "", "")),
    }
}

fn response_kind(group: &str, version: &str, kind: &str) -> Value {
    Value::object(
        [("group", group), ("version", version), ("kind", kind)].map(|(name, value)| (name, value.into())),
    )
}

/// Converts an `APIResourceList`.
fn of_resource_list(list: &Value, version: &str) -> Value {
    let mut rows: BTreeMap<Text, (Object, Vec<Value>)> = BTreeMap::new();
    let mut order: Vec<Text> = Vec::new();
    for row in list.items("resources") {
        let name = row.text("name");
        let (resource, subresource) = match name.split_once('/') {
            Some((resource, subresource)) => (Text::new(resource), Some(subresource)),
            None => (name.clone(), None),
        };
        let kind = response_kind(&row.text("group"), &row.text("version"), &row.text("kind"));
        let verbs = Value::array(row.items("verbs").iter().cloned());
        let (fields, subresources) = rows.entry(resource.clone()).or_insert_with(|| {
            order.push(resource.clone());
            let scope = if row.flag("namespaced") { "Namespaced" } else { "Cluster" };
            let fields = Value::object([("resource", Value::from(resource)), ("scope", scope.into())]);
            (fields.as_object().cloned().unwrap_or_default(), Vec::new())
        });
        match subresource {
            Some(subresource) => subresources.push(Value::object([
                ("subresource", Value::from(subresource)),
                ("responseKind", kind),
                ("verbs", verbs),
            ])),
            None => {
                let mut row_fields = fields.with("responseKind", kind).with("verbs", verbs);
                row_fields = row_fields.with("singularResource", row.text("singularName"));
                for name in ["shortNames", "categories"] {
                    if !row.items(name).is_empty() {
                        row_fields = row_fields.with(name, Value::array(row.items(name).iter().cloned()));
                    }
                }
                *fields = row_fields;
            }
        }
    }
    let rows = order.iter().filter_map(|name| rows.remove(name)).map(|(fields, subresources)| {
        let fields =
            if fields.contains("responseKind") { fields } else { with_response_kind(&fields.into()) };
        match subresources.is_empty() {
            true => Value::from(fields),
            false => fields.with("subresources", Value::array(subresources)).into(),
        }
    });
    Value::object([("version", Value::from(version)), ("resources", Value::array(rows))])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn value(text: &str) -> Value {
        text.parse().unwrap()
    }

    #[test]
    fn a_version_is_found_in_an_aggregated_document_and_completed() {
        let service =
            ApiService::read(&value(r#"{"metadata":{"name":"v1.g"},"spec":{"group":"g","version":"v1"}}"#));
        let document = value(
            r#"{"items":[{"metadata":{"name":"other"},"versions":[{"version":"v1"}]},{"metadata":{"name":"g"},"versions":[
                {"version":"v2"},{"version":"v1","resources":[{"resource":"jobs","verbs":["list"],
                    "subresources":[{"subresource":"status","responseKind":{"kind":"Job"}},{"subresource":"x"}]}]}]}]}"#,
        );
        let none = r#"{"group":"","version":"","kind":""}"#;
        let expected = format!(
            r#"{{"version":"v1","resources":[{{"resource":"jobs","verbs":["list"],"responseKind":{none},
                "subresources":[{{"subresource":"status","responseKind":{{"kind":"Job"}}}},{{"subresource":"x","responseKind":{none}}}]}}]}}"#
        );
        assert_eq!(version_of(&document, &service), value(&expected));
        assert_eq!(version_of(&value(r#"{"items":[]}"#), &service), value(r#"{"version":"v1"}"#));
    }

    #[test]
    fn a_resource_list_is_converted() {
        let list = value(
            r#"{"resources":[
                {"name":"things","singularName":"thing","namespaced":true,"kind":"Thing","verbs":["get"],"shortNames":["th"]},
                {"name":"things/scale","namespaced":true,"group":"autoscaling","version":"v1","kind":"Scale","verbs":["get"]},
                {"name":"lonely/status","namespaced":false,"kind":"Lonely","verbs":["update"]}]}"#,
        );
        let expected = value(
            r#"{"version":"v1","resources":[
                {"resource":"things","singularResource":"thing","scope":"Namespaced","verbs":["get"],"shortNames":["th"],
                 "responseKind":{"group":"","version":"","kind":"Thing"},
                 "subresources":[{"subresource":"scale","verbs":["get"],"responseKind":{"group":"autoscaling","version":"v1","kind":"Scale"}}]},
                {"resource":"lonely","scope":"Cluster","responseKind":{"group":"","version":"","kind":""},
                 "subresources":[{"subresource":"status","verbs":["update"],"responseKind":{"group":"","version":"","kind":"Lonely"}}]}]}"#,
        );
        assert_eq!(of_resource_list(&list, "v1"), expected);
    }

    #[test]
    fn the_media_type_tells_aggregated_documents() {
        for (media_type, expected) in [
            ("application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList", true),
            ("application/json; g=apidiscovery.k8s.io; v=v2beta1; as=APIGroupDiscoveryList", true),
            ("application/json;g=apidiscovery.k8s.io;v=v3;as=APIGroupDiscoveryList", false),
            ("application/json", false),
        ] {
            assert_eq!(is_aggregated(media_type), expected, "{media_type}");
        }
    }
}
