//! Defaulting: fills in absent fields, and fields that are `null` although the schema does not allow it.
//! Defaults are defaulted recursively; an absent object without a default of its own is not created.

use super::node::{Additional, Node};
use tenure_meta::{Previous, Rebuild, map_items};
use tenure_value::{Object, Value};

/// Returns the value with its defaults; `None` if none is missing. Parts unchanged since `before` have them.
pub(crate) fn fill(node: &Node, value: &Value, before: Previous<'_>) -> Option<Value> {
    if !node.defaults_within || before.is_unchanged(value) {
        return None;
    }
    match value {
        Value::Object(fields) => fill_fields(node, fields, before).map(Value::from),
        Value::Array(items) => {
            let of = node.items.as_deref()?;
            map_items(items.items(), |at, item| replaced(of, item, before.item(at)))
        }
        _ => None,
    }
}

/// Returns the replacement of a value: the default for a `null` that is not allowed, or the value with
/// defaults.
fn replaced(node: &Node, value: &Value, before: Previous<'_>) -> Option<Value> {
    match (&node.default, value) {
        (Some(default), Value::Null) if !node.nullable => Some(filled(node, default)),
        _ => fill(node, value, before),
    }
}

fn filled(node: &Node, default: &Value) -> Value {
    fill(node, default, Previous::UNKNOWN).unwrap_or_else(|| default.clone())
}

fn fill_fields(node: &Node, fields: &Object, before: Previous<'_>) -> Option<Object> {
    let mut walk = Rebuild::new(fields.fields());
    let mut known = node.fields.iter().peekable();
    while let Some((name, value)) = walk.next() {
        while let Some((missing, of)) = known.next_if(|(field, _)| field < name) {
            if let Some(default) = &of.default {
                walk.insert(missing, filled(of, default));
            }
        }
        let of = match known.next_if(|(field, _)| field == name) {
            Some((_, of)) => Some(of),
            None => match &node.additional {
                Additional::Each(of) => Some(&**of),
                _ => None,
            },
        };
        let before = before.field(walk.place(), name, value);
        walk.replace_if(of.and_then(|of| replaced(of, value, before)));
    }
    for (missing, of) in known {
        if let Some(default) = &of.default {
            walk.insert(missing, filled(of, default));
        }
    }
    walk.finish()
}
