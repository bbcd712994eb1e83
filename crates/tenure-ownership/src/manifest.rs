//! The configuration of an apply, and its manager.

use crate::{Target, kind_word};
use tenure_apply::Timestamp;
use tenure_schema::TypeRef;
use tenure_value::Value;

/// A manifest that is ready to be applied.
#[derive(Clone, Debug)]
pub struct Manifest<'s> {
    /// The configuration to apply.
    pub config: Value,
    /// The file or request it comes from, for messages.
    pub source: String,
    /// The object it describes.
    pub target: Target,
    /// The type of the object.
    pub ty: TypeRef<'s>,
}

impl<'s> Manifest<'s> {
    /// Takes a configuration for the object that it names.
    pub fn new(config: Value, source: impl Into<String>, ty: TypeRef<'s>) -> Manifest<'s> {
        let text = |path: &[&str]| {
            config.at(path.iter().copied()).and_then(Value::as_str).unwrap_or_default().to_owned()
        };
        let (api_version, kind) = (text(&["apiVersion"]), text(&["kind"]));
        let target = Target {
            word: kind_word(&api_version, &kind),
            namespace: text(&["metadata", "namespace"]),
            name: text(&["metadata", "name"]),
            api_version,
            kind,
        };
        Manifest { config, source: source.into(), target, ty }
    }

    /// Sets the namespace of the configuration and of the target; an empty one leaves the configuration unchanged.
    pub fn in_namespace(mut self, namespace: &str) -> Manifest<'s> {
        self.target.namespace = namespace.to_owned();
        if !namespace.is_empty() {
            self.config = with_metadata(&self.config, "namespace", namespace.into());
        }
        self
    }

    /// Returns the configuration with the resourceVersion of an object: it is refused unless the object is still the
    /// same.
    pub fn guarded(&self, seen: &Value) -> Value {
        match seen.at(["metadata", "resourceVersion"]) {
            Some(version) => with_metadata(&self.config, "resourceVersion", version.clone()),
            None => self.config.clone(),
        }
    }
}

fn with_metadata(config: &Value, name: &'static str, value: Value) -> Value {
    match (config.as_object(), config.get("metadata").and_then(Value::as_object)) {
        (Some(object), Some(metadata)) => Value::Object(object.with("metadata", metadata.with(name, value))),
        _ => config.clone(),
    }
}

/// The manager of an apply, and the conflicts that it overrides.
#[derive(Clone, Debug)]
pub struct ApplyingManager {
    /// The field manager.
    pub manager: String,
    /// Which conflicting fields are taken.
    pub force: ForcedFields,
    /// The time of the apply.
    pub now: Timestamp,
}

/// Which conflicting fields an apply takes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum ForcedFields {
    /// None.
    #[default]
    None,
    /// These paths and everything below them.
    Paths(Vec<String>),
    /// All.
    All,
}
