//! Fields that an endpoint takes from the live object and that a write through it cannot own: the status on the main
//! endpoint, everything else on the status endpoint.

use crate::Difference;
use tenure_fields::{FieldSet, Node, PathElement};
use tenure_value::{Object, Text, Value};

/// Which fields an endpoint resets.
#[derive(Clone, Debug, Default)]
pub enum ResetFields {
    /// None.
    #[default]
    None,
    /// These and all below them.
    These(FieldSet),
    /// All but these and what is below them.
    AllBut(FieldSet),
}

impl ResetFields {
    /// Resets the fields at paths of names.
    pub fn these<'p>(paths: impl IntoIterator<Item = &'p [Text]>) -> ResetFields {
        let mut fields = FieldSet::default();
        for path in paths {
            let path: Vec<PathElement> = path.iter().cloned().map(PathElement::Field).collect();
            fields.insert(&path);
        }
        ResetFields::These(fields)
    }

    /// Returns the part of a set that this endpoint accepts.
    pub fn outside(&self, set: &FieldSet) -> FieldSet {
        match self {
            ResetFields::None => set.clone(),
            ResetFields::These(fields) => set.recursive_difference(fields),
            ResetFields::AllBut(fields) => within(set, fields),
        }
    }

    pub(crate) fn outside_of(&self, difference: &Difference) -> Difference {
        Difference { written: self.outside(&difference.written), removed: self.outside(&difference.removed) }
    }

    /// Returns the part of a configuration that this endpoint accepts.
    pub(crate) fn accepted(&self, config: &Value) -> Value {
        match self {
            ResetFields::None => config.clone(),
            ResetFields::These(fields) => without(config, fields).unwrap_or_else(|| config.clone()),
            ResetFields::AllBut(fields) => only(config, fields),
        }
    }

    /// Returns the part of a configuration that creates an object: a new object has no status, and all else from the
    /// configuration, since there is no live object to take it from.
    pub(crate) fn accepted_of_new(&self, config: &Value) -> Value {
        let status = PathElement::field("status");
        match (self, config) {
            (ResetFields::These(fields), Value::Object(object)) if fields.node(&status).is_some() => {
                object.without("status").into()
            }
            (ResetFields::These(_), _) => config.clone(),
            _ => self.accepted(config),
        }
    }
}

/// Returns the paths of a set that are at or below those of another.
fn within(set: &FieldSet, fields: &FieldSet) -> FieldSet {
    let kept = set.nodes().iter().filter_map(|node| {
        let field = fields.node(&node.element)?;
        if field.included {
            return Some(node.clone());
        }
        let children = within(&node.children, &field.children);
        (!children.is_empty()).then(|| Node { element: node.element.clone(), included: false, children })
    });
    FieldSet::from_nodes(kept)
}

/// Returns a value without the fields of a set; `None` if it has none of them.
fn without(value: &Value, fields: &FieldSet) -> Option<Value> {
    let object = value.as_object()?;
    let mut left: Option<Object> = None;
    for node in fields.nodes() {
        let PathElement::Field(name) = &node.element else { continue };
        let Some(child) = object.get(name) else { continue };
        if node.included {
            left = Some(left.as_ref().unwrap_or(object).without(name));
        } else if let Some(child) = without(child, &node.children) {
            left = Some(left.as_ref().unwrap_or(object).with(name.clone(), child));
        }
    }
    left.map(Value::Object)
}

/// Returns a value with the fields of a set alone.
fn only(value: &Value, fields: &FieldSet) -> Value {
    let Some(object) = value.as_object() else { return value.clone() };
    let kept = object.iter().filter_map(|(name, value)| {
        let node = fields.node(&PathElement::Field(name.clone()))?;
        let value = if node.included { value.clone() } else { only(value, &node.children) };
        Some((name.clone(), value))
    });
    Value::Object(Object::from_sorted(kept))
}
