//! Traversing and rebuilding documents, for the rules.

use tenure_schema::{PatchMarks, TypeRef};
use tenure_value::{Array, Value};

/// Whether some part of a document matches.
pub fn any(value: &Value, fits: &impl Fn(&Value) -> bool) -> bool {
    fits(value)
        || match value {
            Value::Object(fields) => fields.iter().any(|(_, field)| any(field, fits)),
            Value::Array(items) => items.iter().any(|item| any(item, fits)),
            _ => false,
        }
}

/// Rebuilds a document, with other values where `change` returns some.
pub fn rebuild(value: &Value, change: &impl Fn(&Value) -> Option<Value>) -> Value {
    match (change(value), value) {
        (Some(value), _) => value,
        (None, Value::Object(fields)) => {
            Value::object(fields.iter().map(|(name, field)| (name.clone(), rebuild(field, change))))
        }
        (None, Value::Array(items)) => Value::array(items.iter().map(|item| rebuild(item, change))),
        (None, value) => value.clone(),
    }
}

/// Rebuilds a document without the fields that `drop` names.
pub fn prune(value: &Value, drop: &impl Fn(&str, &Value) -> bool) -> Value {
    match value {
        Value::Object(fields) => Value::object(
            fields
                .iter()
                .filter(|(name, field)| !drop(name, field))
                .map(|(name, field)| (name.clone(), prune(field, drop))),
        ),
        Value::Array(items) => Value::array(items.iter().map(|item| prune(item, drop))),
        scalar => scalar.clone(),
    }
}

/// Visits every list of a document, with its name and its patch metadata.
pub fn lists(value: &Value, ty: TypeRef<'_>, visit: &mut impl FnMut(&str, &Array, &PatchMarks)) {
    for (name, field) in value.as_object().into_iter().flatten() {
        let Some(field_type) = ty.field(name) else { continue };
        let below = ty.slot(&field_type.slot);
        match field {
            Value::Array(list) => {
                visit(name, list, &field_type.patch);
                for item in list {
                    lists(item, below.item().unwrap_or(TypeRef::untyped()), visit);
                }
            }
            field => lists(field, below, visit),
        }
    }
}

/// Whether two documents are equal except for the order of their lists.
pub fn unordered_equal(left: &Value, right: &Value) -> bool {
    fn sorted(value: &Value) -> Value {
        rebuild(value, &|value| match value {
            Value::Array(items) => {
                let mut items: Vec<Value> = items.iter().map(sorted).collect();
                items.sort();
                Some(Value::array(items))
            }
            _ => None,
        })
    }
    sorted(left) == sorted(right)
}
