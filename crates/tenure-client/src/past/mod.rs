//! The past of an object, read from a server with history or from a recorder. The object need not exist any more.

mod restore;
mod undo;

pub use restore::Restored;
pub(crate) use restore::WITHOUT_IDENTITY;
pub use undo::PastChange;

use crate::{ClientError, Cluster, Resource};
use tenure_ownership::{LiveObject, OwnershipError};
use tenure_schema::TypeRef;
use tenure_transport::escaped;
use tenure_value::Value;

/// How many changes are read at once.
const PAGE: usize = 500;

/// An object by its name, whether it exists or not.
pub struct Past {
    /// Its kind.
    pub resource: Resource,
    /// Its namespace; empty for a kind that has none.
    pub namespace: String,
    /// Its name.
    pub name: String,
    /// The path of the object.
    pub path: String,
}

impl Past {
    /// Returns the past of an object of a kind.
    pub fn new(resource: Resource, namespace: &str, name: &str) -> Past {
        let path = resource.path(namespace, name);
        Past { resource, namespace: namespace.to_owned(), name: name.to_owned(), path }
    }

    /// Finds the kind of an object that is named as KIND/NAME.
    pub async fn of(cluster: &Cluster, word: &str) -> Result<Past, ClientError> {
        let named = word.split_once('/').filter(|(kind, name)| !kind.is_empty() && !name.is_empty());
        let Some((kind, name)) = named else {
            return Err(ClientError::history(format!(
                "{word}: name the object as KIND/NAME, such as deployment/web"
            )));
        };
        let resource = cluster.kind_named(kind).await?;
        Ok(Past::new(resource, &cluster.namespace, name))
    }

    /// Returns the object in a few words.
    pub fn what(&self) -> String {
        format!("{}/{}", self.resource.word(), self.name)
    }

    /// Returns the type of the object.
    pub async fn type_of(&self, cluster: &Cluster) -> Result<TypeRef<'static>, ClientError> {
        cluster.type_of(&self.resource.api_version(), &self.resource.kind).await
    }

    /// Reads the newest changes, of one field if it is named, before a revision if one is.
    pub async fn log(
        &self,
        cluster: &Cluster,
        field: Option<&str>,
        before: Option<u64>,
        most: usize,
    ) -> Result<Log, ClientError> {
        let mut log = Log { items: Vec::new(), exists: false, begins_after: None };
        let mut next = before.map(|before| before.to_string());
        while log.items.len() < most {
            let mut path = format!("{}/history?limit={}", self.path, (most - log.items.len()).min(PAGE));
            if let Some(field) = field {
                path += &format!("&field={}", escaped(field));
            }
            if let Some(next) = &next {
                path += &format!("&continue={}", escaped(next));
            }
            let page = cluster.history(&path).await?;
            let page =
                if page.code == 404 { return Err(self.unknown()) } else { page.success("read", &path)? };
            log.exists = page.get("exists").and_then(Value::as_bool).unwrap_or_default();
            let text =
                |names: &[&str]| page.at(names.iter().copied()).and_then(Value::as_str).map(str::to_owned);
            log.begins_after = text(&["beginsAfter"]);
            log.items.extend(
                page.get("items")
                    .and_then(Value::as_array)
                    .into_iter()
                    .flat_map(|items| items.iter().cloned()),
            );
            next = text(&["metadata", "continue"]);
            if next.is_none() {
                break;
            }
        }
        Ok(log)
    }

    /// Returns a field as servers take it. One that the object does not have, or an object that was deleted, is not an error of the
    /// request: it may have had the field before.
    pub async fn field(
        &self,
        cluster: &Cluster,
        field: Option<&str>,
    ) -> Result<Result<Option<String>, OwnershipError>, ClientError> {
        let Some(text) = field else { return Ok(Ok(None)) };
        let Some(live) = cluster.find_live(&self.path).await? else { return Ok(Ok(Some(text.to_owned()))) };
        let ty = self.type_of(cluster).await?;
        Ok(live.field(text, ty).map(|path| Some(path.quoted().to_string())))
    }

    /// Reads the object as it was at a revision or a time.
    pub async fn at(&self, cluster: &Cluster, moment: &str) -> Result<LiveObject, ClientError> {
        self.find_at(cluster, moment).await?.ok_or_else(|| {
            let what = self.what();
            ClientError::history(format!(
                "{what} did not exist at {moment}; `tenure log {what}` shows when it did"
            ))
        })
    }

    /// Reads the object as it was at a revision or a time; `None` if it did not exist then.
    pub async fn find_at(&self, cluster: &Cluster, moment: &str) -> Result<Option<LiveObject>, ClientError> {
        let path = format!("{}/history?at={}", self.path, escaped(moment));
        let response = cluster.history(&path).await?;
        let shown = match response.code {
            404 => return Ok(None),
            // It is older than what is kept.
            410 => {
                let message = response.refusal().message;
                return Err(ClientError::history(format!("{} at {moment}: {message}", self.what())));
            }
            _ => response.success("read", &path)?,
        };
        LiveObject::read(&shown)
            .map(Some)
            .map_err(|error| ClientError::invalid(&format!("{} at {moment}", self.what()), error))
    }

    fn unknown(&self) -> ClientError {
        ClientError::history(format!(
            "{}: no such object, now or in the history; check the name and --namespace, and whether its kind is recorded",
            self.what()
        ))
    }
}

/// Changes of an object, newest first.
pub struct Log {
    /// The changes as the server shows them.
    pub items: Vec<Value>,
    /// Whether the object exists now.
    pub exists: bool,
    /// The oldest revision that can be rebuilt, where older changes are gone.
    pub begins_after: Option<String>,
}

/// Returns a text of a document; empty if it is missing.
pub(crate) fn text<'v>(item: &'v Value, name: &str) -> &'v str {
    item.get(name).and_then(Value::as_str).unwrap_or_default()
}
