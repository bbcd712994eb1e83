//! Resolves paths to values of a document. Items of keyed lists are found by their keys, and a missing key
//! counts as its default, so the type is needed along the path.

use crate::{Path, PathElement, order};
use tenure_schema::{Key, ListTopology, Type, TypeRef};
use tenure_value::{Object, Pointer, Value};

impl Path {
    /// Returns the value at this path in a document of this type, if it exists; of items with the same keys,
    /// the first.
    pub fn resolve<'v>(&self, value: &'v Value, ty: TypeRef<'_>) -> Option<&'v Value> {
        let mut at = (value, ty);
        for element in self.elements() {
            let below = match element {
                PathElement::Field(name) => at.1.below(name),
                _ => at.1.item(),
            };
            at = (step(at.0, element, at.1)?, below.unwrap_or_else(TypeRef::untyped));
        }
        Some(at.0)
    }

    /// Returns the JSON pointer of the value at this path in a document of this type, if it exists.
    ///
    /// ```
    /// use tenure_fields::Path;
    /// use tenure_schema::Schema;
    ///
    /// let pod = r#"{"spec":{"containers":[{"name":"a"},{"name":"b"}]}}"#.parse().unwrap();
    /// let path = Path::parse(r#".spec.containers[name="b"]"#).unwrap();
    /// let pointer = path.pointer(&pod, Schema::builtin().kind("v1", "Pod").unwrap()).unwrap();
    /// assert_eq!(pointer.to_string(), "/spec/containers/1");
    /// ```
    pub fn pointer(&self, value: &Value, ty: TypeRef<'_>) -> Option<Pointer> {
        let (mut value, mut ty) = (value, ty);
        let mut pointer = Pointer::default();
        for element in self.elements() {
            let next = step(value, element, ty)?;
            let below;
            (pointer, below) = match element {
                PathElement::Field(name) => (pointer.field(name.clone()), ty.below(name)),
                // Equal items are distinguished by their address.
                _ => (
                    pointer.item(value.as_array()?.iter().position(|item| std::ptr::eq(item, next))?),
                    ty.item(),
                ),
            };
            (value, ty) = (next, below.unwrap_or_else(TypeRef::untyped));
        }
        Some(pointer)
    }
}

/// Returns the child of a value of this type at a path element.
pub(crate) fn step<'v>(value: &'v Value, element: &PathElement, ty: TypeRef<'_>) -> Option<&'v Value> {
    match (element, value) {
        (PathElement::Field(name), Value::Object(object)) => object.get(name),
        (PathElement::Key(keys), Value::Array(items)) => {
            let declared: &[Key] = match ty.get() {
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
