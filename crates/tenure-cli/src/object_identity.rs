//! Which object a document is: the same one at every version of its group.

use tenure_value::Value;

/// The identity of an object.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ObjectIdentity {
    /// The API group; empty for the core group.
    pub group: String,
    /// The kind.
    pub kind: String,
    /// The namespace; empty for cluster-scoped objects.
    pub namespace: String,
    /// The name.
    pub name: String,
}

impl ObjectIdentity {
    /// Returns the identity of the object in a document.
    pub fn of(object: &Value) -> ObjectIdentity {
        let text = |path: &[&str]| {
            object.at(path.iter().copied()).and_then(Value::as_str).unwrap_or_default().to_owned()
        };
        ObjectIdentity {
            group: group_of(&text(&["apiVersion"])).to_owned(),
            kind: text(&["kind"]),
            namespace: text(&["metadata", "namespace"]),
            name: text(&["metadata", "name"]),
        }
    }
}

/// Returns the group of an apiVersion; empty for the core group.
pub fn group_of(api_version: &str) -> &str {
    api_version.split_once('/').map_or("", |(group, _)| group)
}
