//! Pruning after an apply: an item is removed if and only if its manager applied it last time, does not apply it now, and no
//! other manager owns it. What was never owned stays, unless its parent is removed. Only the paths of the last set are walked.
//!
//! "Named" below means a field that its struct declares: it counts as owned if anything below it is owned.

use crate::{
    Emptied,
    document::field_nodes::FieldNodes,
    document::granularity::{Granularity, below, granularity, names},
    document::items::{self, ItemFinder},
};
use std::cell::Cell;
use tenure_fields::{FieldSet, Node, PathElement};
use tenure_schema::{ListTopology, Type, TypeRef};
use tenure_value::{Array, Object, Value};

/// How an apply removes what its manager no longer declares.
#[derive(Clone, Copy)]
pub(super) struct Prune {
    /// What happens to an owned part that has lost all its contents.
    pub emptied: Emptied,
    /// Whether a list item is removed entirely if the rest would lack a required field.
    pub remove_incomplete_items: bool,
}

/// An object without what its applier no longer declares.
pub(super) struct Pruned {
    pub object: Value,
    /// Whether something that a manager still owns was removed or has lost all its contents.
    pub has_emptied_owned: bool,
}

impl Prune {
    /// Returns the merged object without what only the last set still contains. `owned` is what all managers own now,
    /// including the applier's new declaration.
    pub(super) fn prune(self, merged: &Value, ty: TypeRef<'_>, last: &FieldSet, owned: &FieldSet) -> Pruned {
        let emptied = Cell::new(false);
        let inherited =
            Inherited { declared: false, unowned: false, rules: self, has_emptied_owned: &emptied };
        let object = inside(merged, ty, last, owned, inherited).unwrap_or_else(|| merged.clone());
        Pruned { object, has_emptied_owned: emptied.get() }
    }
}

/// Whether a list without items is anywhere in a value.
pub(super) fn contains_empty_list(value: &Value) -> bool {
    match value {
        Value::Array(items) => items.is_empty() || items.iter().any(contains_empty_list),
        Value::Object(fields) => fields.iter().any(|(_, value)| contains_empty_list(value)),
        _ => false,
    }
}

/// Returns the last set without the parts that a declaration at the same version shares with it: whatever is declared again
/// stays, so that only the rest has to be walked.
pub(super) fn left_out(last: &FieldSet, declared: &FieldSet) -> FieldSet {
    let mut others = declared.nodes();
    FieldSet::from_nodes(last.nodes().iter().filter_map(|node| {
        let passed = others.iter().position(|other| other.element >= node.element).unwrap_or(others.len());
        others = &others[passed..];
        let Some(again) = others.first().filter(|other| other.element == node.element) else {
            return Some(node.clone());
        };
        if again.included == node.included && again.children.ptr_eq(&node.children) {
            return None;
        }
        let children = left_out(&node.children, &again.children);
        Some(Node { element: node.element.clone(), included: node.included, children })
    }))
}

/// The decisions of the parents of a place.
#[derive(Clone, Copy)]
struct Inherited<'a> {
    /// The applier declared this place or one above it.
    declared: bool,
    /// No manager owns this place or one above it, so what the applier declared here is removed.
    unowned: bool,
    rules: Prune,
    has_emptied_owned: &'a Cell<bool>,
}

impl Inherited<'_> {
    fn at(self, last: bool, owned: bool) -> Self {
        let declared = self.declared || last;
        Inherited { declared, unowned: self.unowned || declared && !owned, ..self }
    }

    /// Records that something was removed or has lost its contents, if a manager owns it or anything below it.
    fn emptied(self, owned: Option<&Node>) {
        if owned.is_some() {
            self.has_emptied_owned.set(true);
        }
    }
}

/// Whether a set counts a place as owned: itself, or as a named field by what is below it.
fn counts(node: Option<&Node>, named: bool) -> bool {
    node.is_some_and(|node| node.included || named)
}

/// The rest of a place.
enum Left {
    Same,
    Other(Value),
    Nothing,
}

fn children(node: Option<&Node>) -> FieldSet {
    node.map(|node| node.children.clone()).unwrap_or_default()
}

/// Prunes the parts of a value; `None` if nothing is removed.
fn inside(
    value: &Value,
    ty: TypeRef<'_>,
    last: &FieldSet,
    owned: &FieldSet,
    inherited: Inherited<'_>,
) -> Option<Value> {
    if last.is_empty() {
        return None;
    }
    match (granularity(ty), value) {
        (Granularity::Granular | Granularity::Deduced, Value::Object(object)) => {
            fields(object, ty, last, owned, inherited)
        }
        (Granularity::Items(topology, item_type), Value::Array(array)) => {
            list(array, topology, item_type, last, owned, inherited)
        }
        _ => None,
    }
}

fn fields(
    object: &Object,
    ty: TypeRef<'_>,
    last: &FieldSet,
    owned: &FieldSet,
    inherited: Inherited<'_>,
) -> Option<Value> {
    let mut left: Option<Vec<_>> = None;
    let mut last = FieldNodes::new(last);
    for (at, (name, value)) in object.iter().enumerate() {
        let outcome = match last.seek(name) {
            None => Left::Same,
            Some(node) => {
                let owned = owned.node(&node.element);
                let (named, ty_below) = (names(ty, name), below(ty, name));
                let named = named && appears(value, ty_below);
                match place(value, ty_below, node, owned, named, inherited) {
                    Left::Other(rest) if is_empty(&rest) => {
                        inherited.emptied(owned);
                        match inherited.rules.emptied {
                            policy if named => emptied(rest, owned, ty, name, policy),
                            // An entry of a map is not removed because it is empty.
                            Emptied::AlwaysNull => Left::Other(Value::Null),
                            _ => Left::Other(rest),
                        }
                    }
                    outcome => outcome,
                }
            }
        };
        match outcome {
            Left::Same => {
                if let Some(left) = &mut left {
                    left.push((name.clone(), value.clone()));
                }
            }
            Left::Other(value) => {
                left.get_or_insert_with(|| object.fields()[..at].to_vec()).push((name.clone(), value));
            }
            Left::Nothing => {
                left.get_or_insert_with(|| object.fields()[..at].to_vec());
            }
        }
    }
    left.map(|left| Value::Object(Object::from_sorted(left)))
}

/// Whether a named field shows in the set of its object at all: a list without items does not.
fn appears(value: &Value, ty: TypeRef<'_>) -> bool {
    !matches!((granularity(ty), value), (Granularity::Items(..), Value::Array(array)) if array.is_empty())
}

fn place(
    value: &Value,
    ty: TypeRef<'_>,
    last: &Node,
    owned: Option<&Node>,
    named: bool,
    inherited: Inherited<'_>,
) -> Left {
    let (was, is) = (counts(Some(last), named), counts(owned, named));
    let inherited = inherited.at(was, is);
    if inherited.unowned && was {
        return Left::Nothing;
    }
    match inside(value, ty, &last.children, &children(owned), inherited) {
        None => Left::Same,
        Some(rest) => Left::Other(rest),
    }
}

/// Returns the rest of a named field that has lost its contents.
fn emptied(rest: Value, owned: Option<&Node>, ty: TypeRef<'_>, name: &str, policy: Emptied) -> Left {
    let field = ty.field(name);
    let nullable = field.is_some_and(|field| field.slot.nullable);
    let required = field.is_some_and(|field| field.required);
    let owned_itself = owned.is_some_and(|node| node.included);
    match policy {
        Emptied::AlwaysNull if owned.is_some() => Left::Other(Value::Null),
        Emptied::AlwaysNull => Left::Nothing,
        // Its owner declared the field without contents, perhaps as `null`.
        _ if owned_itself && nullable => Left::Other(Value::Null),
        _ if required => Left::Other(rest),
        Emptied::Stays if owned_itself => Left::Other(rest),
        Emptied::IsNull if owned_itself => Left::Other(Value::Null),
        Emptied::Stays | Emptied::IsNull => Left::Nothing,
    }
}

fn is_empty(value: &Value) -> bool {
    match value {
        Value::Object(object) => object.is_empty(),
        Value::Array(array) => array.is_empty(),
        _ => false,
    }
}

fn list(
    array: &Array,
    topology: &ListTopology,
    ty: TypeRef<'_>,
    last: &FieldSet,
    owned: &FieldSet,
    inherited: Inherited<'_>,
) -> Option<Value> {
    let mut left: Option<Vec<Value>> = None;
    for (at, item) in array.iter().enumerate() {
        let node = match items::find(last.nodes(), item, topology) {
            Ok(found) => found.map(|at| &last.nodes()[at]),
            Err(items::Unclear) => {
                items::element(item, topology, at).ok().and_then(|element| last.node(&element))
            }
        };
        let outcome = match node {
            None => Left::Same,
            Some(node) => {
                let owned = owned.node(&node.element);
                match place(item, ty, node, owned, false, inherited) {
                    // The applier gave the item up and others own a part of it.
                    Left::Other(rest)
                        if inherited.rules.remove_incomplete_items
                            && node.included
                            && is_incomplete(&rest, item, ty) =>
                    {
                        inherited.emptied(owned);
                        Left::Nothing
                    }
                    Left::Other(rest) if is_empty(&rest) => {
                        inherited.emptied(owned);
                        match inherited.rules.emptied {
                            Emptied::AlwaysNull => Left::Other(Value::Null),
                            _ => Left::Other(rest),
                        }
                    }
                    outcome => outcome,
                }
            }
        };
        match outcome {
            Left::Same => {
                if let Some(left) = &mut left {
                    left.push(item.clone());
                }
            }
            Left::Other(item) => left.get_or_insert_with(|| array[..at].to_vec()).push(item),
            Left::Nothing => {
                left.get_or_insert_with(|| array[..at].to_vec());
            }
        }
    }
    if left.is_some() {
        // An item may be owned under a key that is `null` and stands for its default.
        inherited.emptied(owned.nodes().iter().find(|node| has_null_key(node)));
    }
    left.map(|left| Value::Array(left.into()))
}

fn has_null_key(node: &Node) -> bool {
    matches!(&node.element, PathElement::Key(keys) if keys.iter().any(|(_, value)| value.is_null()))
}

/// Whether what is left of an item lacks a field that its type requires and that it had before: such an
/// item could never be written, so it is removed with the field.
fn is_incomplete(rest: &Value, item: &Value, ty: TypeRef<'_>) -> bool {
    let Type::Struct(structure) = ty.get() else { return false };
    let there = |value: &Value, name: &str| value.get(name).is_some_and(|value| !value.is_null());
    structure.fields.iter().any(|field| {
        field.required
            && field.slot.default.is_none()
            && there(item, &field.name)
            && !there(rest, &field.name)
    })
}

/// Returns the full object without those places that the applier declared last and a pruned one lacks: fields that
/// never had an owner stay, also inside something that only managers at other versions own.
pub(super) fn reinstate(
    full: &Value,
    pruned: Option<&Value>,
    ty: TypeRef<'_>,
    last: &FieldSet,
    emptied: Emptied,
) -> Value {
    if last.is_empty() || pruned.is_some_and(|pruned| full.ptr_eq(pruned)) {
        return full.clone();
    }
    let left = |value: &Value, pruned: Option<&Value>, ty: TypeRef<'_>, node: Option<&Node>, named: bool| {
        let Some(node) = node else { return Some(value.clone()) };
        if pruned.is_none() && counts(Some(node), named) {
            return None;
        }
        Some(reinstate(value, pruned, ty, &node.children, emptied))
    };
    let whole = match (granularity(ty), full) {
        (Granularity::Granular | Granularity::Deduced, Value::Object(full)) => {
            let parts = full.iter().filter_map(|(name, value)| {
                let (node, ty_below) = (last.node(&PathElement::Field(name.clone())), below(ty, name));
                let then = pruned.and_then(|pruned| pruned.get(name));
                left(value, then, ty_below, node, names(ty, name) && appears(value, ty_below))
                    .map(|value| (name.clone(), value))
            });
            Value::Object(Object::from_sorted(parts))
        }
        (Granularity::Items(topology, item_type), Value::Array(full)) => {
            let pruned = pruned.and_then(Value::as_array).map(|array| array.items()).unwrap_or_default();
            let mut then = ItemFinder::new(pruned);
            Value::array(full.iter().enumerate().filter_map(|(index, item)| {
                let element = items::element(item, topology, index).ok();
                let node = element.as_ref().and_then(|element| last.node(element));
                let then = element.as_ref().and_then(|element| then.find(element, topology));
                left(item, then, item_type, node, false)
            }))
        }
        _ => pruned.unwrap_or(full).clone(),
    };
    let lost_contents = is_empty(&whole) && !is_empty(full);
    let is_null = emptied == Emptied::AlwaysNull || pruned.is_some_and(Value::is_null);
    if lost_contents && is_null { Value::Null } else { whole }
}

/// Returns a pruned object with those parts of the full one put back that managers at another version own.
pub(super) fn restore(full: &Value, pruned: &Value, ty: TypeRef<'_>, owned: &FieldSet) -> Value {
    if full.ptr_eq(pruned) {
        return full.clone();
    }
    // Only the places of the pruned object count, never its values: a conversion may have put zeros where nothing was left.
    let whole = match (granularity(ty), full) {
        (Granularity::Granular | Granularity::Deduced, Value::Object(full)) => {
            let parts = full.iter().filter_map(|(name, value)| {
                let element = PathElement::Field(name.clone());
                let (node, ty_below) = (owned.node(&element), below(ty, name));
                let named = names(ty, name) && appears(value, ty_below);
                put_back(value, pruned.get(name), ty_below, node, named).map(|value| (name.clone(), value))
            });
            Value::Object(Object::from_sorted(parts))
        }
        (Granularity::Items(topology, item_type), Value::Array(full)) => {
            let mut kept = ItemFinder::new(pruned.as_array().map(|array| array.items()).unwrap_or_default());
            let parts = full.iter().enumerate().filter_map(|(index, item)| {
                let element = items::element(item, topology, index).ok();
                let node = element.as_ref().and_then(|element| owned.node(element));
                let kept = element.as_ref().and_then(|element| kept.find(element, topology));
                put_back(item, kept, item_type, node, false)
            });
            Value::array(parts)
        }
        _ => return full.clone(),
    };
    if pruned.is_null() && is_empty(&whole) { Value::Null } else { whole }
}

fn put_back(
    full: &Value,
    pruned: Option<&Value>,
    ty: TypeRef<'_>,
    owned: Option<&Node>,
    named: bool,
) -> Option<Value> {
    let below = children(owned);
    match pruned {
        Some(pruned) => Some(restore(full, pruned, ty, &below)),
        None if !counts(owned, named) => None,
        None => Some(match (granularity(ty), full) {
            (Granularity::Granular | Granularity::Deduced, Value::Object(_)) => {
                restore(full, &Value::Object(Object::default()), ty, &below)
            }
            (Granularity::Items(..), Value::Array(_)) => {
                restore(full, &Value::Array(Array::default()), ty, &below)
            }
            _ => full.clone(),
        }),
    }
}
