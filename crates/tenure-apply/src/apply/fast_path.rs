//! Most applies declare the same fields as the last one, often with the same values. They are recognised by walking
//! configuration, live object and last set together: unchanged parts cost no allocation, and types are looked up only
//! for values that changed or have parts.

use super::{declare::Membership, merge::Merge};
use crate::{
    document::check::check,
    document::granularity::{Granularity, below, granularity, is_bare},
    document::items::{self, NullKeys, Places},
    tracking::unowned,
};
use tenure_fields::{FieldSet, Node, PathElement};
use tenure_schema::{ListTopology, TypeRef};
use tenure_value::{Array, Object, Text, Value};

/// Returns the merged object if the configuration declares exactly the last set; the live object itself if nothing
/// changes. `None` means that the general algorithm has to decide.
pub(super) fn apply_fast_path(
    config: &Value,
    live: &Value,
    last: &FieldSet,
    ty: TypeRef<'_>,
    merging: Merge,
) -> Option<Value> {
    let nulls = NullKeys::from(merging.null_keys_are_defaults);
    let (Value::Object(object), Value::Object(standing)) = (config, live) else { return None };
    let mut nodes = last.nodes();
    let mut cursor = FieldCursor::new(standing);
    for (name, value) in object {
        let live = cursor.to(name)?;
        if name == "metadata" {
            let node = nodes.first().filter(|node| is(node, name));
            nodes = &nodes[usize::from(node.is_some())..];
            cursor.put(metadata(value, live, node, below(ty, name), nulls)?);
        } else if unowned::is_unowned(name) {
            cursor.put(same(value, live)?);
        } else {
            let node;
            (node, nodes) = nodes.split_first().filter(|(node, _)| is(node, name))?;
            cursor.put(place(value, live, node, name, ty, nulls)?);
        }
    }
    nodes.is_empty().then(|| cursor.object().into_value(live))
}

/// The effect of a part of a configuration that declares the same fields.
enum Change {
    /// It keeps the live value.
    Unchanged,
    /// It replaces the live value.
    Changed(Value),
}

impl Change {
    fn into_value(self, live: &Value) -> Value {
        match self {
            Change::Unchanged => live.clone(),
            Change::Changed(value) => value,
        }
    }
}

/// A cursor over the fields of a live object, which is copied when the first field changes.
struct FieldCursor<'a> {
    live: &'a Object,
    next: usize,
    changed: Option<Object>,
}

impl<'a> FieldCursor<'a> {
    fn new(live: &'a Object) -> FieldCursor<'a> {
        FieldCursor { live, next: 0, changed: None }
    }

    /// Moves to a field behind the current one.
    fn to(&mut self, name: &Text) -> Option<&'a Value> {
        let passed = self.live.fields()[self.next..].iter().position(|(other, _)| other == name)?;
        self.next += passed + 1;
        Some(&self.live.fields()[self.next - 1].1)
    }

    /// Records the change of the current field.
    fn put(&mut self, change: Change) {
        if let Change::Changed(value) = change {
            self.changed.get_or_insert_with(|| self.live.clone()).put(self.next - 1, value);
        }
    }

    fn object(self) -> Change {
        self.changed.map_or(Change::Unchanged, |object| Change::Changed(Value::Object(object)))
    }
}

/// The identity of the object must agree.
fn same(value: &Value, live: &Value) -> Option<Change> {
    (value == live).then_some(Change::Unchanged)
}

fn is(node: &Node, name: &Text) -> bool {
    matches!(&node.element, PathElement::Field(field) if field == name)
}

/// The identity in the metadata is not in any set.
fn metadata(
    config: &Value,
    live: &Value,
    node: Option<&Node>,
    ty: TypeRef<'_>,
    nulls: NullKeys,
) -> Option<Change> {
    let (Value::Object(config), Value::Object(live)) = (config, live) else { return None };
    let mut nodes = node.map_or(&[][..], |node| node.children.nodes());
    let mut cursor = FieldCursor::new(live);
    for (name, value) in config {
        let live = cursor.to(name)?;
        if unowned::is_unowned_in_metadata(name) {
            cursor.put(same(value, live)?);
        } else {
            let node;
            (node, nodes) = nodes.split_first().filter(|(node, _)| is(node, name))?;
            cursor.put(place(value, live, node, name, ty, nulls)?);
        }
    }
    (nodes.is_empty() && node.is_none_or(|node| !node.included)).then(|| cursor.object())
}

/// Compares a field; `ty` is the type of its parent.
fn place(
    value: &Value,
    live: &Value,
    node: &Node,
    name: &str,
    ty: TypeRef<'_>,
    nulls: NullKeys,
) -> Option<Change> {
    if value.is_scalar() {
        // The live value fits its type, and so does an equal scalar.
        return leaf(value, live, node, || below(ty, name));
    }
    match ty.field(name) {
        Some(field) => part(value, live, node, ty.slot(&field.slot), Membership::Named, nulls),
        None => part(value, live, node, below(ty, name), Membership::Entry, nulls),
    }
}

/// Compares a value that is owned as a whole.
fn leaf<'s>(value: &Value, live: &Value, node: &Node, ty: impl Fn() -> TypeRef<'s>) -> Option<Change> {
    if !node.included || !node.children.is_empty() {
        return None;
    }
    if value == live {
        return Some(Change::Unchanged);
    }
    // Empty values, and values with parts on one side only, follow the general rules.
    let plain = !is_bare(value) && value.is_scalar() == live.is_scalar();
    (plain && check(value, ty()).is_ok()).then(|| Change::Changed(value.clone()))
}

/// Compares a value with parts.
fn part(
    value: &Value,
    live: &Value,
    node: &Node,
    ty: TypeRef<'_>,
    standing: Membership,
    nulls: NullKeys,
) -> Option<Change> {
    // An entry is owned regardless of its content.
    let owned = standing == Membership::Entry;
    match (granularity(ty), value, live) {
        (Granularity::Leaf, value, live) => leaf(value, live, node, || ty),
        (Granularity::Granular | Granularity::Deduced, Value::Object(object), Value::Object(standing)) => {
            if object.is_empty() {
                return (node.included && node.children.is_empty()).then_some(Change::Unchanged);
            }
            if node.included != owned {
                return None;
            }
            fields(object, standing, &node.children, ty, nulls)
        }
        (Granularity::Items(topology, item_type), Value::Array(array), Value::Array(standing))
            if !array.is_empty() =>
        {
            if node.included != owned {
                return None;
            }
            list(array, standing, &node.children, topology, item_type, nulls)
        }
        (Granularity::Deduced, Value::Array(_), Value::Array(_)) => leaf(value, live, node, || ty),
        _ => None,
    }
}

fn fields(
    config: &Object,
    live: &Object,
    last: &FieldSet,
    ty: TypeRef<'_>,
    nulls: NullKeys,
) -> Option<Change> {
    let nodes = last.nodes();
    if config.len() != nodes.len() {
        return None;
    }
    let mut cursor = FieldCursor::new(live);
    for ((name, value), node) in config.iter().zip(nodes) {
        let live = cursor.to(name)?;
        let change = is(node, name).then(|| place(value, live, node, name, ty, nulls))??;
        cursor.put(change);
    }
    Some(cursor.object())
}

/// Up to this many comparisons are cheaper than the general algorithm.
const FEW: usize = 4096;

fn list(
    config: &Array,
    live: &Array,
    last: &FieldSet,
    topology: &ListTopology,
    ty: TypeRef<'_>,
    nulls: NullKeys,
) -> Option<Change> {
    let nodes = last.nodes();
    let extra = live.len().saturating_sub(config.len());
    if config.len() != nodes.len() || live.len() < config.len() || extra * config.len() > FEW {
        return None;
    }
    let mut places = Places::new(nodes);
    let mut next = 0;
    let mut passed: Vec<&Value> = Vec::new();
    let mut changed: Option<Array> = None;
    for item in config.iter() {
        let node = match live.get(next).and_then(|live| places.take_next(item, live, topology)) {
            Some(node) => node,
            None => {
                let same = |live: &Value| items::certainly_same(item, live, topology, nulls);
                let skipped = live[next..].iter().position(same)?;
                passed.extend(&live[next..next + skipped]);
                next += skipped;
                places.take(item, topology)?
            }
        };
        let standing = &live[next];
        let change = match (item, standing, granularity(ty)) {
            _ if !node.included => return None,
            (Value::Object(item), Value::Object(standing), Granularity::Granular) => {
                fields(item, standing, &node.children, ty, nulls)?
            }
            (Value::Object(_), ..) => part(item, standing, node, ty, Membership::Entry, nulls)?,
            (scalar, ..) => leaf(scalar, standing, node, || ty)?,
        };
        if let Change::Changed(value) = change {
            changed.get_or_insert_with(|| live.clone()).put(next, value);
        }
        next += 1;
    }
    // A live item that occurs twice is replaced by the applied one, which is a change.
    let twice = |other: &Value| config.iter().any(|item| items::certainly_same(item, other, topology, nulls));
    if passed.into_iter().chain(&live[next..]).any(twice) {
        return None;
    }
    Some(changed.map_or(Change::Unchanged, |items| Change::Changed(Value::Array(items))))
}
