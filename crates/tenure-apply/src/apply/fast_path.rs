//! Most applies declare the fields that the last one declared, often with the same values. Such an apply is
//! recognised by walking configuration, live object and last set in step: what changes is found on the way, nothing
//! is made for what does not, and types are looked up only where a value has parts or is another one.

use super::{
    declare::{Standing, check},
    merge::Merge,
};
use crate::{
    document::granularity::{Granularity, below, granularity, is_bare},
    document::items::{self, NullKeys, Places},
    tracking::unowned,
};
use tenure_fields::{FieldSet, Node, PathElement};
use tenure_schema::{ListTopology, TypeRef};
use tenure_value::{Array, Object, Text, Value};

/// Returns the live object with the configuration laid over it, if that declares exactly the last set; it is the live
/// object itself where that already says all of it. `None` says nothing: then the whole way has to be gone.
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

/// What a part of a configuration that declares the same fields says of its place.
enum Change {
    /// What stands there.
    Unchanged,
    /// This.
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

/// The cursor over the fields of a live object, with what it becomes where something takes the place of some of them.
struct FieldCursor<'a> {
    live: &'a Object,
    next: usize,
    changed: Option<Object>,
}

impl<'a> FieldCursor<'a> {
    fn new(live: &'a Object) -> FieldCursor<'a> {
        FieldCursor { live, next: 0, changed: None }
    }

    /// Goes on to a field, which comes after all so far.
    fn to(&mut self, name: &Text) -> Option<&'a Value> {
        let passed = self.live.fields()[self.next..].iter().position(|(other, _)| other == name)?;
        self.next += passed + 1;
        Some(&self.live.fields()[self.next - 1].1)
    }

    /// Takes what is change of the field that was gone to.
    fn put(&mut self, change: Change) {
        if let Change::Changed(value) = change {
            self.changed.get_or_insert_with(|| self.live.clone()).put(self.next - 1, value);
        }
    }

    fn object(self) -> Change {
        self.changed.map_or(Change::Unchanged, |object| Change::Changed(Value::Object(object)))
    }
}

/// What identifies an object must agree.
fn same(value: &Value, live: &Value) -> Option<Change> {
    (value == live).then_some(Change::Unchanged)
}

fn is(node: &Node, name: &Text) -> bool {
    matches!(&node.element, PathElement::Field(field) if field == name)
}

/// Of the metadata, what identifies the object is in no set.
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

/// What a field says; `ty` is the type of what it stands in.
fn place(
    value: &Value,
    live: &Value,
    node: &Node,
    name: &str,
    ty: TypeRef<'_>,
    nulls: NullKeys,
) -> Option<Change> {
    if value.is_scalar() {
        // What lives has been found fitting before, so an equal scalar needs no type.
        return leaf(value, live, node, || below(ty, name));
    }
    match ty.field(name) {
        Some(field) => part(value, live, node, ty.slot(&field.slot), Standing::Named, nulls),
        None => part(value, live, node, below(ty, name), Standing::Entry, nulls),
    }
}

/// What a value says that is owned as a whole.
fn leaf<'s>(value: &Value, live: &Value, node: &Node, ty: impl Fn() -> TypeRef<'s>) -> Option<Change> {
    if !node.included || !node.children.is_empty() {
        return None;
    }
    if value == live {
        return Some(Change::Unchanged);
    }
    // Nothing and what has parts on one side alone have rules of their own.
    let plain = !is_bare(value) && value.is_scalar() == live.is_scalar();
    (plain && check(value, ty()).is_ok()).then(|| Change::Changed(value.clone()))
}

/// What a value with parts says.
fn part(
    value: &Value,
    live: &Value,
    node: &Node,
    ty: TypeRef<'_>,
    standing: Standing,
    nulls: NullKeys,
) -> Option<Change> {
    // An entry is owned whatever is below it.
    let owned = standing == Standing::Entry;
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
        (Granularity::Items(topology, of), Value::Array(array), Value::Array(standing))
            if !array.is_empty() =>
        {
            if node.included != owned {
                return None;
            }
            list(array, standing, &node.children, topology, of, nulls)
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

/// Comparisons that are cheaper than the whole way.
const FEW: usize = 4096;

fn list(
    config: &Array,
    live: &Array,
    last: &FieldSet,
    topology: &ListTopology,
    of: TypeRef<'_>,
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
        let change = match (item, standing, granularity(of)) {
            _ if !node.included => return None,
            (Value::Object(item), Value::Object(standing), Granularity::Granular) => {
                fields(item, standing, &node.children, of, nulls)?
            }
            (Value::Object(_), ..) => part(item, standing, node, of, Standing::Entry, nulls)?,
            (scalar, ..) => leaf(scalar, standing, node, || of)?,
        };
        if let Change::Changed(value) = change {
            changed.get_or_insert_with(|| live.clone()).put(next, value);
        }
        next += 1;
    }
    // An item that lives twice is replaced by the one that is applied, so that is another thing to say.
    let twice = |other: &Value| config.iter().any(|item| items::certainly_same(item, other, topology, nulls));
    if passed.into_iter().chain(&live[next..]).any(twice) {
        return None;
    }
    Some(changed.map_or(Change::Unchanged, |items| Change::Changed(Value::Array(items))))
}
