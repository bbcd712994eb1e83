//! How the items of an old and a new list belong together, and which items of a list are the same: by their keys in a list
//! with keys, by their value in a set.

use super::node::{ListKind, Node};
use std::collections::{HashMap, HashSet};
use tenure_meta::{FieldError, FieldErrors, FieldPath};
use tenure_value::{Array, Text, Value};

/// Whether a value says the same as the old one. The order of the items of a list with keys does not matter.
pub(crate) fn is_unchanged(node: &Node, value: &Value, old: &Value) -> bool {
    if value == old {
        return true;
    }
    if !node.keyed_within {
        return false;
    }
    match (value, old) {
        (Value::Object(new), Value::Object(old)) => {
            new.len() == old.len()
                && new.iter().zip(old.iter()).all(|((name, value), (other, before))| {
                    name == other
                        && match node.under(name) {
                            Some(below) => is_unchanged(below, value, before),
                            None => value == before,
                        }
                })
        }
        (Value::Array(new), Value::Array(old)) => {
            let (ListKind::Keyed(_), Some(item_node)) = (&node.list, node.items.as_deref()) else {
                return false;
            };
            let correlated = Correlated::new(&node.list, Some(old));
            new.len() == old.len()
                && new.iter().enumerate().all(|(at, item)| {
                    correlated.before(at, item).is_some_and(|before| is_unchanged(item_node, item, before))
                })
        }
        _ => false,
    }
}

/// Reports the items that appear twice in a list with keys or in a set.
pub(crate) fn check_duplicates(
    list: &ListKind,
    items: &Array,
    path: &FieldPath<'_>,
    errors: &mut FieldErrors,
) {
    match list {
        ListKind::Atomic => {}
        ListKind::Set => {
            let mut seen = HashSet::new();
            for (at, item) in items.iter().enumerate() {
                if !seen.insert(canonical(item)) {
                    errors.push(FieldError::duplicate(path.index(at), item));
                }
            }
        }
        ListKind::Keyed(keys) => {
            let is_wrong = |item: &&Value| !matches!(item, Value::Null | Value::Object(_));
            if let Some((at, item)) = items.iter().enumerate().find(|(_, item)| is_wrong(item)) {
                let detail = "must be an object for an array of list-type map";
                return errors.push(FieldError::invalid(path.index(at), item, detail));
            }
            let mut seen = HashSet::new();
            for (at, item) in items.iter().enumerate() {
                let is_repeated = match items.len() <= FEW {
                    true => items.iter().take(at).any(|other| has_key_of(keys, other, item)),
                    // An item without keys is reported elsewhere.
                    false => key_of(keys, item).is_some_and(|key| !seen.insert(canonical(&key))),
                };
                if is_repeated {
                    errors
                        .push(FieldError::duplicate(path.index(at), &key_of(keys, item).unwrap_or_default()));
                }
            }
        }
    }
}

/// Whether an item appears twice in a list with keys or in a set, here or below.
pub(crate) fn has_duplicates(node: &Node, value: &Value) -> bool {
    match value {
        Value::Object(fields) => fields
            .iter()
            .any(|(name, value)| node.under(name).is_some_and(|below| has_duplicates(below, value))),
        Value::Array(items) => {
            let mut found = FieldErrors::default();
            check_duplicates(&node.list, items, &FieldPath::root(), &mut found);
            let below = node.items.as_deref();
            !found.is_empty()
                || below.is_some_and(|item_node| items.iter().any(|item| has_duplicates(item_node, item)))
        }
        _ => false,
    }
}

/// Returns the keys of an item as an object.
fn key_of(keys: &[Text], item: &Value) -> Option<Value> {
    let fields = item.as_object()?;
    let key: Vec<(Text, Value)> =
        keys.iter().filter_map(|name| fields.get(name).map(|value| (name.clone(), value.clone()))).collect();
    (!key.is_empty()).then(|| Value::object(key))
}

/// Formats a value so that equal values have equal text; numbers are compared by value.
fn canonical(value: &Value) -> String {
    match value {
        Value::Float(number) if number.get().fract() == 0.0 && number.get().abs() < 9e15 => {
            (number.get() as i64).to_string()
        }
        other => other.to_string(),
    }
}

/// Up to this number of items are compared pairwise instead of indexed.
const FEW: usize = 16;

/// Whether two items have the same keys, with numbers compared by value; items without keys do not.
fn has_key_of(keys: &[Text], one: &Value, other: &Value) -> bool {
    let (Some(one), Some(other)) = (one.as_object(), other.as_object()) else { return false };
    let mut pairs = keys.iter().map(|name| (one.get(name), other.get(name)));
    let mut found = false;
    pairs.all(|pair| match pair {
        (Some(one), Some(other)) => {
            found = true;
            one.same(other)
        }
        (None, None) => true,
        _ => false,
    }) && found
}

/// The items of the old list by their keys. Items of other lists cannot be matched.
pub(crate) struct Correlated<'o> {
    keys: &'o [Text],
    old: &'o [Value],
    /// By their keys, if there are many.
    found: HashMap<String, &'o Value>,
}

impl<'o> Correlated<'o> {
    pub fn new(list: &'o ListKind, old: Option<&'o Array>) -> Correlated<'o> {
        let (ListKind::Keyed(keys), Some(old)) = (list, old) else {
            return Correlated { keys: &[], old: &[], found: HashMap::new() };
        };
        let many = old.iter().filter(|_| old.len() > FEW);
        let found = many.filter_map(|item| Some((canonical(&key_of(keys, item)?), item))).collect();
        Correlated { keys, old: old.items(), found }
    }

    /// Returns the old item at the same keys; most items keep their position.
    pub fn before(&self, at: usize, item: &Value) -> Option<&'o Value> {
        let is_it = |old: &&'o Value| has_key_of(self.keys, old, item);
        if let Some(old) = self.old.get(at).filter(is_it) {
            return Some(old);
        }
        match self.old.len() <= FEW {
            true => self.old.iter().find(is_it),
            false => self.found.get(&canonical(&key_of(self.keys, item)?)).copied(),
        }
    }
}
