//! A document being changed. What no operation reaches stays a shared [`Value`]; only the maps and lists on the way to
//! a change are opened, once, regardless of the number of operations.

use super::sequence::Sequence;
use crate::pointer::{Dialect, Pointer, index};
use std::{cell::Cell, collections::BTreeMap};
use tenure_value::{Array, Object, Text, Value};

/// A part of the document.
pub(super) struct Draft {
    node: Node,
    /// How many levels of nesting it has at most, once counted. Removing parts does not lower it.
    depth: Cell<Option<usize>>,
}

enum Node {
    Whole(Value),
    Object(BTreeMap<Text, Draft>),
    Array(Sequence<Draft>),
}

/// Why a target does not exist.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Missing {
    pub(super) why: &'static str,
    /// Whether it is the last token that leads nowhere, in a map or a list that exists.
    pub(super) has_parent: bool,
}

pub(super) const ABSENT: Missing = Missing { why: "the field is absent", has_parent: true };
const OUTSIDE: Missing = Missing { why: "the list has no such index", has_parent: true };
const SCALAR: Missing = Missing { why: "a scalar has no parts", has_parent: false };
const ROOT: Missing = Missing { why: "the whole document cannot be removed or added", has_parent: false };

impl Draft {
    pub(super) fn new(value: Value) -> Draft {
        Draft { node: Node::Whole(value), depth: Cell::new(None) }
    }

    /// Returns the document.
    pub(super) fn finish(self) -> Value {
        match self.node {
            Node::Whole(value) => value,
            Node::Object(fields) => {
                Object::from_sorted(fields.into_iter().map(|(name, value)| (name, value.finish()))).into()
            }
            Node::Array(items) => items.into_iter().map(Draft::finish).collect::<Array>().into(),
        }
    }

    /// Returns the current value.
    pub(super) fn view(&self) -> Value {
        match &self.node {
            Node::Whole(value) => value.clone(),
            Node::Object(fields) => {
                Object::from_sorted(fields.iter().map(|(name, value)| (name.clone(), value.view()))).into()
            }
            Node::Array(items) => items.iter().map(Draft::view).collect::<Array>().into(),
        }
    }

    /// Whether this part equals a value.
    pub(super) fn equals(&self, expected: &Value) -> bool {
        match (&self.node, expected) {
            (Node::Whole(value), expected) => value == expected,
            (Node::Object(fields), Value::Object(expected)) => {
                fields.len() == expected.len()
                    && fields
                        .iter()
                        .zip(expected)
                        .all(|((name, value), (other, expected))| name == other && value.equals(expected))
            }
            (Node::Array(items), Value::Array(expected)) => {
                items.len() == expected.len()
                    && items.iter().zip(expected).all(|(item, expected)| item.equals(expected))
            }
            _ => false,
        }
    }

    /// Returns how many levels of nesting this part has at most.
    pub(super) fn depth(&self) -> usize {
        if let Some(depth) = self.depth.get() {
            return depth;
        }
        let below = |depths: &mut dyn Iterator<Item = usize>| 1 + depths.max().unwrap_or(0);
        let depth = match &self.node {
            Node::Whole(value) => value_depth(value),
            Node::Object(fields) => below(&mut fields.values().map(Draft::depth)),
            Node::Array(items) => below(&mut items.iter().map(Draft::depth)),
        };
        self.depth.set(Some(depth));
        depth
    }

    /// Returns the part at a pointer; `None` if only its last field is absent.
    pub(super) fn get(&mut self, pointer: &Pointer, dialect: Dialect) -> Result<Option<&mut Draft>, Missing> {
        let Some((parents, last)) = pointer.split() else { return Ok(Some(self)) };
        match &mut self.walk(parents, dialect, None)?.open().node {
            Node::Object(fields) => Ok(fields.get_mut(last)),
            Node::Array(items) => {
                let at = index(last, items.len(), dialect).ok_or(OUTSIDE)?;
                Ok(items.get_mut(at))
            }
            Node::Whole(_) => Err(SCALAR),
        }
    }

    /// Adds a value at a pointer: sets a field, or inserts into a list.
    pub(super) fn add(&mut self, pointer: &Pointer, value: Draft, dialect: Dialect) -> Result<(), Missing> {
        let Some((parents, last)) = pointer.split() else {
            if dialect == Dialect::Kubernetes {
                return Err(ROOT);
            }
            *self = value;
            return Ok(());
        };
        match &mut self.walk(parents, dialect, Some(value.depth()))?.open().node {
            Node::Object(fields) => {
                fields.insert(last.clone(), value);
                Ok(())
            }
            Node::Array(items) => {
                let at = if last == "-" { Some(items.len()) } else { index(last, items.len() + 1, dialect) };
                items.insert(at.ok_or(OUTSIDE)?, value);
                Ok(())
            }
            Node::Whole(_) => Err(SCALAR),
        }
    }

    /// Replaces the value at a pointer.
    pub(super) fn replace(
        &mut self,
        pointer: &Pointer,
        value: Draft,
        dialect: Dialect,
    ) -> Result<(), Missing> {
        let Some((parents, last)) = pointer.split() else {
            *self = value;
            return Ok(());
        };
        match &mut self.walk(parents, dialect, Some(value.depth()))?.open().node {
            Node::Object(fields) => {
                if dialect == Dialect::Standard && !fields.contains_key(last) {
                    return Err(ABSENT);
                }
                fields.insert(last.clone(), value);
                Ok(())
            }
            Node::Array(items) => {
                let at = index(last, items.len(), dialect).ok_or(OUTSIDE)?;
                *items.get_mut(at).ok_or(OUTSIDE)? = value;
                Ok(())
            }
            Node::Whole(_) => Err(SCALAR),
        }
    }

    /// Removes the value at a pointer.
    pub(super) fn remove(&mut self, pointer: &Pointer, dialect: Dialect) -> Result<Draft, Missing> {
        let (parents, last) = pointer.split().ok_or(ROOT)?;
        match &mut self.walk(parents, dialect, None)?.open().node {
            Node::Object(fields) => fields.remove(last).ok_or(ABSENT),
            Node::Array(items) => {
                let at = index(last, items.len(), dialect).ok_or(OUTSIDE)?;
                items.remove(at).ok_or(OUTSIDE)
            }
            Node::Whole(_) => Err(SCALAR),
        }
    }

    /// Goes to the part with these tokens, in which a value of some depth is inserted or none.
    fn walk(
        &mut self,
        tokens: &[Text],
        dialect: Dialect,
        inserted: Option<usize>,
    ) -> Result<&mut Draft, Missing> {
        let no_parent = |missing| Missing { has_parent: false, ..missing };
        let mut part = self;
        part.deepen(inserted.map(|depth| depth + tokens.len() + 1));
        for (at, token) in tokens.iter().enumerate() {
            part = match &mut part.open().node {
                Node::Object(fields) => fields.get_mut(token).ok_or(no_parent(ABSENT))?,
                Node::Array(items) => {
                    let at = index(token, items.len(), dialect).ok_or(no_parent(OUTSIDE))?;
                    items.get_mut(at).ok_or(no_parent(OUTSIDE))?
                }
                Node::Whole(_) => return Err(SCALAR),
            };
            part.deepen(inserted.map(|depth| depth + tokens.len() - at));
        }
        Ok(part)
    }

    /// Raises the depth, if it was counted, to at least this.
    fn deepen(&mut self, depth: Option<usize>) {
        if let (Some(known), Some(depth)) = (self.depth.get(), depth) {
            self.depth.set(Some(known.max(depth)));
        }
    }

    /// Opens this part, so that its own parts can be changed.
    fn open(&mut self) -> &mut Draft {
        match &self.node {
            Node::Whole(Value::Object(object)) => {
                let fields = object.iter().map(|(name, value)| (name.clone(), Draft::new(value.clone())));
                self.node = Node::Object(fields.collect());
            }
            Node::Whole(Value::Array(array)) => {
                self.node = Node::Array(array.iter().cloned().map(Draft::new).collect());
            }
            _ => {}
        }
        self
    }
}

/// Counts the bytes of a value as text, roughly, up to a little above the limit.
pub(super) fn bytes(value: &Value, limit: usize) -> usize {
    let mut count = 2;
    match value {
        Value::String(text) => count += text.len(),
        Value::Array(items) => {
            for item in items {
                if count > limit {
                    break;
                }
                count += bytes(item, limit - count) + 1;
            }
        }
        Value::Object(fields) => {
            for (name, field) in fields {
                if count > limit {
                    break;
                }
                count += name.len() + bytes(field, limit - count) + 4;
            }
        }
        _ => count += 2,
    }
    count
}

/// Returns how many lists and objects are inside one another.
fn value_depth(value: &Value) -> usize {
    match value {
        Value::Array(items) => 1 + items.iter().map(value_depth).max().unwrap_or(0),
        Value::Object(fields) => 1 + fields.iter().map(|(_, field)| value_depth(field)).max().unwrap_or(0),
        _ => 0,
    }
}
