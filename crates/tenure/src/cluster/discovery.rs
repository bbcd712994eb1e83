//! Which kinds a server serves. Asked once, with two requests, of servers that tell all at once, and group by group
//! of those that do not; asked again when a kind is missing, since it may just have been defined.

use super::{Cluster, Resource, resource::Scope};
use crate::Error;
use http::Method;
use std::{cell::RefCell, rc::Rc};
use tenure_value::Value;

/// What asks for everything at once, and takes the old form where the server has no other.
const AGGREGATED: &str =
    "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,application/json";

/// The kinds found so far.
#[derive(Default)]
pub struct Discovery(RefCell<Option<Rc<Vec<Resource>>>>);

impl Cluster {
    /// Returns the kind that a name on the command line means.
    pub async fn kind_called(&self, name: &str) -> Result<Resource, Error> {
        let found = self.resource(|resource| resource.is_called(name)).await?;
        found.ok_or_else(|| Error::UnknownKind { name: name.to_owned(), server: self.server.clone() })
    }

    /// Returns the kind of an object, if the server serves it.
    pub async fn kind_of(&self, api_version: &str, kind: &str) -> Result<Option<Resource>, Error> {
        self.resource(|resource| resource.kind == kind && resource.api_version() == api_version).await
    }

    /// Forgets which kinds there are, as after defining new ones.
    pub fn forget_kinds(&self) {
        self.discovery.0.take();
    }

    async fn resource(&self, meant: impl Fn(&Resource) -> bool) -> Result<Option<Resource>, Error> {
        Ok(self.kinds().await?.iter().find(|resource| meant(resource)).cloned())
    }

    /// Returns all kinds, in the order in which the server lists them: the preferred version of a group first.
    pub async fn kinds(&self) -> Result<Rc<Vec<Resource>>, Error> {
        let known = self.discovery.0.borrow().clone();
        if let Some(known) = known {
            return Ok(known);
        }
        let found = Rc::new(self.discover().await?);
        self.discovery.0.replace(Some(found.clone()));
        Ok(found)
    }

    async fn discover(&self) -> Result<Vec<Resource>, Error> {
        let mut found = Vec::new();
        for root in ["/api", "/apis"] {
            let reply = self.send(Method::GET, root, AGGREGATED, None).await?;
            let answer = reply.accepted("read", root)?;
            match answer.get("kind").and_then(Value::as_str) {
                Some("APIGroupDiscoveryList") => aggregated(&answer, &mut found),
                Some("APIVersions") => {
                    for version in texts(&answer, "versions") {
                        self.discover_version("", &version, &mut found).await?;
                    }
                }
                _ => {
                    for group in items(&answer, "groups") {
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
    ) -> Result<(), Error> {
        let path = match group {
            "" => format!("/api/{version}"),
            group => format!("/apis/{group}/{version}"),
        };
        // A group whose own server is away must not hide all others.
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

fn aggregated(answer: &Value, found: &mut Vec<Resource>) {
    for group in items(answer, "items") {
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
