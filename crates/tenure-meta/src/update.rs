//! The common part of all updates: fields that a request may not change are carried over from the live
//! object, and the generation counts changes.

use crate::{Resource, Timestamp, edit::Edit, time::Precision};
use tenure_value::{Object, Text, Value};

/// The metadata that the server sets on create.
#[derive(Clone, Debug)]
pub struct SystemMetadata {
    /// The name, generated if the request only had a prefix.
    pub name: Text,
    /// The namespace; `None` for cluster-scoped objects.
    pub namespace: Option<Text>,
    /// The uid.
    pub uid: Text,
    /// The time of creation.
    pub now: Timestamp,
    /// Whether marks of a deletion that the client sent are kept, as those of updates and applies are until 1.36.
    pub keeps_marks: bool,
}

/// The marks of a deletion, which clients cannot write.
const DELETION_MARKS: [&str; 2] = ["deletionTimestamp", "deletionGracePeriodSeconds"];

/// Returns a new object with the metadata that the server sets.
pub fn with_system_metadata(resource: &Resource, object: &Value, system: &SystemMetadata) -> Value {
    let Some(fields) = object.as_object() else { return object.clone() };
    let metadata = fields.get("metadata").and_then(Value::as_object).cloned().unwrap_or_default();
    let mut edit = Edit::new(&metadata);
    edit.remove("selfLink");
    if !system.keeps_marks {
        DELETION_MARKS.iter().for_each(|name| edit.remove(name));
    }
    edit.set(&Text::new_static("name"), system.name.clone().into());
    edit.set(&Text::new_static("uid"), system.uid.clone().into());
    edit.set(&Text::new_static("creationTimestamp"), system.now.format(Precision::Seconds).into());
    match &system.namespace {
        Some(namespace) => edit.set(&Text::new_static("namespace"), namespace.clone().into()),
        None => edit.remove("namespace"),
    }
    if resource.strategy.generation {
        edit.set(&Text::new_static("generation"), 1.into());
    }
    fields.with("metadata", edit.finish().unwrap_or(metadata)).into()
}

/// Returns the value at a path of names.
pub fn at<'o>(object: &'o Object, path: &[&str]) -> Option<&'o Value> {
    let (first, rest) = path.split_first()?;
    rest.iter().try_fold(object.get(first)?, |value, name| value.get(name))
}

/// Returns an object with one of its fields taken from another object.
pub fn carry_field(to: &Object, from: &Object, name: &str) -> Object {
    match (from.get(name), to.get(name)) {
        (Some(old), Some(new)) if old == new => to.clone(),
        (Some(value), _) => to.with(name, value.clone()),
        (None, _) => to.without(name),
    }
}

/// Returns an object with a field of its metadata set or removed.
pub fn with_metadata(object: &Object, name: &str, value: Option<Value>) -> Object {
    let metadata = object.get("metadata").and_then(Value::as_object).cloned().unwrap_or_default();
    if metadata.get(name) == value.as_ref() {
        return object.clone();
    }
    let metadata = match value {
        Some(value) => metadata.with(name, value),
        None => metadata.without(name),
    };
    object.with("metadata", metadata)
}

/// Returns the result of a write to `/status`: the live object with the status of the request and the
/// metadata that the resource allows there.
pub fn status_update(resource: &Resource, old: &Object, new: &Object) -> Object {
    let mut result = carry_field(old, new, "status");
    for name in resource.strategy.status_keeps.iter() {
        let value = at(new, &["metadata", name]).cloned();
        result = with_metadata(&result, name, value);
    }
    for name in ["uid", "resourceVersion", "managedFields", "deletionTimestamp", "deletionGracePeriodSeconds"]
    {
        // A status of a pod never says when the pod is deleted.
        if resource.strategy.graceful_deletion && name == "deletionTimestamp" {
            continue;
        }
        if let Some(value) = at(new, &["metadata", name]) {
            result = with_metadata(&result, name, Some(value.clone()));
        }
    }
    result
}

/// Returns an object with the metadata of the live one that updates cannot change.
pub fn carry_system_metadata(new: &Object, old: &Object) -> Object {
    let live = |name: &str| at(old, &["metadata", name]).cloned();
    let mut result = new.clone();
    for name in ["generation", "creationTimestamp"] {
        result = with_metadata(&result, name, live(name));
    }
    result = with_metadata(&result, "selfLink", None);
    if let Some(time) = live("deletionTimestamp") {
        result = with_metadata(&result, "deletionTimestamp", Some(time));
    }
    for name in ["uid", "namespace", "deletionGracePeriodSeconds"] {
        if at(&result, &["metadata", name]).is_none_or(|value| value.as_str() == Some("")) {
            result = with_metadata(&result, name, live(name));
        }
    }
    result
}

/// Returns an object with its generation incremented if the resource counts the change.
pub fn with_generation(resource: &Resource, old: &Object, new: Object) -> Object {
    if !raises_generation(resource, old, &new) {
        return new;
    }
    let generation = at(old, &["metadata", "generation"]).and_then(Value::as_i64).unwrap_or(0);
    with_metadata(&new, "generation", Some((generation + 1).into()))
}

/// Iterates over the fields except metadata, status, apiVersion and kind.
fn content(object: &Object) -> impl Iterator<Item = &(Text, Value)> {
    let outside = ["apiVersion", "kind", "metadata", "status"];
    object.fields().iter().filter(move |(name, _)| !outside.contains(&name.as_str()))
}

/// Whether the content is the same; an empty list or map is the same as `null`.
fn same_content(old: &Object, new: &Object) -> bool {
    fn is_empty(value: &Value) -> bool {
        match value {
            Value::Null => true,
            Value::Array(items) => items.is_empty(),
            Value::Object(fields) => fields.is_empty(),
            _ => false,
        }
    }
    fn same(old: &Value, new: &Value) -> bool {
        match (old, new) {
            (Value::Object(old), Value::Object(new)) => {
                old.ptr_eq(new)
                    || old.len() == new.len()
                        && old.iter().zip(new.iter()).all(|(a, b)| a.0 == b.0 && same(a.1, b.1))
            }
            (Value::Array(old), Value::Array(new)) => {
                old.ptr_eq(new)
                    || old.len() == new.len() && old.iter().zip(new.iter()).all(|(a, b)| same(a, b))
            }
            _ => old == new || is_empty(old) && is_empty(new),
        }
    }
    let (mut before, mut now) = (content(old), content(new));
    loop {
        match (before.next(), now.next()) {
            (None, None) => return true,
            (Some(a), Some(b)) if a.0 == b.0 && same(&a.1, &b.1) => {}
            _ => return false,
        }
    }
}

/// Whether a change increments the generation.
fn raises_generation(resource: &Resource, old: &Object, new: &Object) -> bool {
    let bumps = resource.strategy.bumps;
    bumps.content && !same_content(old, new)
        || bumps.status && old.get("status") != new.get("status")
        || bumps.annotations && at(old, &["metadata", "annotations"]) != at(new, &["metadata", "annotations"])
}
