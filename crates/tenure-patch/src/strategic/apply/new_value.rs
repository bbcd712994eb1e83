//! Values that a patch brings where there is no live value to merge with. They are stored as they are, without the
//! directives and, except in replaced values, without `null` fields.

use super::super::{
    directive::{PATCH, RETAIN_KEYS, directive, possible_directives, retained},
    patch_meta,
};
use crate::{ErrorKind, PatchError};
use tenure_fields::PathElement;
use tenure_profile::{Improvement, Profile};
use tenure_schema::TypeRef;
use tenure_value::{Array, Object, Text, Value};

/// Why a value is stored without merging.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Context {
    /// No value is live. `null` fields are left out, and so are maps and entries with `$patch`.
    New,
    /// An entry joins a list. `null` fields are left out, and so is what it deletes inside.
    Joining,
    /// The value replaces a live one and is taken literally.
    Replacing,
}

/// Returns the value to store, or `None` if the patch deletes it.
pub(super) fn new_value(
    value: &Value,
    ty: TypeRef<'_>,
    context: Context,
    profile: Profile,
) -> Result<Option<Value>, PatchError> {
    if !profile.has(Improvement::DropDirectives) && context != Context::New {
        return Ok(Some(value.clone()));
    }
    Ok(match (Cleaner { context, profile }).value(value, ty)? {
        Cleaned::Same => Some(value.clone()),
        Cleaned::New(value) => Some(value),
        Cleaned::Dropped => None,
    })
}

struct Cleaner {
    context: Context,
    profile: Profile,
}

enum Cleaned {
    Same,
    New(Value),
    Dropped,
}

impl Cleaner {
    fn value(&self, value: &Value, ty: TypeRef<'_>) -> Result<Cleaned, PatchError> {
        match value {
            Value::Object(object) => self.object(object, ty),
            Value::Array(array) => self.array(array, ty),
            _ => Ok(Cleaned::Same),
        }
    }

    /// Whether a map with `$patch` is left out.
    fn is_dropped(&self, object: &Object) -> Result<bool, PatchError> {
        let marker = possible_directives(object).iter().find(|(name, _)| name == PATCH);
        let value = match marker {
            Some((_, value)) if self.context != Context::Replacing && !value.is_null() => value,
            _ => return Ok(false),
        };
        match value.as_str() {
            Some("delete") => Ok(true),
            // Nothing is live to be replaced or merged.
            Some("replace" | "merge") => Ok(self.context == Context::New),
            _ if !self.profile.has(Improvement::RejectUnknownPatchValues) => Ok(self.context == Context::New),
            _ => Err(ErrorKind::UnknownPatchValue { value: value.clone(), map: object.clone() }.into()),
        }
    }

    /// Checks that a map sets no more than its `$retainKeys` lists, as where a map is live.
    fn check_retained(&self, object: &Object, ty: TypeRef<'_>) -> Result<(), PatchError> {
        let marker = possible_directives(object).iter().find(|(name, _)| name == RETAIN_KEYS);
        match marker {
            Some((_, listed))
                if self.context != Context::Replacing
                    && self.profile.has(Improvement::RejectMalformedDirectives) =>
            {
                retained(object, listed, ty, self.profile).map(drop)
            }
            _ => Ok(()),
        }
    }

    fn is_stored(&self, name: &str, value: &Value, ty: TypeRef<'_>) -> bool {
        if value.is_null() && self.context != Context::Replacing {
            return false;
        }
        !self.profile.has(Improvement::DropDirectives) && name != PATCH || directive(name, ty).is_none()
    }

    fn object(&self, object: &Object, ty: TypeRef<'_>) -> Result<Cleaned, PatchError> {
        if self.is_dropped(object)? {
            return Ok(Cleaned::Dropped);
        }
        self.check_retained(object, ty)?;
        let mut kept: Option<Vec<(Text, Value)>> = None;
        for (at, (name, value)) in object.iter().enumerate() {
            let cleaned = if !self.is_stored(name, value, ty) {
                Cleaned::Dropped
            } else if value.is_scalar() {
                Cleaned::Same
            } else {
                let below = patch_meta::field_type(ty, name);
                self.value(value, below).map_err(|error| error.under_field(name))?
            };
            let value = match (cleaned, &mut kept) {
                (Cleaned::Same, None) => continue,
                (Cleaned::Same, Some(_)) => Some(value.clone()),
                (Cleaned::New(value), _) => Some(value),
                (Cleaned::Dropped, _) => None,
            };
            let kept = kept.get_or_insert_with(|| object.fields()[..at].to_vec());
            kept.extend(value.map(|value| (name.clone(), value)));
        }
        Ok(match kept {
            Some(fields) => Cleaned::New(Object::from_sorted(fields).into()),
            None => Cleaned::Same,
        })
    }

    fn array(&self, array: &Array, ty: TypeRef<'_>) -> Result<Cleaned, PatchError> {
        let item = patch_meta::item_type(ty);
        let mut kept: Option<Vec<Value>> = None;
        for (at, value) in array.iter().enumerate() {
            let cleaned = match self.context {
                Context::Joining if self.marks_list(value) => Cleaned::Dropped,
                _ => self.value(value, item).map_err(|error| error.under(PathElement::Index(at as i64)))?,
            };
            let value = match (cleaned, &mut kept) {
                (Cleaned::Same, None) => continue,
                (Cleaned::Same, Some(_)) => Some(value.clone()),
                (Cleaned::New(value), _) => Some(value),
                (Cleaned::Dropped, _) => None,
            };
            kept.get_or_insert_with(|| array.items()[..at].to_vec()).extend(value);
        }
        Ok(match kept {
            Some(items) => Cleaned::New(Array::from(items).into()),
            None => Cleaned::Same,
        })
    }

    /// Whether an item is `{$patch: replace}`, which is about the list and not about an entry.
    fn marks_list(&self, item: &Value) -> bool {
        let Value::Object(map) = item else { return false };
        map.get(PATCH).and_then(Value::as_str) == Some("replace")
            && (map.len() == 1 || !self.profile.has(Improvement::ReplaceMarkedEntries))
    }
}
