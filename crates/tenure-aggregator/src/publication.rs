//! What an extension API server has published about a group and version.

use std::sync::Arc;
use tenure_catalog::OpenApi3;
use tenure_value::Value;

/// What an extension server has published about a group and version.
#[derive(Clone, Default, PartialEq)]
pub(crate) struct Publication {
    pub discovery: Option<Value>,
    pub is_current: bool,
    pub openapi: OpenApi,
}

/// The OpenAPI documents of a group and version.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct OpenApi {
    pub version_3: Option<OpenApi3>,
    pub version_2: Option<Arc<Value>>,
    /// The entity tag of the document in version 2.
    pub entity_tag: String,
}

impl Publication {
    /// Returns the discovery of a version with its freshness.
    pub fn discovery_of(&self, version: &str) -> Value {
        let known = self.discovery.clone().unwrap_or_else(|| unknown_version(version));
        let freshness = if self.is_current { "Current" } else { "Stale" };
        known.as_object().cloned().unwrap_or_default().with("freshness", freshness).into()
    }
}

/// Returns the discovery of a version of which nothing is known.
pub(crate) fn unknown_version(version: &str) -> Value {
    Value::object([("version", Value::from(version))])
}
