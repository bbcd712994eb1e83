//! Merges an applied configuration into the live object: in the result, every field that the configuration declares has the
//! declared value, and every other field that of the live object. Untouched parts are shared with the live object; if
//! nothing changes, the result is the live object itself.

use crate::{
    document::granularity::{Granularity, below, granularity, is_bare},
    document::items::{self, NullKeys},
};
use std::{
    cmp::Ordering,
    collections::{HashMap, hash_map::Entry},
};
use tenure_fields::PathElement;
use tenure_schema::{ListTopology, TypeRef};
use tenure_value::{Array, Object, ObjectBuilder, Text, Value};

/// Merges an applied configuration into a live object.
#[derive(Clone, Copy)]
pub(super) struct Merge {
    /// Whether a merge key that is `null` in the configuration stands for its default.
    pub null_keys_are_defaults: bool,
}

impl Merge {
    /// Returns the live value with the applied one merged into it.
    pub(super) fn merge(self, live: &Value, applied: &Value, ty: TypeRef<'_>) -> Value {
        merge(live, applied, ty, NullKeys::from(self.null_keys_are_defaults))
    }
}

fn merge(live: &Value, applied: &Value, ty: TypeRef<'_>, nulls: NullKeys) -> Value {
    if live.ptr_eq(applied) {
        return live.clone();
    }
    let merged = match (granularity(ty), live, applied) {
        (Granularity::Granular | Granularity::Deduced, Value::Object(live), Value::Object(applied))
            if !live.is_empty() && !applied.is_empty() =>
        {
            return fields(live, applied, ty, &[], nulls)
                .map_or_else(|| Value::Object(live.clone()), Value::Object);
        }
        (Granularity::Items(topology, item_type), Value::Array(live), Value::Array(applied))
            if !live.is_empty() && !applied.is_empty() =>
        {
            list(live, applied, topology, item_type, nulls)
        }
        // An empty or null configuration declares no parts, so the live ones stay.
        (Granularity::Granular | Granularity::Deduced, Value::Object(object), applied)
            if is_bare(applied) && !applied_list(applied) && !object.is_empty() =>
        {
            None
        }
        (Granularity::Items(..), Value::Array(array), applied) if is_bare(applied) && !array.is_empty() => {
            None
        }
        (_, live, applied) if live == applied => None,
        (_, _, applied) => Some(applied.clone()),
    };
    merged.unwrap_or_else(|| live.clone())
}

/// In a place without a type, an empty list replaces an object as any list does.
fn applied_list(applied: &Value) -> bool {
    matches!(applied, Value::Array(_))
}

/// Merges fields; `None` if nothing changes. Merge keys that the applied item has as `null` keep their live value.
fn fields(
    live: &Object,
    applied: &Object,
    ty: TypeRef<'_>,
    null_keys: &[&str],
    nulls: NullKeys,
) -> Option<Object> {
    let (mut ours, mut theirs) = (live.fields(), applied.fields());
    let mut copied = Copied { from: live.fields(), upto: 0, into: None };
    while let Some(((name, value), rest)) = theirs.split_first() {
        let order = ours.first().map_or(Ordering::Greater, |(ours, _)| ours.cmp(name));
        match order {
            Ordering::Less => {
                copied.keep();
                ours = &ours[1..];
                continue;
            }
            Ordering::Equal => {
                let standing = &ours[0].1;
                let merged = if value.is_null() && null_keys.contains(&name.as_str()) {
                    None
                } else if value.is_scalar() && standing.is_scalar() {
                    // Without parts on either side the type does not matter.
                    (value != standing).then(|| value.clone())
                } else {
                    Some(merge(standing, value, below(ty, name), nulls))
                        .filter(|merged| !unchanged(standing, merged))
                };
                match merged {
                    None => copied.keep(),
                    Some(merged) => copied.put(name, merged, 1),
                }
                ours = &ours[1..];
            }
            Ordering::Greater => copied.put(name, value.clone(), 0),
        }
        theirs = rest;
    }
    copied.finish()
}

/// Whether the merge of two values gave the first one back.
fn unchanged(live: &Value, merged: &Value) -> bool {
    live.ptr_eq(merged) || live.is_scalar() && live == merged || is_bare(live) && live == merged
}

/// A copy of a live object that is made at the first change.
struct Copied<'a> {
    from: &'a [(Text, Value)],
    upto: usize,
    into: Option<ObjectBuilder>,
}

impl Copied<'_> {
    fn keep(&mut self) {
        if let Some(into) = &mut self.into {
            let (name, value) = &self.from[self.upto];
            into.push(name.clone(), value.clone());
        }
        self.upto += 1;
    }

    fn put(&mut self, name: &Text, value: Value, replaces: usize) {
        let into = self.into.get_or_insert_with(|| {
            let mut into = ObjectBuilder::with_capacity(self.from.len() + 4);
            self.from[..self.upto].iter().for_each(|(name, value)| into.push(name.clone(), value.clone()));
            into
        });
        into.push(name.clone(), value);
        self.upto += replaces;
    }

    fn finish(self) -> Option<Object> {
        let mut into = self.into?;
        self.from[self.upto..].iter().for_each(|(name, value)| into.push(name.clone(), value.clone()));
        Some(into.finish())
    }
}

fn item(live: &Value, applied: &Value, topology: &ListTopology, ty: TypeRef<'_>, nulls: NullKeys) -> Value {
    if let (ListTopology::Keyed(keys), Value::Object(live), Value::Object(applied)) =
        (topology, live, applied)
        && nulls == NullKeys::Defaults
    {
        let is_null = |name: &str| applied.get(name).is_some_and(Value::is_null);
        if keys.iter().any(|key| key.default.is_some() && is_null(&key.name)) {
            let null_keys: Vec<&str> =
                keys.iter().filter(|key| key.default.is_some()).map(|key| &*key.name).collect();
            return Value::Object(
                fields(live, applied, ty, &null_keys, nulls).unwrap_or_else(|| live.clone()),
            );
        }
    }
    merge(live, applied, ty, nulls)
}

/// Merges two lists of items; `None` if nothing changes.
fn list(
    live: &Array,
    applied: &Array,
    topology: &ListTopology,
    ty: TypeRef<'_>,
    nulls: NullKeys,
) -> Option<Value> {
    let merged = in_step(live, applied, topology, ty, nulls)
        .unwrap_or_else(|| Interleaved::new(live, applied, topology, nulls).merge(ty));
    let same = merged.len() == live.len() && merged.iter().zip(live.iter()).all(|(a, b)| unchanged(b, a));
    (!same).then(|| Value::Array(merged.into()))
}

/// Comparisons that are cheaper than an index of both lists.
const FEW: usize = 256;

/// Merges if the applied items are the first live ones in the same order, and none of them occurs twice.
fn in_step(
    live: &Array,
    applied: &Array,
    topology: &ListTopology,
    ty: TypeRef<'_>,
    nulls: NullKeys,
) -> Option<Vec<Value>> {
    let rest = live.get(applied.len()..)?;
    if rest.len() * applied.len() > FEW
        || !applied.iter().zip(live.iter()).all(|(a, b)| items::certainly_same(a, b, topology, nulls))
        || rest
            .iter()
            .any(|other| applied.iter().any(|item| items::certainly_same(item, other, topology, nulls)))
    {
        return None;
    }
    let merged =
        applied.iter().zip(live.iter()).map(|(applied, live)| item(live, applied, topology, ty, nulls));
    Some(merged.chain(rest.iter().cloned()).collect())
}

/// Two lists whose items are paired by their elements. Applied items keep the applied order; items that are only in the
/// live list keep their place relative to the live items around them.
struct Interleaved<'a> {
    live: &'a Array,
    applied: &'a Array,
    topology: &'a ListTopology,
    nulls: NullKeys,
    elements: Vec<Shared>,
    /// The element of each live item; `None` for an item without one: it stays where it is.
    live_elements: Vec<Option<usize>>,
    /// The element of each applied item, if a live item has it too.
    applied_elements: Vec<Option<usize>>,
}

/// An element of the live list, and where its items are.
struct Shared {
    /// `None` if several live items have this element: they are not merged, the applied item replaces all of them.
    live: Option<usize>,
    applied: Option<usize>,
}

impl<'a> Interleaved<'a> {
    fn new(
        live: &'a Array,
        applied: &'a Array,
        topology: &'a ListTopology,
        nulls: NullKeys,
    ) -> Interleaved<'a> {
        let element = |(index, item)| items::matching_element(item, topology, index, nulls).ok();
        let mut elements: Vec<Shared> = Vec::with_capacity(live.len());
        let mut numbers: HashMap<PathElement, usize> = HashMap::with_capacity(live.len());
        let numbered = live.iter().enumerate().map(|(index, item)| {
            let number = match numbers.entry(element((index, item))?) {
                Entry::Occupied(known) => {
                    elements[*known.get()].live = None;
                    *known.get()
                }
                Entry::Vacant(free) => {
                    elements.push(Shared { live: Some(index), applied: None });
                    *free.insert(elements.len() - 1)
                }
            };
            Some(number)
        });
        let live_elements = numbered.collect();
        let numbered = applied.iter().enumerate().map(|(index, item)| {
            let number = *numbers.get(&element((index, item))?)?;
            elements[number].applied = Some(index);
            Some(number)
        });
        let applied_elements = numbered.collect();
        Interleaved { live, applied, topology, nulls, elements, live_elements, applied_elements }
    }

    fn merge(&self, ty: TypeRef<'_>) -> Vec<Value> {
        let merged = |index: usize| {
            let applied = &self.applied[index];
            match self.applied_elements[index].and_then(|element| self.elements[element].live) {
                Some(live) => item(&self.live[live], applied, self.topology, ty, self.nulls),
                None => applied.clone(),
            }
        };
        let mut shared = self.applied_elements.iter().flatten().peekable();
        let mut out = Vec::with_capacity(self.live.len() + self.applied.len());
        let (mut l, mut r) = (0, 0);
        while l < self.live.len() || r < self.applied.len() {
            let ours = self.live_elements.get(l);
            let met = ours.and_then(|element| self.elements[(*element)?].applied);
            if met == Some(r) {
                out.push(merged(r));
                shared.next();
                (l, r) = (l + 1, r + 1);
                continue;
            }
            match (ours, met) {
                // An applied item takes its place in the applied order, not in the live one.
                (Some(ours), Some(_))
                    if r < self.applied.len()
                        && shared.peek().is_some_and(|awaited| Some(**awaited) != *ours) =>
                {
                    l += 1;
                    continue;
                }
                (Some(_), None) => {
                    out.push(self.live[l].clone());
                    l += 1;
                    continue;
                }
                (Some(_), Some(place)) if place < r => l += 1,
                _ => {}
            }
            if let Some(theirs) = self.applied_elements.get(r) {
                out.push(merged(r));
                shared.next_if(|awaited| Some(**awaited) == *theirs);
                r += 1;
            }
        }
        out
    }
}
