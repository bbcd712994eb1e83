//! Recommended merge keys: the fields by which a client that supports them should match the entries of a
//! list. They follow from the list map keys if these contain more than the merge key; the others are in a
//! table.

use crate::PackError;
use tenure_value::{Object, Value};

/// Lists without a key, or with one that is not unique, and the fields that identify their entries.
pub const TABLE: [(&str, &str, &str); 5] = [
    ("io.k8s.api.core.v1.NodeSelectorTerm", "matchExpressions", "key,operator"),
    ("io.k8s.api.core.v1.NodeSpec", "taints", "key,effect"),
    ("io.k8s.api.core.v1.NodeStatus", "addresses", "type,address"),
    ("io.k8s.api.core.v1.PodSpec", "tolerations", "key,operator,effect"),
    ("io.k8s.api.node.v1.Scheduling", "tolerations", "key,operator,effect"),
];

const MARKER: &str = "x-kubernetes-recommended-patch-merge-key";

/// Returns the schemas with recommended keys on their lists.
pub(crate) fn mark(schemas: &Object) -> Result<Object, PackError> {
    let derived = schemas.iter().map(|(name, schema)| (name.clone(), mark_derived(schema)));
    let mut marked = Object::from_sorted(derived.collect::<Vec<_>>());
    for (name, field, keys) in TABLE {
        let schema = marked.get(name).filter(|schema| schema.at(["properties", field]).is_some());
        // A source of another version may lack the type; a type without the field indicates a rename.
        match (schema, marked.contains(name)) {
            (Some(schema), _) => {
                let schema = with_property(schema, field, |property| property.with(MARKER, keys));
                marked = marked.with(name, schema);
            }
            (None, true) => {
                return Err(PackError::Source {
                    at: name.into(),
                    what: format!("unknown field {field:?}"),
                    expected: "the table of recommended keys must contain existing fields",
                });
            }
            (None, false) => {}
        }
    }
    Ok(marked)
}

fn mark_derived(schema: &Value) -> Value {
    let Some(Value::Object(properties)) = schema.get("properties") else { return schema.clone() };
    properties.iter().fold(schema.clone(), |schema, (name, property)| match derived_keys(property) {
        Some(keys) => with_property(&schema, name, |property| property.with(MARKER, keys.as_str())),
        None => schema,
    })
}

/// Returns the merge key followed by the other list map keys, if there are any.
fn derived_keys(property: &Value) -> Option<String> {
    let merge_key = property.get("x-kubernetes-patch-merge-key")?.as_str()?;
    let map_keys = property.get("x-kubernetes-list-map-keys")?.as_array()?;
    let more = map_keys.iter().filter_map(Value::as_str).filter(|key| *key != merge_key);
    let keys: Vec<_> = std::iter::once(merge_key).chain(more).collect();
    (keys.len() > 1).then(|| keys.join(","))
}

fn with_property(schema: &Value, name: &str, change: impl Fn(&Object) -> Object) -> Value {
    let changed = || {
        let (schema, properties) = (schema.as_object()?, schema.get("properties")?.as_object()?);
        let property = change(properties.get(name)?.as_object()?);
        Some(schema.with("properties", properties.with(name, property)).into())
    };
    changed().unwrap_or_else(|| schema.clone())
}
