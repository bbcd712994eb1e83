//! A list behind an `Arc`: cloning only increments the reference count, and comparison first checks the address.

use super::Value;
use std::{ops::Deref, sync::Arc};

/// An immutable, shared list of values.
#[derive(Clone, Default)]
pub struct Array(Arc<[Value]>);

impl Array {
    /// Returns the items.
    #[inline]
    pub fn items(&self) -> &[Value] {
        &self.0
    }

    /// Sets the item at an index, if it exists. Other clones of the list do not change.
    pub fn put(&mut self, at: usize, value: Value) {
        if let Some(old) = Arc::make_mut(&mut self.0).get_mut(at) {
            *old = value;
        }
    }

    /// Returns this list with what replaces its items; `None` if nothing does.
    pub fn replaced(&self, mut replacement: impl FnMut(&Value) -> Option<Value>) -> Option<Array> {
        let mut replaced = None;
        for (at, item) in self.0.iter().enumerate() {
            if let Some(new) = replacement(item) {
                replaced.get_or_insert_with(|| self.clone()).put(at, new);
            }
        }
        replaced
    }

    /// Whether both share the same memory.
    #[inline]
    pub fn ptr_eq(&self, other: &Array) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl Deref for Array {
    type Target = [Value];

    #[inline]
    fn deref(&self) -> &[Value] {
        &self.0
    }
}

impl From<Vec<Value>> for Array {
    fn from(items: Vec<Value>) -> Array {
        Array(Arc::from(items))
    }
}

impl FromIterator<Value> for Array {
    fn from_iter<I: IntoIterator<Item = Value>>(items: I) -> Array {
        Array(items.into_iter().collect())
    }
}

impl<'a> IntoIterator for &'a Array {
    type Item = &'a Value;
    type IntoIter = std::slice::Iter<'a, Value>;

    #[inline]
    fn into_iter(self) -> Self::IntoIter {
        self.0.iter()
    }
}
