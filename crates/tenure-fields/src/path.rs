//! One step of a path, and the path. The order of elements (fields, keys, values, indexes) is the order in
//! which a kube-apiserver keeps them, so the trie keeps it; values inside elements have an order of their own.

use crate::order;
use std::{
    cmp::Ordering,
    hash::{Hash, Hasher},
    ops::Deref,
};
use tenure_value::{Object, Text, Value};

/// One step from a part of a document to a part of that part.
///
/// The order of the variants is the order of elements in a set. Numbers are compared by amount, so the
/// elements `[=1]` and `[=1.0]` are one.
#[derive(Clone, Debug)]
pub enum PathElement {
    /// A field of a struct or an entry of a map.
    Field(Text),
    /// An item of a keyed list, by the values of its keys.
    Key(Object),
    /// An item of a set, by its value.
    Value(Value),
    /// An item of a list by its place, for lists whose items are told apart in no other way.
    Index(i64),
}

impl PathElement {
    /// Makes the step to a field.
    pub fn field(name: impl Into<Text>) -> PathElement {
        PathElement::Field(name.into())
    }

    /// Makes the step to an item of a keyed list.
    pub fn key<N: Into<Text>>(keys: impl IntoIterator<Item = (N, Value)>) -> PathElement {
        PathElement::Key(Object::from_unsorted(
            keys.into_iter().map(|(name, value)| (name.into(), value)).collect(),
        ))
    }
}

impl PathElement {
    fn rank(&self) -> u8 {
        match self {
            PathElement::Field(_) => 0,
            PathElement::Key(_) => 1,
            PathElement::Value(_) => 2,
            PathElement::Index(_) => 3,
        }
    }
}

impl Ord for PathElement {
    #[inline]
    fn cmp(&self, other: &PathElement) -> Ordering {
        match (self, other) {
            (PathElement::Field(a), PathElement::Field(b)) => a.as_str().cmp(b),
            (PathElement::Key(a), PathElement::Key(b)) => order::compare_objects(a, b),
            (PathElement::Value(a), PathElement::Value(b)) => order::compare(a, b),
            (PathElement::Index(a), PathElement::Index(b)) => a.cmp(b),
            _ => self.rank().cmp(&other.rank()),
        }
    }
}

impl PartialOrd for PathElement {
    #[inline]
    fn partial_cmp(&self, other: &PathElement) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for PathElement {
    #[inline]
    fn eq(&self, other: &PathElement) -> bool {
        match (self, other) {
            (PathElement::Field(a), PathElement::Field(b)) => a == b,
            _ => self.cmp(other).is_eq(),
        }
    }
}

impl Eq for PathElement {}

impl Hash for PathElement {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.rank().hash(state);
        match self {
            PathElement::Field(name) => name.as_str().hash(state),
            PathElement::Key(keys) => order::hash_object(keys, state),
            PathElement::Value(value) => order::hash(value, state),
            PathElement::Index(index) => index.hash(state),
        }
    }
}

/// The way from the root of a document to one of its parts.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Path(Vec<PathElement>);

impl Path {
    /// Returns the steps.
    pub fn elements(&self) -> &[PathElement] {
        &self.0
    }

    /// Goes one step further down.
    pub fn push(&mut self, element: PathElement) {
        self.0.push(element);
    }

    /// Goes one step back up.
    pub fn pop(&mut self) -> Option<PathElement> {
        self.0.pop()
    }

    /// Returns this path with one step more.
    pub fn with(&self, element: PathElement) -> Path {
        Path(self.0.iter().cloned().chain([element]).collect())
    }
}

impl Deref for Path {
    type Target = [PathElement];

    fn deref(&self) -> &[PathElement] {
        &self.0
    }
}

impl AsRef<[PathElement]> for Path {
    fn as_ref(&self) -> &[PathElement] {
        &self.0
    }
}

impl From<&[PathElement]> for Path {
    fn from(elements: &[PathElement]) -> Path {
        Path(elements.to_vec())
    }
}

impl From<Vec<PathElement>> for Path {
    fn from(elements: Vec<PathElement>) -> Path {
        Path(elements)
    }
}

impl FromIterator<PathElement> for Path {
    fn from_iter<I: IntoIterator<Item = PathElement>>(elements: I) -> Path {
        Path(elements.into_iter().collect())
    }
}
