//! The most common apply says again what was said before. It is recognised by walking configuration, live
//! object and last set in step: nothing is made, and types are looked up only where a value has parts.

use crate::{
    items::{self, Places},
    shape::{Shape, below, names, shape},
    strip,
};
use tenure_fields::{FieldSet, Node, PathElement};
use tenure_schema::{ListTopology, TypeRef};
use tenure_value::{Text, Value};

/// Whether a configuration declares exactly the last set, and the object already says all of it. `false`
/// says nothing: then the whole way has to be gone.
pub(crate) fn repeats(config: &Value, live: &Value, last: &FieldSet, ty: TypeRef<'_>) -> bool {
    let (Some(config), Some(live)) = (config.as_object(), live.as_object()) else { return false };
    let mut nodes = last.nodes();
    config.iter().all(|(name, value)| {
        let Some(live) = live.get(name) else { return false };
        if name == "metadata" {
            let node = nodes.first().filter(|node| is(node, name));
            nodes = &nodes[usize::from(node.is_some())..];
            return metadata(value, live, node, below(ty, name));
        }
        if strip::is_nobodys(name) {
            return value == live;
        }
        let Some((node, rest)) = nodes.split_first().filter(|(node, _)| is(node, name)) else { return false };
        nodes = rest;
        place(value, live, node, name, ty)
    }) && nodes.is_empty()
}

fn is(node: &Node, name: &Text) -> bool {
    matches!(&node.element, PathElement::Field(field) if field == name)
}

/// Of the metadata, what identifies the object must agree and is in no set.
fn metadata(config: &Value, live: &Value, node: Option<&Node>, ty: TypeRef<'_>) -> bool {
    let (Some(config), Some(live)) = (config.as_object(), live.as_object()) else { return false };
    let mut nodes = node.map_or(&[][..], |node| node.children.nodes());
    node.is_none_or(|node| !node.included)
        && config.iter().all(|(name, value)| {
            let Some(live) = live.get(name) else { return false };
            if strip::is_nobodys_in_metadata(name) {
                return value == live;
            }
            let Some((node, rest)) = nodes.split_first().filter(|(node, _)| is(node, name)) else {
                return false;
            };
            nodes = rest;
            place(value, live, node, name, ty)
        })
        && nodes.is_empty()
}

/// Whether a field repeats; `ty` is the type of what it stands in.
fn place(value: &Value, live: &Value, node: &Node, name: &str, ty: TypeRef<'_>) -> bool {
    if value.is_scalar() {
        // What lives has been found fitting before, so an equal scalar needs no type.
        return node.included && node.children.is_empty() && value == live;
    }
    part(value, live, node, below(ty, name), || !names(ty, name))
}

/// Whether a value with parts repeats. `entry` says whether its place is held whatever is below it.
fn part(value: &Value, live: &Value, node: &Node, ty: TypeRef<'_>, entry: impl Fn() -> bool) -> bool {
    match (shape(ty), value, live) {
        (Shape::Leaf, value, live) => node.included && node.children.is_empty() && value == live,
        (Shape::Granular | Shape::Deduced, Value::Object(object), Value::Object(standing)) => {
            if object.is_empty() {
                return node.included && node.children.is_empty();
            }
            node.included == entry() && fields(object.fields(), standing.fields(), &node.children, ty)
        }
        (Shape::Items(topology, of), Value::Array(array), Value::Array(standing)) if !array.is_empty() => {
            node.included == entry() && list(array, standing, &node.children, topology, of)
        }
        (Shape::Deduced, value, live) => node.included && node.children.is_empty() && value == live,
        _ => false,
    }
}

fn fields(config: &[(Text, Value)], mut live: &[(Text, Value)], last: &FieldSet, ty: TypeRef<'_>) -> bool {
    let nodes = last.nodes();
    config.len() == nodes.len()
        && config.iter().zip(nodes).all(|((name, value), node)| {
            let Some(at) = live.iter().position(|(other, _)| other == name) else { return false };
            let standing = &live[at].1;
            live = &live[at + 1..];
            is(node, name) && place(value, standing, node, name, ty)
        })
}

/// Comparisons that are cheaper than the whole way.
const FEW: usize = 4096;

fn list(config: &[Value], live: &[Value], last: &FieldSet, topology: &ListTopology, of: TypeRef<'_>) -> bool {
    let nodes = last.nodes();
    let extra = live.len().saturating_sub(config.len());
    if config.len() != nodes.len() || live.len() < config.len() || extra * config.len() > FEW {
        return false;
    }
    let mut places = Places::new(nodes);
    let mut rest = live.iter();
    let mut passed: Vec<&Value> = Vec::new();
    let in_order = config.iter().all(|item| {
        let next =
            rest.as_slice().first().and_then(|live| Some((live, places.take_next(item, live, topology)?)));
        let (standing, node) = match next {
            Some(both) => {
                rest.next();
                both
            }
            None => {
                let standing = rest.by_ref().find(|live| {
                    let same = items::certainly_same(item, live, topology);
                    if !same {
                        passed.push(live);
                    }
                    same
                });
                let (Some(standing), Some(node)) = (standing, places.take(item, topology)) else {
                    return false;
                };
                (standing, node)
            }
        };
        node.included
            && match (item, standing, shape(of)) {
                (Value::Object(item), Value::Object(standing), Shape::Granular) => {
                    fields(item.fields(), standing.fields(), &node.children, of)
                }
                (Value::Object(_), ..) => part(item, standing, node, of, || true),
                (scalar, ..) => node.children.is_empty() && scalar == standing,
            }
    });
    // An item that lives twice is replaced by the one that is applied, so that is no repetition.
    let twice = |other: &Value| config.iter().any(|item| items::certainly_same(item, other, topology));
    in_order && !passed.into_iter().chain(rest).any(twice)
}
