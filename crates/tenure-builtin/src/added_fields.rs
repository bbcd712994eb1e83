//! Fields that a version added with a value that every object has. An object that an earlier version stored is read with it, and one that
//! a later version stored is read without a field that is unknown.

use memchr::memmem;
use tenure_meta::Resource;
use tenure_profile::KubernetesVersion;
use tenure_value::{Object, Value};

/// A field that a version added.
#[derive(Debug)]
pub(crate) struct AddedField {
    since: KubernetesVersion,
    kind: (&'static str, &'static str),
    /// What has the field; objects without it do not get the field.
    parent: &'static [&'static str],
    name: &'static str,
    /// Whether the versions before know the field.
    is_older: bool,
    value: fn() -> Value,
}

const ADDED: [AddedField; 3] = [
    AddedField {
        since: KubernetesVersion::V1_37,
        kind: ("storage.k8s.io/v1", "CSINode"),
        parent: &[],
        name: "status",
        is_older: false,
        value: || Object::default().into(),
    },
    AddedField {
        since: KubernetesVersion::V1_37,
        kind: ("storage.k8s.io/v1", "CSIDriver"),
        parent: &["spec"],
        name: "preventPodSchedulingIfMissing",
        is_older: false,
        value: || false.into(),
    },
    AddedField {
        since: KubernetesVersion::V1_37,
        kind: ("apps/v1", "StatefulSet"),
        parent: &["spec", "updateStrategy", "rollingUpdate"],
        name: "maxUnavailable",
        is_older: true,
        value: || 1.into(),
    },
];

impl AddedField {
    /// Returns the field that a version reads otherwise than another one stores it, if the resource has one.
    pub fn of(resource: &Resource, version: KubernetesVersion) -> Option<&'static AddedField> {
        ADDED.iter().find(|field| {
            field.kind == (&*resource.api_version, &*resource.kind)
                && (field.since <= version || !field.is_older)
        })
    }

    /// Whether the text of a stored object shows that a version reads it as it is; if not, it may differ.
    pub fn is_settled(&self, text: &[u8], version: KubernetesVersion) -> bool {
        let is_named = memmem::find(text, self.name.as_bytes()).is_some();
        is_named == (self.since <= version)
    }

    /// Returns an object as a version reads it; `None` if it stays as it is.
    pub fn read(&self, object: &Value, version: KubernetesVersion) -> Option<Value> {
        self.set_below(object.as_object()?, self.parent, version).map(Value::from)
    }

    fn set_below(&self, object: &Object, path: &[&str], version: KubernetesVersion) -> Option<Object> {
        if let [first, rest @ ..] = path {
            let below = self.set_below(object.get(first)?.as_object()?, rest, version)?;
            return Some(object.with(*first, below));
        }
        match (object.contains(self.name), self.since <= version) {
            (false, true) => Some(object.with(self.name, (self.value)())),
            (true, false) => Some(object.without(self.name)),
            _ => None,
        }
    }
}
