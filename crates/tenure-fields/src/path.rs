//! One step of a path, and the path. The order of elements (fields, keys, values, indexes) is the order in
//! which `FieldsV1` writes them, so the trie keeps it.

use tenure_value::{Object, Text, Value};

/// One step from a part of a document to a part of that part.
///
/// The order of the variants is the order of elements in a set.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
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

impl FromIterator<PathElement> for Path {
    fn from_iter<I: IntoIterator<Item = PathElement>>(elements: I) -> Path {
        Path(elements.into_iter().collect())
    }
}
