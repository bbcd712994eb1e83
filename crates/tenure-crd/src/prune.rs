//! Pruning: drops undeclared fields and reports them. apiVersion, kind and metadata of the resource and of
//! embedded resources are kept; the content of a preserved unknown field is kept completely.

use super::node::{Additional, Identity, Node, Unknown};
use tenure_meta::{FieldPath, Previous, Rebuild, codec::MAX_STRICT_ERRORS, map_items};
use tenure_value::{Object, Value};

/// Drops unknown fields and adds their paths to the list. Returns `None` if nothing is dropped. Parts
/// unchanged since `before` are already pruned.
pub(crate) fn prune(
    node: &Node,
    value: &Value,
    before: Previous<'_>,
    path: &FieldPath<'_>,
    dropped: &mut Vec<String>,
) -> Option<Value> {
    if before.is_unchanged(value) {
        return None;
    }
    match value {
        Value::Object(fields) => prune_fields(node, fields, before, path, dropped).map(Value::from),
        Value::Array(items) => {
            let item_node = node.items.as_deref()?;
            map_items(items.items(), |at, item| {
                prune(item_node, item, before.item(at), &path.index(at), dropped)
            })
        }
        _ => None,
    }
}

fn prune_fields(
    node: &Node,
    fields: &Object,
    before: Previous<'_>,
    path: &FieldPath<'_>,
    dropped: &mut Vec<String>,
) -> Option<Object> {
    let mut walk = Rebuild::new(fields.fields());
    while let Some((name, value)) = walk.next() {
        let before = before.field(walk.place(), name, value);
        let is_identity =
            node.identity != Identity::None && matches!(name.as_str(), "apiVersion" | "kind" | "metadata");
        match (node.field(name), &node.additional) {
            _ if is_identity => walk.keep(),
            (Some(below), _) => walk.replace_if(prune(below, value, before, &path.field(name), dropped)),
            (None, Additional::Each(below)) => {
                walk.replace_if(prune(below, value, before, &path.field(name), dropped))
            }
            (None, Additional::Anything) => walk.keep(),
            (None, Additional::None) if node.unknown == Unknown::Preserved => walk.keep(),
            (None, Additional::None) => {
                if dropped.len() < MAX_STRICT_ERRORS {
                    dropped.push(path.field(name).to_string());
                }
                walk.skip();
            }
        }
    }
    walk.finish()
}
