//! The object that a plan or an explanation is about.

use crate::LiveObject;
use std::fmt;
use tenure_value::{Object, Value};

/// The identity of an object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Target {
    /// The kind as `kubectl` prints it, such as `deployment.apps`.
    pub word: String,
    /// The apiVersion.
    pub api_version: String,
    /// The kind.
    pub kind: String,
    /// The namespace; empty for cluster-scoped objects.
    pub namespace: String,
    /// The name.
    pub name: String,
}

impl Target {
    /// Returns the target of an object, whose kind is printed as `word`.
    pub fn of(live: &LiveObject, word: String) -> Target {
        Target {
            word,
            api_version: live.api_version().to_owned(),
            kind: live.kind().to_owned(),
            namespace: live.namespace().to_owned(),
            name: live.name().to_owned(),
        }
    }

    /// Returns the target as a document.
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

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.word, self.name)?;
        match self.namespace.as_str() {
            "" => Ok(()),
            namespace => write!(f, " in {namespace}"),
        }
    }
}

/// Returns the word for a kind whose resource names are unknown, such as `widget.example.com`.
pub fn kind_word(api_version: &str, kind: &str) -> String {
    match api_version.split_once('/') {
        Some((group, _)) => format!("{}.{group}", kind.to_lowercase()),
        None => kind.to_lowercase(),
    }
}
