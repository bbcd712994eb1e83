//! Reading objects by name or by selectors, page by page.

use crate::{ClientError, Cluster, Resource, Scope};
use std::collections::HashSet;
use tenure_ownership::{LiveObject, Target};
use tenure_transport::escaped;
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

impl Selection {
    /// Returns the selection of the object of a name, whatever characters the name has.
    pub fn of_name(name: &str) -> Selection {
        let mut fields = "metadata.name=".to_owned();
        for character in name.chars() {
            if matches!(character, '\\' | ',' | '=') {
                fields.push('\\');
            }
            fields.push(character);
        }
        Selection { fields: Some(fields), ..Selection::default() }
    }

    /// Returns the parameters of a request, each with the separator before it.
    pub(crate) fn query(&self) -> String {
        let mut query = String::new();
        for (name, value) in [("labelSelector", &self.labels), ("fieldSelector", &self.fields)] {
            if let Some(value) = value {
                query += &format!("&{name}={}", escaped(value));
            }
        }
        query
    }
}

/// A page of a list.
#[derive(Clone, Debug)]
pub struct Page {
    /// The objects.
    pub objects: Vec<Found>,
    /// The token of the next page; `None` if this is the last.
    pub next: Option<String>,
    /// The resourceVersion of the list, from which it can be watched.
    pub resource_version: String,
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
        let mut found = Vec::new();
        let mut next = None;
        loop {
            let page = self.page(resource, namespace, selection, next.as_deref()).await?;
            found.extend(page.objects);
            match page.next {
                Some(token) => next = Some(token),
                None => return Ok(found),
            }
        }
    }

    /// Reads one page of the selected objects of a kind: the first, or the one of a token.
    pub async fn page(
        &self,
        resource: &Resource,
        namespace: Option<&str>,
        selection: &Selection,
        token: Option<&str>,
    ) -> Result<Page, ClientError> {
        self.page_of(resource, namespace, selection, token, PAGE).await
    }

    /// Reads one page of at most so many objects: the first, or the one of a token.
    pub async fn page_of(
        &self,
        resource: &Resource,
        namespace: Option<&str>,
        selection: &Selection,
        token: Option<&str>,
        most: usize,
    ) -> Result<Page, ClientError> {
        let mut query = format!("?limit={most}{}", selection.query());
        if let Some(token) = token {
            query += &format!("&continue={}", escaped(token));
        }
        self.listed(resource, namespace, &query).await
    }

    /// Reads the selected objects of a kind with one request, for lists that grow old before their last page is read.
    pub async fn whole(
        &self,
        resource: &Resource,
        namespace: Option<&str>,
        selection: &Selection,
    ) -> Result<Page, ClientError> {
        self.listed(resource, namespace, &format!("?limit=0{}", selection.query())).await
    }

    async fn listed(
        &self,
        resource: &Resource,
        namespace: Option<&str>,
        query: &str,
    ) -> Result<Page, ClientError> {
        let list = self.get(&format!("{}{query}", resource.collection(namespace))).await?;
        let items = list.get("items").and_then(Value::as_array).into_iter().flatten();
        let text = |name| list.at(["metadata", name]).and_then(Value::as_str).filter(|text| !text.is_empty());
        Ok(Page {
            objects: items
                .map(|item| Found { resource: resource.clone(), shown: typed(item, resource) })
                .collect(),
            next: text("continue").map(str::to_owned),
            resource_version: text("resourceVersion").unwrap_or_default().to_owned(),
        })
    }

    /// Reads every object that can be listed, each once, even if its kind has several versions.
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
