//! Path elements and paths. The order of elements (fields, keys, values, indexes) is that of kube-apiserver,
//! and the trie uses it; values inside elements have their own order.

use crate::order;
use std::{
    cmp::Ordering,
    hash::{Hash, Hasher},
    ops::Deref,
};
use tenure_value::{Object, Text, Value};

/// One step of a path.
///
/// The order of the variants is the order of elements in a set. Numbers are compared by value, so the
/// elements `[=1]` and `[=1.0]` are equal.
#[derive(Clone, Debug)]
pub enum PathElement {
    /// A field of a struct or an entry of a map.
    Field(Text),
    /// An item of a keyed list, by the values of its keys.
    Key(Object),
    /// An item of a set, by its value.
    Value(Value),
    /// An item of a list by its index, for lists whose items have no other identity.
    Index(i64),
}

impl PathElement {
    /// Returns the element of a field.
    pub fn field(name: impl Into<Text>) -> PathElement {
        PathElement::Field(name.into())
    }

    /// Returns the element of an item of a keyed list.
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

/// A path from the root of a document to one of its values.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Path(Vec<PathElement>);

impl Path {
    /// Returns the elements.
    pub fn elements(&self) -> &[PathElement] {
        &self.0
    }

    /// Appends an element.
    pub fn push(&mut self, element: PathElement) {
        self.0.push(element);
    }

    /// Removes the last element.
    pub fn pop(&mut self) -> Option<PathElement> {
        self.0.pop()
    }

    /// Returns this path extended by one element.
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
