//! A map of fields: a slice sorted by name, behind an `Arc`. Objects are merged and compared by iterating over both at
//! once, so the order is the invariant that everything else relies on.

use super::Value;
use crate::{Text, prefix::sort_prefix};
use std::{cmp::Ordering, sync::Arc};

/// An immutable, shared map from names to values, in the bytewise order of the names.
#[derive(Clone, Default)]
pub struct Object(Arc<[(Text, Value)]>);

impl Object {
    /// Up to this length a linear scan is faster than a binary search: most names already differ in length.
    const FEW: usize = 8;

    /// Creates an object from fields that are sorted by name, without duplicates.
    pub fn from_sorted(fields: impl IntoIterator<Item = (Text, Value)>) -> Object {
        let fields: Arc<[_]> = fields.into_iter().collect();
        debug_assert!(fields.windows(2).all(|pair| pair[0].0 < pair[1].0));
        Object(fields)
    }

    /// Creates an object from fields in any order. If a name occurs twice, the last one wins.
    pub fn from_unsorted(mut fields: Vec<(Text, Value)>) -> Object {
        if !fields.windows(2).all(|pair| pair[0].0 < pair[1].0) {
            fields.sort_by(|a, b| a.0.cmp(&b.0));
            fields.reverse();
            fields.dedup_by(|later, first| later.0 == first.0);
            fields.reverse();
        }
        Object(Arc::from(fields))
    }

    /// Returns the fields in order.
    #[inline]
    pub fn fields(&self) -> &[(Text, Value)] {
        &self.0
    }

    /// Iterates over the fields in order.
    #[inline]
    pub fn iter(&self) -> impl ExactSizeIterator<Item = (&Text, &Value)> + DoubleEndedIterator + Clone {
        self.0.iter().map(|(name, value)| (name, value))
    }

    /// Returns the number of fields.
    #[inline]
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether the object is empty.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns the value of a field. The lookup is faster with a [`Text`] than with a `str`.
    #[inline]
    pub fn get<N: AsRef<str> + ?Sized>(&self, name: &N) -> Option<&Value>
    where
        Text: PartialEq<N>,
    {
        if self.0.len() <= Self::FEW {
            return self.0.iter().find(|(field, _)| field == name).map(|(_, value)| value);
        }
        self.position(name.as_ref()).ok().map(|at| &self.0[at].1)
    }

    /// Whether the object has a field of that name.
    pub fn contains(&self, name: &str) -> bool {
        self.position(name).is_ok()
    }

    /// Returns the index of a field, or the index at which it would be inserted.
    pub fn position(&self, name: &str) -> Result<usize, usize> {
        let wanted = sort_prefix(name);
        self.0.binary_search_by(|(field, _)| match sort_prefix(field).cmp(&wanted) {
            Ordering::Equal => field.as_str().cmp(name),
            order => order,
        })
    }

    /// Whether both share the same memory.
    #[inline]
    pub fn ptr_eq(&self, other: &Object) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }

    /// Returns this object with what replaces its values; `None` if nothing does.
    pub fn replaced(&self, mut replacement: impl FnMut(&Text, &Value) -> Option<Value>) -> Option<Object> {
        let mut replaced = None;
        for (at, (name, value)) in self.0.iter().enumerate() {
            if let Some(new) = replacement(name, value) {
                replaced.get_or_insert_with(|| self.clone()).put(at, new);
            }
        }
        replaced
    }

    /// Returns this object with one field set.
    pub fn with(&self, name: impl Into<Text>, value: impl Into<Value>) -> Object {
        let (name, value) = (name.into(), value.into());
        match self.position(&name) {
            Ok(at) => {
                let mut object = self.clone();
                object.put(at, value);
                object
            }
            Err(at) => {
                let (before, after) = self.0.split_at(at);
                let added = std::iter::once((name, value));
                Object(before.iter().cloned().chain(added).chain(after.iter().cloned()).collect())
            }
        }
    }

    /// Sets the value of the field at an index, if it exists. Other clones of the object do not change.
    pub fn put(&mut self, at: usize, value: Value) {
        if let Some((_, old)) = Arc::make_mut(&mut self.0).get_mut(at) {
            *old = value;
        }
    }

    /// Returns this object without one field; the same object if it has no such field.
    pub fn without(&self, name: &str) -> Object {
        match self.position(name) {
            Ok(at) => {
                let (before, after) = (&self.0[..at], &self.0[at + 1..]);
                Object(before.iter().chain(after).cloned().collect())
            }
            Err(_) => self.clone(),
        }
    }
}

impl<'a> IntoIterator for &'a Object {
    type Item = &'a (Text, Value);
    type IntoIter = std::slice::Iter<'a, (Text, Value)>;

    #[inline]
    fn into_iter(self) -> Self::IntoIter {
        self.0.iter()
    }
}

/// Collects the fields of a new [`Object`] in ascending order of their names.
#[derive(Default)]
pub struct ObjectBuilder(Vec<(Text, Value)>);

impl ObjectBuilder {
    /// Creates a builder with capacity for that many fields.
    pub fn with_capacity(fields: usize) -> ObjectBuilder {
        ObjectBuilder(Vec::with_capacity(fields))
    }

    /// Adds a field whose name comes after all names so far.
    #[inline]
    pub fn push(&mut self, name: Text, value: Value) {
        debug_assert!(self.0.last().is_none_or(|(last, _)| *last < name), "{name} is out of order");
        self.0.push((name, value));
    }

    /// Whether no field was added.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns the object.
    pub fn finish(self) -> Object {
        Object(Arc::from(self.0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_of_two_fields_with_the_same_name_wins() {
        let object = Object::from_unsorted(vec![
            ("b".into(), Value::Int(1)),
            ("a".into(), Value::Int(2)),
            ("b".into(), Value::Int(3)),
        ]);
        assert_eq!(object.fields(), [("a".into(), Value::Int(2)), ("b".into(), Value::Int(3))]);
    }

    #[test]
    fn a_field_is_set_replaced_and_removed() {
        let object = Object::default().with("b", 1).with("a", 2).with("b", 3);
        assert_eq!(object.get("b"), Some(&Value::Int(3)));
        assert_eq!(object.without("b").fields(), [("a".into(), Value::Int(2))]);
        assert!(object.without("absent").ptr_eq(&object));
    }
}
