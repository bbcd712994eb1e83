//! What a change did: the fields whose values differ between two versions, and one field with its owners.

use crate::{Values, secret};
use tenure_apply::State;
use tenure_fields::Path;
use tenure_ownership::{Difference, owner, owner::Owner, plan::differences};
use tenure_schema::TypeRef;
use tenure_value::{Object, ObjectBuilder, Text, Value};

/// Returns the fields in which two versions of an object differ; `None` where it did not exist. Values that are withheld are
/// replaced.
pub fn changes(
    before: Option<&Value>,
    after: Option<&Value>,
    ty: TypeRef<'_>,
    values: Values,
) -> Vec<Difference> {
    let found = match (before, after) {
        (Some(before), Some(after)) => {
            let (before, after) = differing(before, after);
            differences(Some(&before), &after, ty)
        }
        (None, Some(after)) => differences(None, after, ty),
        (Some(before), None) => {
            let removed = differences(None, before, ty).into_iter();
            removed.map(|one| Difference { before: one.after, after: one.before, ..one }).collect()
        }
        (None, None) => Vec::new(),
    };
    found.into_iter().map(|difference| withheld(difference, values)).collect()
}

fn withheld(difference: Difference, values: Values) -> Difference {
    if !secret::is_hidden(&difference.path, values) {
        return difference;
    }
    let hide = |value: Option<Value>| value.map(|_| Value::from(secret::WITHHELD));
    Difference { before: hide(difference.before), after: hide(difference.after), path: difference.path }
}

/// Returns two documents without the fields of objects that are the same in both, so that a comparison costs what differs.
fn differing(a: &Value, b: &Value) -> (Value, Value) {
    let (Value::Object(a), Value::Object(b)) = (a, b) else { return (a.clone(), b.clone()) };
    let (mut left, mut right) = (ObjectBuilder::with_capacity(4), ObjectBuilder::with_capacity(4));
    for (name, of_a) in a {
        match b.get(name) {
            Some(of_b) if of_a.ptr_eq(of_b) || of_a == of_b => {}
            Some(of_b) => {
                let (differs_a, differs_b) = differing(of_a, of_b);
                if !is_emptied(of_a, &differs_a) {
                    left.push(name.clone(), differs_a);
                }
                if !is_emptied(of_b, &differs_b) {
                    right.push(name.clone(), differs_b);
                }
            }
            None => left.push(name.clone(), of_a.clone()),
        }
    }
    let added: Vec<(Text, Value)> = {
        let only_b = b.iter().filter(|(name, _)| !a.contains(name));
        only_b.map(|(name, value)| (name.clone(), value.clone())).collect()
    };
    let mut right = right.finish().fields().to_vec();
    right.extend(added);
    (Value::Object(left.finish()), Value::Object(Object::from_unsorted(right)))
}

/// Whether nothing of an object is left: it only has what the other has, too, and is not itself a difference.
fn is_emptied(whole: &Value, differing: &Value) -> bool {
    let is_empty = |value: &Value| value.as_object().is_some_and(Object::is_empty);
    is_empty(differing) && !is_empty(whole)
}

/// What a change did to one field.
#[derive(Clone, Debug, PartialEq)]
pub struct FieldChange {
    /// The value before; `None` if it was not set.
    pub from: Option<Value>,
    /// The value after; `None` if it is not set.
    pub to: Option<Value>,
    /// The owners after.
    pub owners: Vec<Owner>,
    /// Whether the value changed, which cannot be seen from the values if they are withheld.
    pub changed: bool,
}

/// Returns what a change did to a field; `None` if neither its value nor its owners changed.
pub fn field_change(
    before: Option<&State>,
    after: Option<&State>,
    path: &Path,
    ty: TypeRef<'_>,
    values: Values,
) -> Option<FieldChange> {
    let value = |state: Option<&State>| state.and_then(|state| path.resolve(&state.object, ty)).cloned();
    let owners = |state: Option<&State>| {
        state.map(|state| owner::owners_of(&state.managers, path)).unwrap_or_default()
    };
    let (from, to) = (value(before), value(after));
    let (had, has) = (owners(before), owners(after));
    let same_owners =
        had.len() == has.len() && had.iter().zip(&has).all(|(a, b)| a.identity().is(&b.identity()));
    if same_owners && from == to {
        return None;
    }
    let (hidden, changed) = (secret::is_hidden(path, values), from != to);
    let show = |value: Option<Value>| match value {
        Some(_) if hidden => Some(Value::from(secret::WITHHELD)),
        Some(value) => Some(redact_below(&value, path, values)),
        None => None,
    };
    Some(FieldChange { from: show(from), to: show(to), owners: has, changed })
}

/// Returns the value at a path with what is withheld below it replaced.
fn redact_below(value: &Value, path: &Path, values: Values) -> Value {
    let mut place = secret::Place::root(values);
    for element in path.iter() {
        place = match element {
            tenure_fields::PathElement::Field(name) => place.below(name),
            _ => secret::Place::Open,
        };
    }
    secret::redact_at(value, place)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_object_that_only_gains_or_loses_fields_is_not_itself_a_change() {
        let value = |text: &str| text.parse::<Value>().unwrap();
        let (without, with) =
            (value(r#"{"m":{"name":"a"},"s":1}"#), value(r#"{"m":{"labels":{"x":"y"},"name":"a"},"s":1}"#));
        let paths = |before: &Value, after: &Value| -> Vec<String> {
            let found = changes(Some(before), Some(after), TypeRef::untyped(), Values::Kept);
            found.iter().map(|change| change.path.quoted().to_string()).collect()
        };
        assert_eq!(paths(&without, &with), [".m.labels.x"]);
        assert_eq!(paths(&with, &without), [".m.labels.x"]);
    }
}
