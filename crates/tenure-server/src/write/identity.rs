//! The metadata that only the server sets: name, namespace, uid, times and generation.

use super::request::WriteRequest;
use tenure_catalog::{
    Identifiers, Verb,
    object::{Stored, meta_text, metadata, with_metadata},
};
use tenure_meta::Scope;
use tenure_profile::Behaviour;
use tenure_value::{Text, Value};

/// Gives a new object its identity; returns it with its name.
pub(super) fn identify(write: &WriteRequest<'_>, identifiers: &Identifiers, object: Value) -> (Value, Text) {
    let handler = &write.target.handler;
    let name = Text::new(meta_text(&object, "name"));
    let namespaced = handler.resource.scope == Scope::Namespaced;
    let purpose = ["uid", &handler.resource.group, &handler.resource.name, &write.target.namespace, &name];
    let identity = tenure_builtin::Identity {
        name: name.clone(),
        namespace: namespaced.then(|| write.target.namespace.clone()),
        uid: identifiers.uuid(&purpose).into(),
        now: write.now,
        keeps_marks: keeps_marks(write),
    };
    (handler.identify(&object, &identity), name)
}

/// Returns an object with the metadata of the live one that no write may change.
pub(super) fn keep_identity(live: &Stored, object: Value) -> Value {
    /// Always those of the live object.
    const KEPT: [&str; 2] = ["creationTimestamp", "generation"];
    /// Those of the live object if a request leaves them out; validation refuses to change them.
    const FILLED: [&str; 4] = ["uid", "name", "namespace", "deletionGracePeriodSeconds"];
    const DELETION: &str = "deletionTimestamp";
    let old = metadata(&live.object);
    let mut fields = metadata(&object);
    // Once it is set, changes of it are ignored.
    if let Some(time) = old.get(DELETION)
        && fields.get(DELETION) != Some(time)
    {
        fields = fields.with(DELETION, time.clone());
    }
    for name in KEPT {
        if fields.get(name) != old.get(name) {
            fields = match old.get(name) {
                Some(value) => fields.with(name, value.clone()),
                None => fields.without(name),
            };
        }
    }
    for name in FILLED {
        if let (None, Some(value)) = (fields.get(name), old.get(name)) {
            fields = fields.with(name, value.clone());
        }
    }
    if object
        .get("metadata")
        .and_then(Value::as_object)
        .is_some_and(|same| same.ptr_eq(&fields) || *same == fields)
    {
        return object;
    }
    with_metadata(&object, fields)
}

/// Returns a new object as mutating admission sees it: without the metadata that only the server sets, and the name that it generated.
pub(super) fn without_new_identity(write: &WriteRequest<'_>, object: &Value, name: &str) -> Value {
    const HIDDEN: [&str; 4] = ["creationTimestamp", "generation", "uid", "name"];
    let is_generated = write.is_name_generated && meta_text(object, "name") == name;
    let hidden = &HIDDEN[..HIDDEN.len() - usize::from(!is_generated)];
    with_metadata(object, hidden.iter().fold(metadata(object), |fields, name| fields.without(name)))
}

/// Returns a new object, as admission changed it, with its former identity. What is posted keeps the name that admission left it.
pub(super) fn keep_new_identity(write: &WriteRequest<'_>, before: &Value, object: Value) -> Value {
    const GIVEN: [&str; 5] = ["creationTimestamp", "generation", "namespace", "uid", "name"];
    let is_generated = write.is_name_generated && meta_text(&object, "name").is_empty();
    let keeps_name = write.target.verb == Verb::Create && !is_generated;
    let given = metadata(before);
    let kept = &GIVEN[..GIVEN.len() - usize::from(keeps_name)];
    let fields = kept.iter().fold(metadata(&object), |fields, name| match given.get(name) {
        Some(value) => fields.with(*name, value.clone()),
        None => fields.without(name),
    });
    with_metadata(&object, fields)
}

/// Whether an object that a write creates keeps the marks of a deletion that the client sent.
fn keeps_marks(write: &WriteRequest<'_>) -> bool {
    write.target.verb != Verb::Create && !write.profile.behaves(Behaviour::CreatedAsPosted)
}

/// Returns a new object without the metadata that only a deletion sets.
pub(super) fn without_deletion_marks(write: &WriteRequest<'_>, object: Value) -> Value {
    const OF_DELETION: [&str; 2] = ["deletionTimestamp", "deletionGracePeriodSeconds"];
    let fields = metadata(&object);
    if keeps_marks(write) || !OF_DELETION.iter().any(|name| fields.contains(name)) {
        return object;
    }
    with_metadata(&object, OF_DELETION.iter().fold(fields, |fields, name| fields.without(name)))
}
