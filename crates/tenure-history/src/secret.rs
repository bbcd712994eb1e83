//! The values of Secrets, which are not part of history unless the operator enables it: records say that a value changed, when and by whom,
//! and not what it was.

use tenure_apply::LAST_APPLIED;
use tenure_fields::PathElement;
use tenure_value::{Object, Value};

/// What is shown in the place of a value.
pub const WITHHELD: &str = "***";

/// Whether the values of a kind of objects are recorded and shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Values {
    /// All of them.
    Kept,
    /// Those of a Secret are not: `data`, `stringData` and the last manifest of `kubectl apply`.
    Withheld,
}

/// A place in a document, as far as it matters for what is withheld.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    /// Nothing here is withheld.
    Open,
    Root,
    Metadata,
    Annotations,
    /// A map of which every value is withheld.
    Map,
    /// A value that is withheld.
    Hidden,
}

impl Place {
    pub(crate) fn root(values: Values) -> Place {
        match values {
            Values::Kept => Place::Open,
            Values::Withheld => Place::Root,
        }
    }

    pub(crate) fn below(self, name: &str) -> Place {
        match (self, name) {
            (Place::Root, "data" | "stringData") => Place::Map,
            (Place::Root, "metadata") => Place::Metadata,
            (Place::Metadata, "annotations") => Place::Annotations,
            (Place::Annotations, LAST_APPLIED) | (Place::Map, _) => Place::Hidden,
            _ => Place::Open,
        }
    }
}

/// The text in the place of a value that the change of a revision replaced. It differs for values of different times, so that
/// two versions can be compared.
pub(crate) fn replaced_at(revision: u64) -> Value {
    Value::from(format!("{WITHHELD} until revision {revision}"))
}

/// Whether a value is the placeholder of a withheld one.
pub fn is_withheld(value: &Value) -> bool {
    value.as_str().is_some_and(|text| text.starts_with(WITHHELD))
}

/// Returns an object with its withheld values replaced.
pub fn redact(object: &Value, values: Values) -> Value {
    redact_at(object, Place::root(values))
}

pub(crate) fn redact_at(value: &Value, place: Place) -> Value {
    replaced_below(value, place, &|value| match is_withheld(value) {
        true => value.clone(),
        false => Value::from(WITHHELD),
    })
}

/// Returns a Secret with others in the place of the values that would be withheld, such as digests.
pub fn replaced(object: &Value, other: &dyn Fn(&Value) -> Value) -> Value {
    replaced_below(object, Place::Root, other)
}

fn replaced_below(value: &Value, place: Place, other: &dyn Fn(&Value) -> Value) -> Value {
    match (place, value) {
        (Place::Open, _) => value.clone(),
        (Place::Hidden, _) => other(value),
        (_, Value::Object(fields)) => Value::Object(Object::from_sorted(
            fields
                .iter()
                .map(|(name, value)| (name.clone(), replaced_below(value, place.below(name), other))),
        )),
        (Place::Map, Value::Null) => Value::Null,
        (Place::Map, _) => other(value),
        _ => value.clone(),
    }
}

/// Whether the value at a path is withheld.
pub fn is_hidden(path: &[PathElement], values: Values) -> bool {
    let mut place = Place::root(values);
    for element in path {
        if place == Place::Hidden {
            return true;
        }
        place = match element {
            PathElement::Field(name) => place.below(name),
            _ => Place::Open,
        };
    }
    matches!(place, Place::Hidden | Place::Map)
}
