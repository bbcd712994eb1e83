//! The difference between two states of an object as field sets: the paths that are new or have another value, and the
//! paths that were removed. Parts that share memory are equal and are not entered.

use super::{
    granularity::{Granularity, below, granularity, is_bare},
    items::{self, NullKeys},
};
use std::cmp::Ordering;
use tenure_fields::{FieldSet, Node, PathElement};
use tenure_schema::{ListTopology, TypeRef};
use tenure_value::{Text, Value};

/// The paths in which two states differ.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Difference {
    /// Paths that are new or have another value.
    pub written: FieldSet,
    /// Paths that are no longer there.
    pub removed: FieldSet,
}

impl Difference {
    /// Compares two states of an object of one type.
    pub fn between(old: &Value, new: &Value, ty: TypeRef<'_>) -> Difference {
        both(old, new, ty).below.finish()
    }

    /// Whether the states do not differ.
    pub fn is_empty(&self) -> bool {
        self.written.is_empty() && self.removed.is_empty()
    }
}

/// The difference at one place.
#[derive(Default)]
struct Change {
    written: bool,
    removed: bool,
    below: Levels,
}

/// The level below a place, of both sets.
#[derive(Default)]
struct Levels {
    written: Vec<Node>,
    removed: Vec<Node>,
}

impl Levels {
    fn finish(self) -> Difference {
        Difference {
            written: FieldSet::from_nodes(self.written),
            removed: FieldSet::from_nodes(self.removed),
        }
    }

    fn push(&mut self, element: impl Fn() -> PathElement, change: Change) {
        let Difference { written, removed } = change.below.finish();
        if change.written || !written.is_empty() {
            self.written.push(Node { element: element(), included: change.written, children: written });
        }
        if change.removed || !removed.is_empty() {
            self.removed.push(Node { element: element(), included: change.removed, children: removed });
        }
    }

    /// Puts nodes that came in the order of a list into the order of a set.
    fn sort(&mut self) {
        for nodes in [&mut self.written, &mut self.removed] {
            nodes.sort_by(|a, b| a.element.cmp(&b.element));
        }
    }
}

fn change(old: Option<&Value>, new: Option<&Value>, ty: TypeRef<'_>) -> Change {
    match (old, new) {
        (Some(old), Some(new)) => both(old, new, ty),
        (None, Some(new)) => Change { written: true, removed: false, below: parts(None, Some(new), ty) },
        (Some(old), None) => Change { written: false, removed: true, below: parts(Some(old), None, ty) },
        (None, None) => Change::default(),
    }
}

fn both(old: &Value, new: &Value, ty: TypeRef<'_>) -> Change {
    if old.ptr_eq(new) {
        return Change::default();
    }
    let whole = match granularity(ty) {
        Granularity::Leaf => true,
        Granularity::Granular => {
            !(entered(old, Container::Object) && entered(new, Container::Object)) || bare(old, new)
        }
        Granularity::Items(..) => {
            !(entered(old, Container::List) && entered(new, Container::List)) || bare(old, new)
        }
        Granularity::Deduced => {
            // A value that turns from a scalar into an object, or back, has changed itself, not only in its parts.
            let forms = entered(old, Container::Object) && entered(new, Container::Object) && !bare(old, new);
            if !forms && (owns_parts(old) || owns_parts(new)) {
                return Change { written: true, removed: false, below: parts(Some(old), Some(new), ty) };
            }
            !forms
        }
    };
    if whole {
        return Change { written: !old.same(new), ..Change::default() };
    }
    if let Granularity::Items(topology, _) = granularity(ty)
        && !(distinguishes(old, topology) && distinguishes(new, topology))
    {
        return Change { written: !old.same(new), ..Change::default() };
    }
    Change { below: parts(Some(old), Some(new), ty), ..Change::default() }
}

enum Container {
    Object,
    List,
}

/// Whether a walk over parts can enter the value: it is such a container, or is `null`, which has no parts.
fn entered(value: &Value, container: Container) -> bool {
    match container {
        Container::Object => matches!(value, Value::Object(_) | Value::Null),
        Container::List => matches!(value, Value::Array(_) | Value::Null),
    }
}

fn bare(old: &Value, new: &Value) -> bool {
    is_bare(old) && is_bare(new)
}

fn owns_parts(value: &Value) -> bool {
    value.as_object().is_some_and(|object| !object.is_empty())
}

fn distinguishes(value: &Value, topology: &ListTopology) -> bool {
    let items = value.as_array().map(|array| array.items()).unwrap_or_default();
    items.iter().enumerate().all(|(index, item)| match topology {
        ListTopology::Keyed(keys) => item
            .as_object()
            .is_some_and(|object| keys.iter().any(|key| key.default.is_some() || object.contains(&key.name))),
        _ => items::element(item, topology, index).is_ok(),
    })
}

/// Compares what is inside; a side that is absent or has no parts is empty.
fn parts(old: Option<&Value>, new: Option<&Value>, ty: TypeRef<'_>) -> Levels {
    match granularity(ty) {
        Granularity::Granular | Granularity::Deduced => fields(object_fields(old), object_fields(new), ty),
        Granularity::Items(topology, item) => list(list_items(old), list_items(new), topology, item),
        Granularity::Leaf => Levels::default(),
    }
}

fn object_fields(value: Option<&Value>) -> &[(Text, Value)] {
    match value {
        Some(Value::Object(object)) => object.fields(),
        _ => &[],
    }
}

fn list_items(value: Option<&Value>) -> &[Value] {
    match value {
        Some(Value::Array(array)) => array.items(),
        _ => &[],
    }
}

fn fields(mut old: &[(Text, Value)], mut new: &[(Text, Value)], ty: TypeRef<'_>) -> Levels {
    let mut levels = Levels::default();
    loop {
        let order = match (old.first(), new.first()) {
            (Some((a, _)), Some((b, _))) => a.cmp(b),
            (Some(_), None) => Ordering::Less,
            (None, Some(_)) => Ordering::Greater,
            (None, None) => return levels,
        };
        let (ours, theirs) = (order.is_le(), order.is_ge());
        let (before, after) = (ours.then(|| &old[0]), theirs.then(|| &new[0]));
        old = &old[usize::from(ours)..];
        new = &new[usize::from(theirs)..];
        if let (Some((_, a)), Some((_, b))) = (before, after)
            && (a.ptr_eq(b) || a.is_scalar() && a == b)
        {
            continue;
        }
        let Some((name, _)) = before.or(after) else { continue };
        let change = change(before.map(|(_, value)| value), after.map(|(_, value)| value), below(ty, name));
        levels.push(|| PathElement::Field(name.clone()), change);
    }
}

/// Changed items that are looked up one by one rather than by sorting both lists.
const FEW: usize = 4;

fn list(old: &[Value], new: &[Value], topology: &ListTopology, ty: TypeRef<'_>) -> Levels {
    let mut levels = Levels::default();
    let in_step = old.len() == new.len()
        && old
            .iter()
            .zip(new)
            .all(|(a, b)| a.ptr_eq(b) || items::certainly_same(b, a, topology, NullKeys::Distinct));
    if in_step {
        let differ: Vec<usize> =
            (0..old.len()).filter(|at| !old[*at].ptr_eq(&new[*at]) && old[*at] != new[*at]).collect();
        let alone = |at: &usize| {
            let same = |other: &Value| items::certainly_same(other, &old[*at], topology, NullKeys::Distinct);
            old.iter().enumerate().all(|(index, other)| index == *at || !same(other))
        };
        if differ.len() <= FEW && differ.iter().all(alone) {
            for at in differ {
                if let Ok(element) = items::element(&old[at], topology, at) {
                    levels.push(|| element.clone(), both(&old[at], &new[at], ty));
                }
            }
            levels.sort();
            return levels;
        }
    }
    for group in grouped(old, new, topology) {
        let change = group.change(ty);
        levels.push(|| group.element.clone(), change);
    }
    levels
}

/// All items of both lists that one element leads to.
struct Group<'v> {
    element: PathElement,
    old: Vec<&'v Value>,
    new: Vec<&'v Value>,
}

impl Group<'_> {
    /// Items that share an element are compared as a whole, since their parts cannot be distinguished.
    fn change(&self, ty: TypeRef<'_>) -> Change {
        match (self.old.as_slice(), self.new.as_slice()) {
            ([] | [_], [] | [_]) => change(self.old.first().copied(), self.new.first().copied(), ty),
            ([_, _, ..], [_, _, ..]) => {
                let same = self.old.len() == self.new.len()
                    && self.old.iter().zip(&self.new).all(|(old, new)| old.same(new));
                Change { written: !same, ..Change::default() }
            }
            ([_, _, ..], single) => {
                let mut change = change(None, single.first().copied(), ty);
                change.removed = true;
                change
            }
            (single, [_, _, ..]) => {
                let mut change = change(single.first().copied(), None, ty);
                change.written = true;
                change
            }
        }
    }
}

fn grouped<'v>(old: &'v [Value], new: &'v [Value], topology: &ListTopology) -> Vec<Group<'v>> {
    let elements = |list: &'v [Value], side: bool| {
        list.iter().enumerate().filter_map(move |(index, item)| {
            items::element(item, topology, index).ok().map(|element| (element, side, item))
        })
    };
    let mut all: Vec<(PathElement, bool, &Value)> = elements(old, false).chain(elements(new, true)).collect();
    // A stable sort keeps the items of one element in the order of their lists, the old list first.
    all.sort_by(|a, b| a.0.cmp(&b.0));
    let mut groups: Vec<Group<'v>> = Vec::with_capacity(all.len().div_ceil(2));
    for (element, is_new, item) in all {
        if groups.last().is_none_or(|group| group.element != element) {
            groups.push(Group { element, old: Vec::new(), new: Vec::new() });
        }
        if let Some(group) = groups.last_mut() {
            if is_new { group.new.push(item) } else { group.old.push(item) }
        }
    }
    groups
}
