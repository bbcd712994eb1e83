//! The past of an object, read from a server with history. The object need not exist any more.

use crate::Error;
use tenure_client::{Cluster, Resource};
use tenure_ownership::LiveObject;
use tenure_schema::TypeRef;
use tenure_transport::escaped;
use tenure_value::Value;

/// How many changes are read at once.
const PAGE: usize = 500;

/// An object by its name, whether it exists or not.
pub struct Past {
    /// Its kind.
    pub resource: Resource,
    /// Its name.
    pub name: String,
    /// The path of the object.
    pub path: String,
}

impl Past {
    /// Finds the kind of an object that is named as KIND/NAME.
    pub async fn of(cluster: &Cluster, word: &str) -> Result<Past, Error> {
        let named = word.split_once('/').filter(|(kind, name)| !kind.is_empty() && !name.is_empty());
        let Some((kind, name)) = named else {
            return Err(Error::usage(format!(
                "{word}: name the object as KIND/NAME, such as deployment/web"
            )));
        };
        let resource = cluster.kind_named(kind).await?;
        let path = resource.path(&cluster.namespace, name);
        Ok(Past { resource, name: name.to_owned(), path })
    }

    /// Returns the object in a few words.
    pub fn what(&self) -> String {
        format!("{}/{}", self.resource.word(), self.name)
    }

    /// Returns the type of the object.
    pub async fn type_of(&self, cluster: &Cluster) -> Result<TypeRef<'static>, Error> {
        Ok(cluster.type_of(&self.resource.api_version(), &self.resource.kind).await?)
    }

    /// Reads the newest changes, of one field if it is named, before a revision if one is.
    pub async fn log(
        &self,
        cluster: &Cluster,
        field: Option<&str>,
        before: Option<u64>,
        most: usize,
    ) -> Result<Log, Error> {
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
            let page = cluster.find(&path).await?.ok_or_else(|| self.unknown())?;
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

    /// Reads the object as it was at a revision or a time.
    pub async fn at(&self, cluster: &Cluster, moment: &str) -> Result<LiveObject, Error> {
        let path = format!("{}/history?at={}", self.path, escaped(moment));
        let shown = cluster.get(&path).await?;
        LiveObject::read(&shown)
            .map_err(|error| Error::usage(format!("{} at {moment}: {error}", self.what())))
    }

    fn unknown(&self) -> Error {
        Error::usage(format!(
            "{}: no such object, now or in the history of the server; check the name and --namespace. Only a Tenure server \
             keeps history, unless it runs with --history=false",
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
pub fn text<'v>(item: &'v Value, name: &str) -> &'v str {
    item.get(name).and_then(Value::as_str).unwrap_or_default()
}

/// Returns the changed fields of a change: path, value before, value after.
pub fn changed(item: &Value) -> impl Iterator<Item = (&str, Option<&Value>, Option<&Value>)> {
    let changes = item.get("changes").and_then(Value::as_array).into_iter();
    changes.flat_map(|changes| changes.iter()).map(|one| (text(one, "path"), one.get("from"), one.get("to")))
}
