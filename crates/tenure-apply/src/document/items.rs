//! Which item of a list is which. The element that leads to an item costs an allocation, so the common
//! questions (are these two one item, where in a sorted set is this item) are answered without making one.

use crate::error::MismatchKind;
use std::cmp::Ordering;
use tenure_fields::{Node, PathElement};
use tenure_schema::{Key, ListTopology};
use tenure_value::{Object, Text, Value};

/// Returns the element that leads to an item, or what keeps it from having one.
pub(crate) fn element(
    item: &Value,
    topology: &ListTopology,
    index: usize,
) -> Result<PathElement, MismatchKind> {
    let found = item.kind();
    match topology {
        ListTopology::Keyed(keys) => {
            let expected = "an object, since items are identified by their keys";
            let object = item.as_object().ok_or(MismatchKind::BadItem { index, expected, found })?;
            let mut parts = Vec::with_capacity(keys.len());
            for key in keys {
                if let Some(value) = part(object, key) {
                    parts.push((key.name.clone(), value.clone()));
                }
            }
            if parts.is_empty() {
                let keys = keys.iter().map(|key| format!("{:?}", key.name)).collect::<Vec<_>>().join(", ");
                return Err(MismatchKind::NoKey { index, keys });
            }
            Ok(PathElement::Key(Object::from_unsorted(parts)))
        }
        ListTopology::Set if item.is_scalar() && !item.is_null() => Ok(PathElement::Value(item.clone())),
        ListTopology::Set => {
            let expected = "a string, number or boolean, since items are identified by their value";
            Err(MismatchKind::BadItem { index, expected, found })
        }
        ListTopology::Atomic => Ok(PathElement::Index(index as i64)),
    }
}

/// The meaning of a merge key that is `null` in an item.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum NullKeys {
    /// The key's default, as it will once defaults are filled in.
    Defaults,
    /// Itself.
    Distinct,
}

impl From<bool> for NullKeys {
    fn from(are_defaults: bool) -> NullKeys {
        if are_defaults { NullKeys::Defaults } else { NullKeys::Distinct }
    }
}

/// Returns the element by which an applied item finds its live counterpart: a key that is `null` there
/// may stand for its default.
pub(crate) fn matching_element(
    item: &Value,
    topology: &ListTopology,
    index: usize,
    null_keys: NullKeys,
) -> Result<PathElement, MismatchKind> {
    if let (NullKeys::Defaults, ListTopology::Keyed(keys), Some(object)) =
        (null_keys, topology, item.as_object())
    {
        let nulls = |key: &&Key| key.default.is_some() && object.get(&key.name).is_some_and(Value::is_null);
        if keys.iter().any(|key| nulls(&key)) {
            let without =
                keys.iter().filter(nulls).fold(object.clone(), |object, key| object.without(&key.name));
            return element(&Value::Object(without), topology, index);
        }
    }
    element(item, topology, index)
}

/// Whether an applied item and a live one are certainly the same item.
pub(crate) fn certainly_same(
    applied: &Value,
    live: &Value,
    topology: &ListTopology,
    null_keys: NullKeys,
) -> bool {
    match (topology, applied, live) {
        (ListTopology::Keyed(keys), Value::Object(applied), Value::Object(live)) => {
            let mut any = false;
            keys.iter().all(|key| {
                let (a, b) = match null_keys {
                    NullKeys::Defaults => (effective(applied, key), effective(live, key)),
                    NullKeys::Distinct => (part(applied, key), part(live, key)),
                };
                any |= a.is_some();
                a == b
            }) && any
        }
        (ListTopology::Set, applied, live) => applied == live && applied.is_scalar() && !applied.is_null(),
        _ => false,
    }
}

/// Returns the position of an item's node in a set, or `Err` if only the item's element can be compared.
pub(crate) fn find(nodes: &[Node], item: &Value, topology: &ListTopology) -> Result<Option<usize>, Unclear> {
    let wanted = Wanted::of(item, topology).ok_or(Unclear)?;
    let mut unclear = false;
    let found = nodes.binary_search_by(|node| {
        wanted.compared_with(&node.element).unwrap_or_else(|| {
            unclear = true;
            Ordering::Equal
        })
    });
    if unclear { Err(Unclear) } else { Ok(found.ok()) }
}

/// The nodes of a list's set, taken one by one as the list's items are met; most lists are in the order of
/// their set, so the node after the last one taken is tried first.
pub(crate) struct Places<'n> {
    nodes: &'n [Node],
    next: usize,
    /// Which were taken; empty as long as those are all before the next.
    taken: Vec<bool>,
}

impl<'n> Places<'n> {
    pub(crate) fn new(nodes: &'n [Node]) -> Places<'n> {
        Places { nodes, next: 0, taken: Vec::new() }
    }

    /// Returns the next node, if it leads to both of two items.
    pub(crate) fn take_next(
        &mut self,
        item: &Value,
        live: &Value,
        topology: &ListTopology,
    ) -> Option<&'n Node> {
        self.nodes.get(self.next).filter(|node| match (topology, &node.element, item, live) {
            (
                ListTopology::Keyed(keys),
                PathElement::Key(parts),
                Value::Object(item),
                Value::Object(live),
            ) => {
                parts.len() == keys.len()
                    && parts.iter().all(|(name, ours)| {
                        let Some(key) = keys.iter().find(|key| key.name == *name) else { return false };
                        part(item, key) == Some(ours) && part(live, key) == Some(ours)
                    })
            }
            (ListTopology::Set, PathElement::Value(value), item, live) => value == item && value == live,
            _ => false,
        })?;
        self.take_at(self.next)
    }

    /// Returns the node that leads to an item, unless it was taken or only elements can tell.
    pub(crate) fn take(&mut self, item: &Value, topology: &ListTopology) -> Option<&'n Node> {
        let nodes = self.nodes;
        let leads = |node: &&Node| leads_to(&node.element, item, topology) == Some(true);
        let at = match nodes.get(self.next).filter(leads) {
            Some(_) => self.next,
            None => find(nodes, item, topology).ok().flatten()?,
        };
        self.take_at(at)
    }

    fn take_at(&mut self, at: usize) -> Option<&'n Node> {
        if at != self.next && self.taken.is_empty() {
            self.taken = (0..self.nodes.len()).map(|place| place < self.next).collect();
        }
        self.next = at + 1;
        let taken = self.taken.get_mut(at).is_some_and(|taken| std::mem::replace(taken, true));
        self.nodes.get(at).filter(|_| !taken)
    }
}

/// Finds the items of a list by their elements. Lists are mostly in the order of their sets, so the item after the last
/// one found is tried first; a long list in another order is indexed once.
pub(crate) struct ItemFinder<'v> {
    items: &'v [Value],
    next: usize,
    /// The items by their elements, once one was not where it was tried.
    order: Option<Vec<(PathElement, usize)>>,
}

/// Up to this length looking at every item beats sorting them.
const FEW: usize = 16;

impl<'v> ItemFinder<'v> {
    pub(crate) fn new(items: &'v [Value]) -> ItemFinder<'v> {
        ItemFinder { items, next: 0, order: None }
    }

    /// Returns the first item that an element leads to.
    pub(crate) fn find(&mut self, element: &PathElement, topology: &ListTopology) -> Option<&'v Value> {
        let at = match self.items.get(self.next) {
            Some(item) if is_at(element, item, topology) => self.next,
            _ => self.search(element, topology)?,
        };
        self.next = at + 1;
        self.items.get(at)
    }

    fn search(&mut self, element: &PathElement, topology: &ListTopology) -> Option<usize> {
        if self.items.len() <= FEW {
            return self.items.iter().position(|item| is_at(element, item, topology));
        }
        let order = self.order.get_or_insert_with(|| {
            let own = |item: &Value| self::element(item, topology, 0).ok();
            let mut order: Vec<_> =
                (0..).zip(self.items).filter_map(|(at, item)| Some((own(item)?, at))).collect();
            order.sort();
            order
        });
        let at = order.partition_point(|(other, _)| other < element);
        order.get(at).filter(|(other, _)| other == element).map(|(_, at)| *at)
    }
}

/// Whether an element leads to an item.
fn is_at(element: &PathElement, item: &Value, topology: &ListTopology) -> bool {
    leads_to(element, item, topology)
        .unwrap_or_else(|| self::element(item, topology, 0).is_ok_and(|other| other == *element))
}

/// The values are of kinds whose order only elements define.
pub(crate) struct Unclear;

/// The parts of an item's element, borrowed from the item and its type.
enum Wanted<'a> {
    Value(&'a Value),
    Key(&'a Text, &'a Value),
    /// Sorted by name, as the parts of an element are.
    Keys(Vec<(&'a Text, &'a Value)>),
}

impl<'a> Wanted<'a> {
    fn of(item: &'a Value, topology: &'a ListTopology) -> Option<Wanted<'a>> {
        match (topology, item) {
            (ListTopology::Keyed(keys), Value::Object(object)) => match keys.as_ref() {
                [key] => Some(Wanted::Key(&key.name, part(object, key)?)),
                keys => {
                    let parts = keys.iter().map(|key| Some((&key.name, part(object, key)?)));
                    let mut parts = parts.collect::<Option<Vec<_>>>()?;
                    parts.sort_by(|a, b| a.0.cmp(b.0));
                    Some(Wanted::Keys(parts))
                }
            },
            (ListTopology::Set, item) => Some(Wanted::Value(item)),
            _ => None,
        }
    }

    /// Compares an element with the item, as far as strings and integers go.
    fn compared_with(&self, element: &PathElement) -> Option<Ordering> {
        match (self, element) {
            (Wanted::Value(value), PathElement::Value(ours)) => plain(ours, value),
            (Wanted::Key(name, value), PathElement::Key(parts)) => match parts.fields() {
                [(ours, own)] if ours == *name => plain(own, value),
                _ => None,
            },
            (Wanted::Keys(wanted), PathElement::Key(parts)) if parts.len() == wanted.len() => {
                for ((ours, own), (name, value)) in parts.iter().zip(wanted) {
                    match plain(own, value).filter(|_| ours == *name)? {
                        Ordering::Equal => {}
                        order => return Some(order),
                    }
                }
                Some(Ordering::Equal)
            }
            _ => None,
        }
    }
}

/// Whether an element leads to an item; `None` if only the item's own element can tell.
pub(crate) fn leads_to(element: &PathElement, item: &Value, topology: &ListTopology) -> Option<bool> {
    Wanted::of(item, topology)?.compared_with(element).map(Ordering::is_eq)
}

fn plain(a: &Value, b: &Value) -> Option<Ordering> {
    match (a, b) {
        (Value::String(a), Value::String(b)) => Some(a.as_str().cmp(b)),
        (Value::Int(a), Value::Int(b)) => Some(a.cmp(b)),
        _ => None,
    }
}

/// Returns the value of an item under a key: its own, else the key's default.
fn part<'a>(object: &'a Object, key: &'a Key) -> Option<&'a Value> {
    object.get(&key.name).or(key.default.as_ref())
}

/// The same, with `null` counting as absent where the key has a default.
fn effective<'a>(object: &'a Object, key: &'a Key) -> Option<&'a Value> {
    object.get(&key.name).filter(|value| !(value.is_null() && key.default.is_some())).or(key.default.as_ref())
}
