//! Sets that were written under an older schema. Where a type became atomic, owners of its parts own the
//! whole; where it became granular, the owner of the whole owns every part that lives. That someone owned
//! a whole rather than an empty thing only the former type can tell.

use crate::{
    items,
    shape::{Shape, below, shape},
};
use tenure_fields::{Duplicates, FieldSet, Node, PathElement};
use tenure_schema::TypeRef;
use tenure_value::Value;

/// Returns the set as the type has it today, or nothing where that changes nothing.
pub(crate) fn reconcile(
    set: &FieldSet,
    live: &Value,
    ty: TypeRef<'_>,
    former: Option<TypeRef<'_>>,
) -> Option<FieldSet> {
    level(set, Some(live), ty, former)
}

fn level(
    set: &FieldSet,
    live: Option<&Value>,
    ty: TypeRef<'_>,
    former: Option<TypeRef<'_>>,
) -> Option<FieldSet> {
    let mut changed: Option<Vec<Node>> = None;
    for (at, node) in set.nodes().iter().enumerate() {
        match child(node, live, ty, former) {
            None => {
                if let Some(changed) = &mut changed {
                    changed.push(node.clone());
                }
            }
            Some(node) => changed.get_or_insert_with(|| set.nodes()[..at].to_vec()).push(node),
        }
    }
    changed.map(FieldSet::from_nodes)
}

fn child(node: &Node, live: Option<&Value>, ty: TypeRef<'_>, former: Option<TypeRef<'_>>) -> Option<Node> {
    // A leaf can only have been a whole, which only the former type can tell.
    if node.children.is_empty() && former.is_none() {
        return None;
    }
    let (of, was) = match (&node.element, shape(ty)) {
        (PathElement::Field(name), Shape::Granular | Shape::Deduced) => {
            (below(ty, name), former.map(|former| below(former, name)))
        }
        (_, Shape::Items(_, of)) => (of, former.and_then(|former| former.item())),
        _ => (TypeRef::untyped(), None),
    };
    let with =
        |included: bool, children: FieldSet| Node { element: node.element.clone(), included, children };
    let was_whole = was.is_some_and(|was| matches!(shape(was), Shape::Leaf));
    match shape(of) {
        Shape::Leaf if !node.children.is_empty() => Some(with(true, FieldSet::default())),
        Shape::Granular | Shape::Items(..) if was_whole && node.included && node.children.is_empty() => {
            let parts = FieldSet::of_with(find(live, &node.element, ty)?, of, Duplicates::Tolerated).ok()?;
            (!parts.is_empty()).then(|| with(false, parts))
        }
        _ if node.children.is_empty() => None,
        _ => {
            let live = if was.is_some() { find(live, &node.element, ty) } else { None };
            level(&node.children, live, of, was).map(|children| with(node.included, children))
        }
    }
}

/// Returns the part of a live value where an element leads.
fn find<'v>(live: Option<&'v Value>, element: &PathElement, ty: TypeRef<'_>) -> Option<&'v Value> {
    match (element, shape(ty)) {
        (PathElement::Field(name), _) => live?.get(name),
        (element, Shape::Items(topology, _)) => {
            let mut items = live?.as_array()?.iter().enumerate();
            let leads = |(index, item): &(usize, &Value)| {
                items::element(item, topology, *index).is_ok_and(|other| other == *element)
            };
            items.find(leads).map(|(_, item)| item)
        }
        _ => None,
    }
}
