//! Values that a patch brings where nothing is live to merge them with. They are taken as they are, but
//! for directives, which are never stored, and `null`, which means absence everywhere except in what the
//! patch replaces word for word.

use super::{
    directive::{PATCH, directive},
    plan,
};
use crate::{Fault, PatchError};
use tenure_fields::PathElement;
use tenure_schema::TypeRef;
use tenure_value::{Array, Object, Text, Value};

/// Why a value is taken without merging.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Taken {
    /// Nothing was there: `null` fields are left out, as are maps and entries that carry `$patch`.
    New,
    /// An entry joins a list: `null` fields are left out, and so is what says inside it that it is deleted.
    Joining,
    /// It replaces what was there: taken word for word.
    Literally,
}

/// What is done with a word in `$patch` that nobody knows, in a map that meets no live map. Where one is live, it
/// is an error always.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum UnknownWords {
    /// It is an error.
    #[default]
    Refused,
    /// The map is left out, or joins without the word, as Kubernetes has it.
    PassedOver,
}

/// Returns the value as it is to be stored, or nothing if it says itself that it is not to be.
pub(crate) fn clean(
    value: &Value,
    ty: TypeRef<'_>,
    taken: Taken,
    words: UnknownWords,
) -> Result<Option<Value>, PatchError> {
    Ok(match cleaned(value, ty, taken, words)? {
        Cleaned::Same => Some(value.clone()),
        Cleaned::New(value) => Some(value),
        Cleaned::Dropped => None,
    })
}

enum Cleaned {
    Same,
    New(Value),
    Dropped,
}

fn cleaned(value: &Value, ty: TypeRef<'_>, taken: Taken, words: UnknownWords) -> Result<Cleaned, PatchError> {
    match value {
        Value::Object(object) => cleaned_object(object, ty, taken, words),
        Value::Array(array) => cleaned_array(array, ty, taken, words),
        _ => Ok(Cleaned::Same),
    }
}

/// Whether a map that carries `$patch` is left out for what that says.
fn is_dropped(object: &Object, taken: Taken, words: UnknownWords) -> Result<bool, PatchError> {
    let value = match object.get(PATCH) {
        Some(value) if taken != Taken::Literally && !value.is_null() => value,
        _ => return Ok(false),
    };
    match value.as_str() {
        Some("delete") => Ok(true),
        // There is nothing to be replaced or merged with.
        Some("replace" | "merge") => Ok(taken == Taken::New),
        _ if words == UnknownWords::PassedOver => Ok(taken == Taken::New),
        _ => Err(Fault::UnknownPatchValue { value: value.clone(), map: object.clone() }.into()),
    }
}

fn cleaned_object(
    object: &Object,
    ty: TypeRef<'_>,
    taken: Taken,
    words: UnknownWords,
) -> Result<Cleaned, PatchError> {
    if is_dropped(object, taken, words)? {
        return Ok(Cleaned::Dropped);
    }
    let mut kept: Option<Vec<(Text, Value)>> = None;
    for (at, (name, value)) in object.iter().enumerate() {
        let outcome = if directive(name, ty).is_some() || value.is_null() && taken != Taken::Literally {
            Cleaned::Dropped
        } else if value.is_scalar() {
            Cleaned::Same
        } else {
            cleaned(value, plan::below(ty, name), taken, words).map_err(|error| error.under_field(name))?
        };
        let value = match outcome {
            Cleaned::Same => match &mut kept {
                Some(kept) => {
                    kept.push((name.clone(), value.clone()));
                    continue;
                }
                None => continue,
            },
            Cleaned::New(value) => Some(value),
            Cleaned::Dropped => None,
        };
        let kept = kept.get_or_insert_with(|| object.fields()[..at].to_vec());
        kept.extend(value.map(|value| (name.clone(), value)));
    }
    Ok(match kept {
        Some(fields) => Cleaned::New(Object::from_sorted(fields).into()),
        None => Cleaned::Same,
    })
}

fn cleaned_array(
    array: &Array,
    ty: TypeRef<'_>,
    taken: Taken,
    words: UnknownWords,
) -> Result<Cleaned, PatchError> {
    let item = plan::item(ty);
    let mut kept: Option<Vec<Value>> = None;
    for (at, value) in array.iter().enumerate() {
        // In a list, `$patch: replace` is about the list and not about the entry that carries it.
        let is_marker = || value.get(PATCH).and_then(Value::as_str) == Some("replace");
        let outcome = match taken {
            Taken::Joining if is_marker() => Cleaned::Dropped,
            _ => cleaned(value, item, taken, words)
                .map_err(|error| error.under(PathElement::Index(at as i64)))?,
        };
        let value = match outcome {
            Cleaned::Same => match &mut kept {
                Some(kept) => {
                    kept.push(value.clone());
                    continue;
                }
                None => continue,
            },
            Cleaned::New(value) => Some(value),
            Cleaned::Dropped => None,
        };
        kept.get_or_insert_with(|| array.items()[..at].to_vec()).extend(value);
    }
    Ok(match kept {
        Some(items) => Cleaned::New(Array::from(items).into()),
        None => Cleaned::Same,
    })
}
