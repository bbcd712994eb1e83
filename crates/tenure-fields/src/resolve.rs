//! From a path to the part of a document where it leads. A keyed list's items are found by their keys, and
//! an item that lacks a key counts as having its default, so the type is asked along the way.

use crate::{Path, PathElement, order};
use tenure_schema::{Key, ListTopology, Type, TypeRef};
use tenure_value::{Object, Step, Value};

impl Path {
    /// Returns the part of a document of this type where the path leads, if there is one; of items that share
    /// their keys the first.
    pub fn resolve<'v>(&self, value: &'v Value, of: TypeRef<'_>) -> Option<&'v Value> {
        let mut at = (value, of);
        for element in self.elements() {
            let below = match element {
                PathElement::Field(name) => at.1.below(name),
                _ => at.1.item(),
            };
            at = (step(at.0, element, at.1)?, below.unwrap_or_else(TypeRef::untyped));
        }
        Some(at.0)
    }

    /// Returns the way to where the path leads in a document of this type, step by step, if it leads anywhere.
    ///
    /// ```
    /// use tenure_fields::Path;
    /// use tenure_schema::Schema;
    /// use tenure_value::Step;
    ///
    /// let pod = r#"{"spec":{"containers":[{"name":"a"},{"name":"b"}]}}"#.parse().unwrap();
    /// let path = Path::parse(r#".spec.containers[name="b"]"#).unwrap();
    /// let way = path.steps(&pod, Schema::builtin().kind("v1", "Pod").unwrap()).unwrap();
    /// assert_eq!(way.last(), Some(&Step::Item(1)));
    /// ```
    pub fn steps(&self, value: &Value, of: TypeRef<'_>) -> Option<Vec<Step>> {
        let (mut value, mut of) = (value, of);
        let mut way = Vec::with_capacity(self.len());
        for element in self.elements() {
            let next = step(value, element, of)?;
            let (taken, below) = match element {
                PathElement::Field(name) => (Step::Field(name.clone()), of.below(name)),
                // The item itself is told from equal ones by where it is.
                _ => (
                    Step::Item(value.as_array()?.iter().position(|item| std::ptr::eq(item, next))?),
                    of.item(),
                ),
            };
            way.push(taken);
            (value, of) = (next, below.unwrap_or_else(TypeRef::untyped));
        }
        Some(way)
    }
}

/// Returns the part of a value of this type that is one step below it.
pub(crate) fn step<'v>(value: &'v Value, element: &PathElement, of: TypeRef<'_>) -> Option<&'v Value> {
    match (element, value) {
        (PathElement::Field(name), Value::Object(object)) => object.get(name),
        (PathElement::Key(keys), Value::Array(items)) => {
            let declared: &[Key] = match of.get() {
                Type::List(list) => match &list.topology {
                    ListTopology::Keyed(declared) => declared,
                    _ => &[],
                },
                _ => &[],
            };
            items.iter().find(|item| has_keys(item, keys, declared))
        }
        (PathElement::Value(wanted), Value::Array(items)) => {
            items.iter().find(|item| order::compare(item, wanted).is_eq())
        }
        (PathElement::Index(index), Value::Array(items)) => items.get(usize::try_from(*index).ok()?),
        _ => None,
    }
}

fn has_keys(item: &Value, keys: &Object, declared: &[Key]) -> bool {
    keys.iter().all(|(name, wanted)| {
        let default = || declared.iter().find(|key| key.name == *name)?.default.as_ref();
        let found = item.get(name).or_else(default);
        found.is_some_and(|found| order::compare(found, wanted).is_eq())
    })
}
