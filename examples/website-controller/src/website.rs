//! The custom resource. `#[derive(kube::CustomResource)]` would write the second half of this file; it is spelled out here to do
//! without further dependencies.

use k8s_openapi::{
    NamespaceResourceScope, apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition,
    apimachinery::pkg::apis::meta::v1::ObjectMeta,
};
use kube::{CustomResourceExt, Resource, core::ApiResource};
use serde::{Deserialize, Serialize};
use serde_json::json;
use std::borrow::Cow;

/// What a website shows, and how.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct WebsiteSpec {
    /// The text of the page.
    pub content: String,
    /// How many servers there are.
    #[serde(default = "one")]
    pub replicas: i32,
    /// The name under which the website is published; it is not published without one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub host: Option<String>,
}

/// What there is of a website.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct WebsiteStatus {
    /// The generation of the specification that this is about.
    pub observed_generation: i64,
    /// How many servers are ready.
    pub ready_replicas: i32,
    /// Whether all of them are.
    pub ready: bool,
}

/// A website.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Website {
    /// The version of the API.
    pub api_version: String,
    /// The kind.
    pub kind: String,
    /// The metadata.
    pub metadata: ObjectMeta,
    /// What is wanted.
    pub spec: WebsiteSpec,
    /// What there is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<WebsiteStatus>,
}

impl Website {
    /// Creates a website that is not stored yet.
    pub fn new(name: &str, spec: WebsiteSpec) -> Website {
        Website {
            api_version: Website::api_version(&()).into(),
            kind: Website::kind(&()).into(),
            metadata: ObjectMeta { name: Some(name.into()), ..ObjectMeta::default() },
            spec,
            status: None,
        }
    }
}

fn one() -> i32 {
    1
}

impl Resource for Website {
    type DynamicType = ();
    type Scope = NamespaceResourceScope;

    fn kind(_: &()) -> Cow<'_, str> {
        "Website".into()
    }

    fn group(_: &()) -> Cow<'_, str> {
        "example.com".into()
    }

    fn version(_: &()) -> Cow<'_, str> {
        "v1".into()
    }

    fn plural(_: &()) -> Cow<'_, str> {
        "websites".into()
    }

    fn meta(&self) -> &ObjectMeta {
        &self.metadata
    }

    fn meta_mut(&mut self) -> &mut ObjectMeta {
        &mut self.metadata
    }
}

impl CustomResourceExt for Website {
    fn crd() -> CustomResourceDefinition {
        let spec = json!({
            "type": "object", "required": ["content"],
            "properties": {
                "content": {"type": "string"},
                "replicas": {"type": "integer", "format": "int32", "default": 1, "minimum": 0, "maximum": 100},
                "host": {"type": "string"},
            },
        });
        let status = json!({
            "type": "object",
            "properties": {
                "observedGeneration": {"type": "integer", "format": "int64"},
                "readyReplicas": {"type": "integer", "format": "int32"},
                "ready": {"type": "boolean"},
            },
        });
        let schema = json!({
            "type": "object", "required": ["spec"], "properties": {"spec": spec, "status": status},
        });
        let definition = json!({
            "metadata": {"name": Website::crd_name()},
            "spec": {
                "group": "example.com", "scope": "Namespaced",
                "names": {"kind": "Website", "plural": "websites", "singular": "website", "shortNames": []},
                "versions": [{
                    "name": "v1", "served": true, "storage": true, "subresources": {"status": {}},
                    "schema": {"openAPIV3Schema": schema},
                }],
            },
        });
        serde_json::from_value(definition).unwrap_or_default()
    }

    fn crd_name() -> &'static str {
        "websites.example.com"
    }

    fn api_resource() -> ApiResource {
        ApiResource::erase::<Website>(&())
    }

    fn shortnames() -> &'static [&'static str] {
        &[]
    }
}
