//! Sets that were written under an older schema. If a type became atomic, owners of its parts own the whole. If it became
//! granular, the owner of the whole owns every live part; only the former type tells a whole from an empty value.

use crate::{
    document::granularity::{Granularity, below, granularity},
    document::items::ItemFinder,
};
use tenure_fields::{Duplicates, FieldSet, Node, PathElement};
use tenure_schema::TypeRef;
use tenure_value::Value;

/// Returns the set under the present type; `None` if it is the same.
pub(super) fn reconcile(
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
    let items = live.and_then(Value::as_array).map(|array| array.items()).unwrap_or_default();
    let mut live = Parts { value: live, items: ItemFinder::new(items) };
    for (at, node) in set.nodes().iter().enumerate() {
        match child(node, &mut live, ty, former) {
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

fn child(node: &Node, live: &mut Parts<'_>, ty: TypeRef<'_>, former: Option<TypeRef<'_>>) -> Option<Node> {
    // A leaf can only have been a whole, which only the former type can tell.
    if node.children.is_empty() && former.is_none() {
        return None;
    }
    let (below_type, was) = match (&node.element, granularity(ty)) {
        (PathElement::Field(name), Granularity::Granular | Granularity::Deduced) => {
            (below(ty, name), former.map(|former| below(former, name)))
        }
        (_, Granularity::Items(_, item_type)) => (item_type, former.and_then(|former| former.item())),
        _ => (TypeRef::untyped(), None),
    };
    let with =
        |included: bool, children: FieldSet| Node { element: node.element.clone(), included, children };
    let was_whole = was.is_some_and(|was| matches!(granularity(was), Granularity::Leaf));
    match granularity(below_type) {
        Granularity::Leaf if !node.children.is_empty() => Some(with(true, FieldSet::default())),
        Granularity::Granular | Granularity::Items(..)
            if was_whole && node.included && node.children.is_empty() =>
        {
            let parts =
                FieldSet::of_with(live.find(&node.element, ty)?, below_type, Duplicates::Tolerated).ok()?;
            (!parts.is_empty()).then(|| with(false, parts))
        }
        _ if node.children.is_empty() => None,
        _ => {
            let live = if was.is_some() { live.find(&node.element, ty) } else { None };
            level(&node.children, live, below_type, was).map(|children| with(node.included, children))
        }
    }
}

/// The parts of a live value, found by their elements.
struct Parts<'v> {
    value: Option<&'v Value>,
    items: ItemFinder<'v>,
}

impl<'v> Parts<'v> {
    fn find(&mut self, element: &PathElement, ty: TypeRef<'_>) -> Option<&'v Value> {
        match (element, granularity(ty)) {
            (PathElement::Field(name), _) => self.value?.get(name),
            (element, Granularity::Items(topology, _)) => self.items.find(element, topology),
            _ => None,
        }
    }
}
