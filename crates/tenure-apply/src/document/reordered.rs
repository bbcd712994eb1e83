//! The lists whose items two states have in another order. Ownership does not know the order of items that are identified by a
//! key or by their value, so that no difference of fields tells of it.
//!
//! A list is reordered if the items that both states have do not follow each other in the same order.

use super::{
    granularity::{Granularity, below, granularity},
    items,
};
use std::collections::BTreeMap;
use tenure_fields::{FieldSet, Node, PathElement};
use tenure_schema::{ListTopology, TypeRef};
use tenure_value::Value;

/// Returns the paths of the lists whose items are in another order in two states of an object of one type.
pub fn reordered(old: &Value, new: &Value, ty: TypeRef<'_>) -> FieldSet {
    inside(old, new, ty).1
}

/// Whether a value is a list in another order, and such lists inside of it.
fn inside(old: &Value, new: &Value, ty: TypeRef<'_>) -> (bool, FieldSet) {
    if old.ptr_eq(new) {
        return (false, FieldSet::EMPTY);
    }
    match (granularity(ty), old, new) {
        (Granularity::Granular | Granularity::Deduced, Value::Object(old), Value::Object(new)) => {
            let both = old.iter().filter_map(|(name, old)| Some((name, old, new.get(name)?)));
            let nodes = both.filter_map(|(name, old, new)| {
                node(PathElement::Field(name.clone()), inside(old, new, below(ty, name)))
            });
            (false, FieldSet::from_nodes(nodes))
        }
        (Granularity::Items(topology, item_type), Value::Array(old), Value::Array(new)) => {
            match (elements(old.items(), topology), elements(new.items(), topology)) {
                (Some(before), Some(after)) => lists(&before, &after, item_type),
                // Items that cannot be told apart are compared as a whole.
                _ => (false, FieldSet::EMPTY),
            }
        }
        _ => (false, FieldSet::EMPTY),
    }
}

fn node(element: PathElement, (included, children): (bool, FieldSet)) -> Option<Node> {
    (included || !children.is_empty()).then_some(Node { element, included, children })
}

type Items<'v> = Vec<(PathElement, &'v Value)>;

/// Returns the items of a list with the elements that lead to them; `None` if one has none.
fn elements<'v>(items: &'v [Value], topology: &ListTopology) -> Option<Items<'v>> {
    let element = |(index, item)| Some((items::element(item, topology, index).ok()?, item));
    items.iter().enumerate().map(element).collect()
}

fn lists(old: &Items<'_>, new: &Items<'_>, ty: TypeRef<'_>) -> (bool, FieldSet) {
    let index = |items: &Items<'_>| {
        let mut positions: BTreeMap<PathElement, Vec<usize>> = BTreeMap::new();
        for (at, (element, _)) in items.iter().enumerate() {
            positions.entry(element.clone()).or_default().push(at);
        }
        positions
    };
    let (before, after) = (index(old), index(new));
    let mut nodes = Vec::new();
    for (element, at) in &before {
        // Items that share an element are compared as a whole.
        if let ([at], Some([other])) = (&at[..], after.get(element).map(Vec::as_slice)) {
            nodes.extend(node(element.clone(), inside(old[*at].1, new[*other].1, ty)));
        }
    }
    // Where one element leads to several items, as many of them count as both lists have.
    let kept = |items: &Items<'_>,
                own: &BTreeMap<PathElement, Vec<usize>>,
                other: &BTreeMap<PathElement, Vec<usize>>| {
        let mut order: Vec<(usize, PathElement)> = Vec::with_capacity(items.len());
        for (element, at) in own {
            let shared = other.get(element).map_or(0, Vec::len).min(at.len());
            order.extend(at.iter().take(shared).map(|at| (*at, element.clone())));
        }
        order.sort_by_key(|(at, _)| *at);
        order.into_iter().map(|(_, element)| element).collect::<Vec<_>>()
    };
    let is_reordered = kept(old, &before, &after) != kept(new, &after, &before);
    (is_reordered, FieldSet::from_nodes(nodes))
}
