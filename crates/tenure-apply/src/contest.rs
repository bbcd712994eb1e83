//! Contested fields with their values: a set is walked with two states of an object in step, so that a value
//! is found where the walk stands instead of being looked up from the root.

use crate::{
    items,
    shape::{Shape, below, shape},
};
use tenure_fields::{FieldSet, Node, Path, PathElement};
use tenure_schema::{ListTopology, TypeRef};
use tenure_value::Value;

/// Calls back with each path of a set, at each level first with those that end there, and with what the two
/// states have at it.
pub(crate) fn visit<'v>(
    fields: &FieldSet,
    (old, new): (&'v Value, &'v Value),
    ty: TypeRef<'_>,
    mut visitor: impl FnMut(&Path, Option<&'v Value>, Option<&'v Value>),
) {
    let mut walk = Walk { path: Path::default(), visitor: &mut visitor };
    walk.level(fields, Some(old), Some(new), ty);
}

struct Walk<'a, F> {
    path: Path,
    visitor: &'a mut F,
}

impl<'v, F: FnMut(&Path, Option<&'v Value>, Option<&'v Value>)> Walk<'_, F> {
    fn level(&mut self, fields: &FieldSet, old: Option<&'v Value>, new: Option<&'v Value>, ty: TypeRef<'_>) {
        let mut places = Vec::with_capacity(fields.nodes().len());
        let (mut before, mut after) = (Side::new(old), Side::new(new));
        for node in fields.nodes() {
            let (old, new) = (before.part(&node.element, ty), after.part(&node.element, ty));
            if node.included {
                self.path.push(node.element.clone());
                (self.visitor)(&self.path, old, new);
                self.path.pop();
            }
            if !node.children.is_empty() {
                places.push((node, old, new));
            }
        }
        for (node, old, new) in places {
            self.path.push(node.element.clone());
            self.level(&node.children, old, new, type_below(node, ty));
            self.path.pop();
        }
    }
}

fn type_below<'s>(node: &Node, ty: TypeRef<'s>) -> TypeRef<'s> {
    match &node.element {
        PathElement::Field(name) => below(ty, name),
        _ => ty.item().unwrap_or_else(TypeRef::untyped),
    }
}

/// One state's part of the walk. Lists are mostly in the order of their sets, so the item after the last one
/// found is tried first.
struct Side<'v> {
    value: Option<&'v Value>,
    next: usize,
    /// The items of a long list by their elements, once one was not where it was tried.
    order: Option<Vec<(PathElement, usize)>>,
}

/// Up to here looking at every item beats sorting them.
const FEW: usize = 16;

impl<'v> Side<'v> {
    fn new(value: Option<&'v Value>) -> Side<'v> {
        Side { value, next: 0, order: None }
    }

    fn part(&mut self, element: &PathElement, ty: TypeRef<'_>) -> Option<&'v Value> {
        match element {
            PathElement::Field(name) => self.value?.get(name),
            element => {
                let Shape::Items(topology, _) = shape(ty) else { return None };
                let items = self.value?.as_array()?.items();
                let at = match items.get(self.next) {
                    Some(item) if leads_to(element, item, topology) => self.next,
                    _ => self.find(items, element, topology)?,
                };
                self.next = at + 1;
                items.get(at)
            }
        }
    }

    /// Returns the place of the first item that an element leads to.
    fn find(&mut self, items: &[Value], element: &PathElement, topology: &ListTopology) -> Option<usize> {
        if items.len() <= FEW {
            return items.iter().position(|item| leads_to(element, item, topology));
        }
        let order = self.order.get_or_insert_with(|| {
            let own = |item: &Value| items::element(item, topology, 0).ok();
            let mut order: Vec<_> =
                (0..).zip(items).filter_map(|(at, item)| Some((own(item)?, at))).collect();
            order.sort();
            order
        });
        let at = order.partition_point(|(other, _)| other < element);
        order.get(at).filter(|(other, _)| other == element).map(|(_, at)| *at)
    }
}

fn leads_to(element: &PathElement, item: &Value, topology: &ListTopology) -> bool {
    items::leads_to(element, item, topology)
        .unwrap_or_else(|| items::element(item, topology, 0).is_ok_and(|other| other == *element))
}
