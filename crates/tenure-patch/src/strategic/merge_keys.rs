//! The fields that identify the entries of a list.

use crate::{ErrorKind, PatchError};
use tenure_schema::Key;
use tenure_value::{Object, Text, Value};

/// The fields that identify the entries of one list.
#[derive(Clone, Debug)]
pub(crate) enum MergeKeys<'a> {
    /// The merge key of the type.
    One {
        name: &'a Text,
        /// Whether `null` is a key like any other, as in Kubernetes.
        nullable: bool,
    },
    /// The list keys of a list without a merge key, with the defaults of absent keys.
    Declared(&'a [Key]),
    /// The keys that the type recommends or that the patch sends; all but the first may be absent from an entry.
    Named(Vec<&'a str>),
}

impl<'a> MergeKeys<'a> {
    pub(crate) fn len(&self) -> usize {
        match self {
            MergeKeys::One { .. } => 1,
            MergeKeys::Declared(keys) => keys.len(),
            MergeKeys::Named(names) => names.len(),
        }
    }

    pub(crate) fn name(&self, at: usize) -> &str {
        match self {
            MergeKeys::One { name, .. } => name,
            MergeKeys::Declared(keys) => &keys[at].name,
            MergeKeys::Named(names) => names[at],
        }
    }

    pub(crate) fn names(&self) -> impl Iterator<Item = &str> {
        (0..self.len()).map(|at| self.name(at))
    }

    /// Appends the key values of an entry. All are scalars; they are absent only where the keys allow it.
    pub(crate) fn read<'v>(
        &self,
        entry: &'v Object,
        values: &mut Vec<Option<&'v Value>>,
    ) -> Result<(), PatchError>
    where
        'a: 'v,
    {
        match self {
            MergeKeys::One { name, nullable: false } => values.push(Some(present(entry, name)?)),
            MergeKeys::One { name, nullable: true } => match scalar(entry, name)? {
                Some(value) => values.push(Some(value)),
                None => return Err(no_key(entry, name)),
            },
            MergeKeys::Declared(keys) => {
                for key in keys.iter() {
                    values.push(Some(match (scalar(entry, &key.name)?, &key.default) {
                        (Some(value), _) => value,
                        (None, Some(default)) => default,
                        (None, None) => return Err(no_key(entry, &key.name)),
                    }));
                }
            }
            MergeKeys::Named(names) => {
                for (at, name) in names.iter().enumerate() {
                    values.push(match at {
                        0 => Some(present(entry, name)?),
                        _ => scalar(entry, name)?,
                    });
                }
            }
        }
        Ok(())
    }

    /// Returns the keys of an entry as an object, for paths and messages.
    pub(crate) fn of(&self, entry: &Object) -> Object {
        if let MergeKeys::One { name, .. } = self
            && let Some(value) = entry.get(*name)
        {
            return Object::from_sorted([((*name).clone(), value.clone())]);
        }
        Object::from_unsorted(self.fields_of(entry).collect())
    }

    /// Returns the keys that an entry has, with their values.
    pub(crate) fn fields_of(&self, entry: &Object) -> impl Iterator<Item = (Text, Value)> {
        self.names().filter_map(|name| Some((Text::from(name), entry.get(name)?.clone())))
    }
}

fn present<'v>(entry: &'v Object, name: &str) -> Result<&'v Value, PatchError> {
    match scalar(entry, name)? {
        Some(value) if !value.is_null() => Ok(value),
        _ => Err(no_key(entry, name)),
    }
}

fn scalar<'v>(entry: &'v Object, name: &str) -> Result<Option<&'v Value>, PatchError> {
    match entry.get(name) {
        Some(value) if !value.is_scalar() => {
            Err(ErrorKind::KeyNotScalar { key: name.into(), value: value.clone() }.into())
        }
        value => Ok(value),
    }
}

/// Returns the error for an entry without its merge key.
#[cold]
pub(crate) fn no_key(entry: &Object, name: &str) -> PatchError {
    ErrorKind::NoMergeKey { key: name.into(), entry: entry.clone().into() }.into()
}
