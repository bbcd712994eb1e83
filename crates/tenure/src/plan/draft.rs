//! A manifest on its way to be applied: the document, the object it names, and the type that governs it.

use super::Verdict;
use crate::{
    Error,
    cluster::{Cluster, Resource},
    document::{Document, Place},
};
use tenure_schema::TypeRef;
use tenure_value::{Object, Value};

/// The object that a manifest is about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Target {
    /// What kind it is, such as `deployment.apps`.
    pub word: String,
    /// Its apiVersion.
    pub api_version: String,
    /// Its kind.
    pub kind: String,
    /// Its namespace; empty where it has none.
    pub namespace: String,
    /// Its name.
    pub name: String,
}

impl std::fmt::Display for Target {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}/{}", self.word, self.name)?;
        match self.namespace.as_str() {
            "" => Ok(()),
            namespace => write!(f, " in {namespace}"),
        }
    }
}

impl Target {
    /// Returns the object as a document for programs.
    pub fn to_value(&self) -> Value {
        let object = Object::default()
            .with("apiVersion", self.api_version.as_str())
            .with("kind", self.kind.as_str())
            .with("name", self.name.as_str());
        Value::Object(match self.namespace.as_str() {
            "" => object,
            namespace => object.with("namespace", namespace),
        })
    }
}

/// A manifest that is ready to be applied.
#[derive(Clone, Debug)]
pub struct Draft {
    /// What to apply, with its namespace.
    pub config: Value,
    /// Where it was read.
    pub place: Place,
    /// Which object it is about.
    pub target: Target,
    /// The kind as the server serves it; nothing where it does not (yet).
    pub resource: Option<Resource>,
    /// The type of the object.
    pub ty: TypeRef<'static>,
}

impl Draft {
    /// Prepares a document for a server.
    pub async fn of(document: Document, cluster: &Cluster) -> Result<Draft, Error> {
        let (api_version, kind) = document.kind()?;
        let (api_version, kind) = (api_version.to_owned(), kind.to_owned());
        let name = document.name()?.to_owned();
        let resource = cluster.kind_of(&api_version, &kind).await?;
        let ty = cluster.type_of(&api_version, &kind).await?;
        let namespace = match &resource {
            Some(resource) if resource.is_namespaced() => {
                document.namespace().unwrap_or(&cluster.namespace).to_owned()
            }
            Some(_) => String::new(),
            None => document.namespace().unwrap_or_default().to_owned(),
        };
        let word = match &resource {
            Some(resource) => resource.word(),
            None => word(&api_version, &kind),
        };
        let config = within(&document.value, &namespace);
        let target = Target { word, api_version, kind, namespace, name };
        Ok(Draft { config, place: document.place, target, resource, ty })
    }

    /// Returns what a server says of the manifest, with where the manifest was read.
    pub fn refused(&self, problem: impl std::fmt::Display) -> Verdict {
        Verdict::Refused(format!("{}: {problem}", self.place))
    }

    /// Returns the path of the object, if the server serves its kind.
    pub fn path(&self) -> Option<String> {
        self.resource.as_ref().map(|resource| resource.path(&self.target.namespace, &self.target.name))
    }
}

/// Returns the word for a kind that nobody has told the names of.
pub fn word(api_version: &str, kind: &str) -> String {
    match api_version.split_once('/') {
        Some((group, _)) => format!("{}.{group}", kind.to_lowercase()),
        None => kind.to_lowercase(),
    }
}

/// Returns a manifest that names its namespace.
fn within(config: &Value, namespace: &str) -> Value {
    let metadata = config.get("metadata").and_then(Value::as_object);
    match (config.as_object(), metadata) {
        (Some(object), Some(metadata)) if !namespace.is_empty() => {
            Value::Object(object.with("metadata", metadata.with("namespace", namespace)))
        }
        _ => config.clone(),
    }
}
