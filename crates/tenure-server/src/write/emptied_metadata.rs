//! Empty parts of the metadata of custom resources. In Kubernetes an applied `labels: {}` or `finalizers: null` is stored as it was
//! merged, and no read shows it. What is read therefore never equals what is stored: an apply with such a part always writes, and so
//! does the next write that changes nothing. An object that is converted to another version for the store loses them.

use super::request::WriteRequest;
use tenure_catalog::object::{metadata, with_metadata};
use tenure_meta::{
    Endpoint,
    object_meta::{canonical, has_emptied_part},
};
use tenure_profile::Improvement;
use tenure_value::{Object, Value};

/// The parts that only the client sets. The server replaces the others by its own before it stores an object.
const PARTS: [&str; 7] = [
    "annotations",
    "deletionGracePeriodSeconds",
    "deletionTimestamp",
    "finalizers",
    "generateName",
    "labels",
    "ownerReferences",
];

/// Those that the answer to an apply shows if the apply removes the object.
const SHOWN_AT_REMOVAL: [&str; 2] = ["annotations", "labels"];

/// The parts of an applied object's metadata that are stored otherwise than they are read.
#[derive(Default)]
pub(super) struct EmptiedMetadata(Object);

impl EmptiedMetadata {
    /// Returns those of an object as an apply merged it.
    pub fn of_applied(write: &WriteRequest<'_>, merged: &Value) -> EmptiedMetadata {
        let resource = &write.target.handler.resource;
        let is_stored = write.target.handler.is_custom()
            && resource.version == resource.storage.1
            && write.endpoint == Endpoint::Main
            && !write.profile.has(Improvement::IgnoreTimeChanges);
        let given = merged.get("metadata").filter(|given| is_stored && has_emptied_part(given));
        let Some(given) = given else { return EmptiedMetadata::default() };
        // What cannot be decoded is refused later.
        let read = canonical(Some(given)).ok().and_then(|read| read.value).unwrap_or_default();
        let differs = |name: &str, part: &Value| PARTS.contains(&name) && read.get(name) != Some(part);
        let parts = metadata(merged);
        let parts = parts.iter().filter(|(name, part)| differs(name, part));
        let none = Object::default();
        EmptiedMetadata(parts.fold(none, |kept, (name, part)| kept.with(name.clone(), part.clone())))
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns a valid object as it is stored: with these parts, unless admission or the live object has filled them.
    pub fn stored_in(&self, object: Value) -> Value {
        self.merged_into(object, &PARTS)
    }

    /// Returns a removed object as it is answered.
    pub fn answered_in(&self, object: Value) -> Value {
        self.merged_into(object, &SHOWN_AT_REMOVAL)
    }

    fn merged_into(&self, object: Value, parts: &[&str]) -> Value {
        let fields = metadata(&object);
        let read =
            canonical(Some(&self.0.clone().into())).ok().and_then(|read| read.value).unwrap_or_default();
        let is_kept = |name: &str| parts.contains(&name) && fields.get(name) == read.get(name);
        let kept = self.0.iter().filter(|(name, _)| is_kept(name));
        let stored =
            kept.fold(fields.clone(), |fields, (name, part)| fields.with(name.clone(), part.clone()));
        with_metadata(&object, stored)
    }
}
