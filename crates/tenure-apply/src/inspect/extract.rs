//! The configuration that a manager declared last, as far as the object still has it: the owned parts, with the keys of
//! their list items and the object's name.

use crate::{
    document::granularity::{Granularity, below, granularity},
    document::items,
};
use tenure_fields::{FieldSet, Node, PathElement};
use tenure_schema::{ListTopology, TypeRef};
use tenure_value::{Object, ObjectBuilder, Text, Value};

/// The fields that identify an object and cannot be owned.
const IDENTITY: [&str; 2] = ["apiVersion", "kind"];
const IDENTITY_IN_METADATA: [&str; 2] = ["name", "namespace"];

/// Returns the parts of an object that a set owns, ready to be applied again. An owned field that the object
/// does not show (a zero that was left out) is not in it.
pub fn extract(object: &Value, fields: &FieldSet, ty: TypeRef<'_>) -> Value {
    let owned = parts(object, fields, ty).unwrap_or_else(|| Value::Object(Object::default()));
    let mut owned = owned.as_object().cloned().unwrap_or_default();
    for name in IDENTITY {
        if let Some(value) = object.get(name) {
            owned = owned.with(name, value.clone());
        }
    }
    let mut metadata = owned.get("metadata").and_then(Value::as_object).cloned().unwrap_or_default();
    for name in IDENTITY_IN_METADATA {
        if let Some(value) = object.at(["metadata", name]) {
            metadata = metadata.with(name, value.clone());
        }
    }
    if !metadata.is_empty() {
        owned = owned.with("metadata", metadata);
    }
    Value::Object(owned)
}

/// Returns the parts of a value that are in a set; `None` if there are none.
fn parts(value: &Value, fields: &FieldSet, ty: TypeRef<'_>) -> Option<Value> {
    match (granularity(ty), value) {
        (Granularity::Granular | Granularity::Deduced, Value::Object(object)) => {
            let mut owned = ObjectBuilder::with_capacity(fields.nodes().len());
            for (name, value) in object {
                let node = fields.node(&PathElement::Field(name.clone()));
                if let Some(part) = node.and_then(|node| place(value, node, below(ty, name))) {
                    owned.push(name.clone(), part);
                }
            }
            let owned = owned.finish();
            (!owned.is_empty()).then_some(Value::Object(owned))
        }
        (Granularity::Items(topology, item_type), Value::Array(array)) => {
            let owned: Vec<Value> = array
                .iter()
                .enumerate()
                .filter_map(|(index, item)| {
                    let element = items::element(item, topology, index).ok()?;
                    let part = place(item, fields.node(&element)?, item_type)?;
                    Some(with_keys(part, item, topology))
                })
                .collect();
            (!owned.is_empty()).then(|| Value::array(owned))
        }
        _ => None,
    }
}

fn place(value: &Value, node: &Node, ty: TypeRef<'_>) -> Option<Value> {
    if let Some(part) = parts(value, &node.children, ty) {
        return Some(part);
    }
    let owned = node.included.then_some(value)?;
    Some(match (granularity(ty), owned) {
        // Owned without any part: it was declared empty.
        (Granularity::Granular | Granularity::Deduced, Value::Object(_)) => Value::Object(Object::default()),
        (Granularity::Items(..), Value::Array(_)) => Value::array([]),
        (_, whole) => whole.clone(),
    })
}

fn with_keys(part: Value, item: &Value, topology: &ListTopology) -> Value {
    let (ListTopology::Keyed(keys), Value::Object(part)) = (topology, &part) else { return part };
    let key = |name: &Text| item.get(name).map(|value| (name.clone(), value.clone()));
    let missing = keys.iter().filter(|key| key.default.is_none() && !part.contains(&key.name));
    let keyed = missing.filter_map(|missing| key(&missing.name));
    Value::Object(keyed.fold(part.clone(), |part, (name, value)| part.with(name, value)))
}
