//! The fields of a set with their values before and after. The set and both states of the object are walked together, so
//! that no value is looked up from the root.

use crate::{
    document::granularity::{Granularity, below, granularity},
    document::items::ItemFinder,
};
use tenure_fields::{FieldSet, Node, Path, PathElement};
use tenure_schema::TypeRef;
use tenure_value::Value;

/// Calls back with each path of a set, at each level first with those that end there, and with what the two
/// states have at it.
pub(super) fn visit<'v>(
    fields: &FieldSet,
    (old, new): (&'v Value, &'v Value),
    ty: TypeRef<'_>,
    mut visitor: impl FnMut(&Path, Option<&'v Value>, Option<&'v Value>),
) {
    let mut walk = Visit { path: Path::default(), visitor: &mut visitor };
    walk.level(fields, Some(old), Some(new), ty);
}

struct Visit<'a, F> {
    path: Path,
    visitor: &'a mut F,
}

impl<'v, F: FnMut(&Path, Option<&'v Value>, Option<&'v Value>)> Visit<'_, F> {
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

/// One state's part of the walk.
struct Side<'v> {
    value: Option<&'v Value>,
    items: ItemFinder<'v>,
}

impl<'v> Side<'v> {
    fn new(value: Option<&'v Value>) -> Side<'v> {
        let items = value.and_then(Value::as_array).map(|array| array.items()).unwrap_or_default();
        Side { value, items: ItemFinder::new(items) }
    }

    fn part(&mut self, element: &PathElement, ty: TypeRef<'_>) -> Option<&'v Value> {
        match element {
            PathElement::Field(name) => self.value?.get(name),
            element => match granularity(ty) {
                Granularity::Items(topology, _) => self.items.find(element, topology),
                _ => None,
            },
        }
    }
}
