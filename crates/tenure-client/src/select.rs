//! Reading objects by name or by selectors, page by page.

use crate::{ClientError, Cluster, Resource, Scope, escaped};
use std::collections::HashSet;
use tenure_ownership::{LiveObject, Target};
use tenure_value::{Object, Value};

/// How many objects one page of a list has.
const PAGE: usize = 500;

/// Which objects of a kind to read; all by default.
#[derive(Clone, Debug, Default)]
pub struct Selection {
    /// A label selector.
    pub labels: Option<String>,
    /// A field selector.
    pub fields: Option<String>,
}

/// A live object and its kind.
#[derive(Clone, Debug)]
pub struct Found {
    /// Its kind.
    pub resource: Resource,
    /// The object as the server shows it.
    pub shown: Value,
}

impl Found {
    /// Splits it into content and managers.
    pub fn read(&self) -> Result<LiveObject, ClientError> {
        LiveObject::read(&self.shown).map_err(|error| ClientError::invalid(&self.path(), error))
    }

    /// Returns its path.
    pub fn path(&self) -> String {
        self.resource.path(self.text("namespace"), self.text("name"))
    }

    /// Returns its identity.
    pub fn target(&self) -> Target {
        Target {
            word: self.resource.word(),
            api_version: self.resource.api_version(),
            kind: self.resource.kind.clone(),
            namespace: self.text("namespace").to_owned(),
            name: self.text("name").to_owned(),
        }
    }

    /// Returns its uid.
    pub fn uid(&self) -> &str {
        self.text("uid")
    }

    fn text(&self, name: &str) -> &str {
        self.shown.at(["metadata", name]).and_then(Value::as_str).unwrap_or_default()
    }
}

impl Cluster {
    /// Reads an object of the namespace by name.
    pub async fn object(&self, resource: &Resource, name: &str) -> Result<Found, ClientError> {
        let shown = self.find(&resource.path(&self.namespace, name)).await?;
        let shown = shown.ok_or_else(|| ClientError::NotFound {
            what: format!("{}/{name}", resource.word()),
            place: match resource.scope {
                Scope::Namespaced => format!("namespace {}", self.namespace),
                Scope::Cluster => self.server().to_owned(),
            },
        })?;
        Ok(Found { resource: resource.clone(), shown })
    }

    /// Reads the selected objects of a kind, in a namespace or in all.
    pub async fn select(
        &self,
        resource: &Resource,
        namespace: Option<&str>,
        selection: &Selection,
    ) -> Result<Vec<Found>, ClientError> {
        let mut query = format!("?limit={PAGE}");
        for (name, value) in [("labelSelector", &selection.labels), ("fieldSelector", &selection.fields)] {
            if let Some(value) = value {
                query += &format!("&{name}={}", escaped(value));
            }
        }
        let (mut found, mut next) = (Vec::new(), String::new());
        loop {
            let list = self.get(&format!("{}{query}{next}", resource.collection(namespace))).await?;
            let items = list.get("items").and_then(Value::as_array).into_iter().flatten();
            found
                .extend(items.map(|item| Found { resource: resource.clone(), shown: typed(item, resource) }));
            match list.at(["metadata", "continue"]).and_then(Value::as_str).filter(|token| !token.is_empty())
            {
                Some(token) => next = format!("&continue={}", escaped(token)),
                None => return Ok(found),
            }
        }
    }

    /// Reads every object that can be listed, each once, however many versions its kind has.
    pub async fn all_objects(&self) -> Result<Vec<Found>, ClientError> {
        let (mut seen, mut found) = (HashSet::new(), Vec::new());
        for resource in self.kinds().await?.iter() {
            let lists = resource.verbs.iter().any(|verb| verb == "list");
            if lists && seen.insert((resource.group.clone(), resource.plural.clone())) {
                found.extend(self.select(resource, None, &Selection::default()).await?);
            }
        }
        Ok(found)
    }
}

/// Returns an item of a list with the apiVersion and kind that only the list has.
fn typed(item: &Value, resource: &Resource) -> Value {
    let item: Object = item.as_object().cloned().unwrap_or_default();
    Value::Object(item.with("apiVersion", resource.api_version()).with("kind", resource.kind.as_str()))
}
