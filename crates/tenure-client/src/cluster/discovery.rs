//! The kinds that a server has, read once: with two requests from servers that have aggregated discovery, group by group
//! from those that do not.

use super::Cluster;
use crate::{ClientError, Resource, Scope};
use http::Method;
use parking_lot::Mutex;
use std::sync::Arc;
use tenure_transport::did_you_mean;
use tenure_value::Value;

/// Accepts aggregated discovery, and the old form from servers without it.
const AGGREGATED: &str =
    "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,application/json";

/// The kinds, once they are known.
#[derive(Default)]
pub(super) struct Discovery(Mutex<Option<Arc<Vec<Resource>>>>);

impl Cluster {
    /// Returns the kind of a name, given as `kubectl` takes it.
    pub async fn kind_named(&self, name: &str) -> Result<Resource, ClientError> {
        let kinds = self.kinds().await?;
        if let Some(found) = kinds.iter().find(|resource| resource.is_named(name)) {
            return Ok(found.clone());
        }
        let names =
            kinds.iter().flat_map(|kind| [&kind.plural, &kind.singular].into_iter().chain(&kind.short_names));
        Err(ClientError::UnknownKind {
            name: name.to_owned(),
            nearest: did_you_mean(name, names.map(String::as_str)),
            server: self.server().to_owned(),
        })
    }

    /// Returns the kind of an object, if the server serves it.
    pub async fn kind_of(&self, api_version: &str, kind: &str) -> Result<Option<Resource>, ClientError> {
        self.resource(|resource| resource.kind == kind && resource.api_version() == api_version).await
    }

    /// Says that the server does not serve a kind, and what it has instead: the kind in other versions, or one that is written like it.
    pub async fn lacks_kind(&self, api_version: &str, kind: &str) -> Result<String, ClientError> {
        let kinds = self.kinds().await?;
        let elsewhere: Vec<String> =
            kinds.iter().filter(|known| known.kind == kind).map(Resource::api_version).collect();
        let instead = match elsewhere.is_empty() {
            true => did_you_mean(kind, kinds.iter().map(|known| known.kind.as_str())),
            false => format!(", only in {}", elsewhere.join(", ")),
        };
        Ok(format!("the server has no kind {kind} in {api_version}{instead}"))
    }

    /// Discards the known kinds and types, so that new ones are discovered.
    pub fn rediscover(&self) {
        self.schemas.expire();
        self.discovery.0.lock().take();
    }

    async fn resource(&self, wanted: impl Fn(&Resource) -> bool) -> Result<Option<Resource>, ClientError> {
        Ok(self.kinds().await?.iter().find(|resource| wanted(resource)).cloned())
    }

    /// Returns all kinds, in the order in which the server lists them: the preferred version of a group first.
    pub async fn kinds(&self) -> Result<Arc<Vec<Resource>>, ClientError> {
        let known = self.discovery.0.lock().clone();
        if let Some(known) = known {
            return Ok(known);
        }
        let found = Arc::new(self.discover().await?);
        *self.discovery.0.lock() = Some(found.clone());
        Ok(found)
    }

    async fn discover(&self) -> Result<Vec<Resource>, ClientError> {
        let mut found = Vec::new();
        for root in ["/api", "/apis"] {
            let response = self.send(Method::GET, root, AGGREGATED, None).await?;
            let document = response.success("read", root)?;
            match document.get("kind").and_then(Value::as_str) {
                Some("APIGroupDiscoveryList") => aggregated(&document, &mut found),
                Some("APIVersions") => {
                    for version in texts(&document, "versions") {
                        self.discover_version("", &version, &mut found).await?;
                    }
                }
                _ => {
                    for group in items(&document, "groups") {
                        for version in items(group, "versions") {
                            let version = text(version, "version");
                            self.discover_version(&text(group, "name"), &version, &mut found).await?;
                        }
                    }
                }
            }
        }
        Ok(found)
    }

    async fn discover_version(
        &self,
        group: &str,
        version: &str,
        found: &mut Vec<Resource>,
    ) -> Result<(), ClientError> {
        let path = match group {
            "" => format!("/api/{version}"),
            group => format!("/apis/{group}/{version}"),
        };
        // A group whose aggregated server is down must not hide the others.
        let Some(list) = self.find(&path).await? else { return Ok(()) };
        for resource in items(&list, "resources") {
            let plural = text(resource, "name");
            if plural.contains('/') {
                continue;
            }
            let namespaced = resource.get("namespaced").and_then(Value::as_bool) == Some(true);
            found.push(Resource {
                group: group.to_owned(),
                version: version.to_owned(),
                kind: text(resource, "kind"),
                plural,
                singular: text(resource, "singularName"),
                short_names: texts(resource, "shortNames"),
                scope: if namespaced { Scope::Namespaced } else { Scope::Cluster },
                verbs: texts(resource, "verbs"),
            });
        }
        Ok(())
    }
}

fn aggregated(document: &Value, found: &mut Vec<Resource>) {
    for group in items(document, "items") {
        let name = group.at(["metadata", "name"]).and_then(Value::as_str).unwrap_or_default();
        for version in items(group, "versions") {
            for resource in items(version, "resources") {
                let kind = resource.at(["responseKind", "kind"]).and_then(Value::as_str).unwrap_or_default();
                let namespaced = text(resource, "scope") == "Namespaced";
                found.push(Resource {
                    group: name.to_owned(),
                    version: text(version, "version"),
                    kind: kind.to_owned(),
                    plural: text(resource, "resource"),
                    singular: text(resource, "singularResource"),
                    short_names: texts(resource, "shortNames"),
                    scope: if namespaced { Scope::Namespaced } else { Scope::Cluster },
                    verbs: texts(resource, "verbs"),
                });
            }
        }
    }
}

fn items<'v>(value: &'v Value, name: &str) -> &'v [Value] {
    value.get(name).and_then(Value::as_array).map(|array| array.items()).unwrap_or_default()
}

fn text(value: &Value, name: &str) -> String {
    value.get(name).and_then(Value::as_str).unwrap_or_default().to_owned()
}

fn texts(value: &Value, name: &str) -> Vec<String> {
    items(value, name).iter().filter_map(Value::as_str).map(String::from).collect()
}
