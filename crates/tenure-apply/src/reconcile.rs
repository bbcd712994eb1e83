//! Sets that were written under an older schema. Where a type became atomic, holders of its parts hold the
//! whole; where it became granular, the holder of the whole holds every part that lives. That someone held
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
        let (child, of, was) = match (&node.element, shape(ty)) {
            (PathElement::Field(name), Shape::Granular | Shape::Deduced) => {
                let was = former.map(|former| below(former, name));
                (live.and_then(|live| live.get(name)), below(ty, name), was)
            }
            (element, Shape::Items(_, of)) => {
                let was = former.and_then(|former| former.item());
                (find(live, element, ty), of, was)
            }
            _ => (None, TypeRef::untyped(), None),
        };
        match place(node, child, of, was) {
            None => {
                if let Some(changed) = &mut changed {
                    changed.push(node.clone());
                }
            }
            Some(node) => changed.get_or_insert_with(|| set.nodes()[..at].to_vec()).push(node),
        }
    }
    changed.map(FieldSet::from_sorted)
}

fn find<'v>(live: Option<&'v Value>, element: &PathElement, ty: TypeRef<'_>) -> Option<&'v Value> {
    let Shape::Items(topology, _) = shape(ty) else { return None };
    let mut items = live?.as_array()?.iter().enumerate();
    let leads = |(index, item): &(usize, &Value)| {
        items::element(item, topology, *index).is_ok_and(|other| other == *element)
    };
    items.find(leads).map(|(_, item)| item)
}

fn place(node: &Node, live: Option<&Value>, ty: TypeRef<'_>, former: Option<TypeRef<'_>>) -> Option<Node> {
    let with =
        |included: bool, children: FieldSet| Node { element: node.element.clone(), included, children };
    let was_whole = former.is_some_and(|former| matches!(shape(former), Shape::Leaf));
    match shape(ty) {
        Shape::Leaf if !node.children.is_empty() => Some(with(true, FieldSet::default())),
        Shape::Granular | Shape::Items(..) if was_whole && node.included && node.children.is_empty() => {
            let parts = FieldSet::of_with(live?, ty, Duplicates::Tolerated).ok()?;
            (!parts.is_empty()).then(|| with(false, parts))
        }
        _ if node.children.is_empty() => None,
        _ => level(&node.children, live, ty, former).map(|children| with(node.included, children)),
    }
}
