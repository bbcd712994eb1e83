//! What the type says about a field: where its parts are described, whether a list there merges, and by
//! which keys. Everything that merges or calculates asks here, so that both always agree.

use crate::{Fault, PatchError};
use tenure_schema::{Key, ListTopology, PatchMarks, Type, TypeRef, UnknownFields};
use tenure_value::{Object, Text, Value};

/// A field as strategic merge patch sees it.
#[derive(Clone, Copy)]
pub(crate) struct Position<'s> {
    pub(crate) ty: TypeRef<'s>,
    pub(crate) marks: Option<&'s PatchMarks>,
}

/// Returns the field into which a patch goes with a map or a list; `value` is what it brings, for the error
/// where the type knows no such field.
pub(crate) fn position<'s>(ty: TypeRef<'s>, name: &str, value: &Value) -> Result<Position<'s>, PatchError> {
    let unmarked = |ty| Ok(Position { ty, marks: None });
    match ty.get() {
        Type::Struct(of) => match of.field(name) {
            Some(field) => return Ok(Position { ty: ty.slot(&field.slot), marks: Some(&field.patch) }),
            None if of.unknown == UnknownFields::Preserved => return unmarked(TypeRef::untyped()),
            None => {}
        },
        Type::Map(of) => {
            let below = ty.slot(&of.value);
            if !matches!(below.get(), Type::Scalar(_)) {
                return unmarked(below);
            }
        }
        Type::Untyped => return unmarked(TypeRef::untyped()),
        Type::List(_) | Type::Scalar(_) => {}
    }
    Err(Fault::UnknownField { field: name.into(), value: value.clone() }.into())
}

/// Returns the type below a name, untyped where the type has nothing to say.
pub(crate) fn below<'s>(ty: TypeRef<'s>, name: &str) -> TypeRef<'s> {
    ty.below(name).unwrap_or(TypeRef::untyped())
}

/// Returns the type of a list's items, untyped where the type has nothing to say.
pub(crate) fn item(ty: TypeRef<'_>) -> TypeRef<'_> {
    ty.item().unwrap_or(TypeRef::untyped())
}

/// Whether the type says that a map is replaced instead of being merged.
pub(crate) fn replaces(marks: Option<&PatchMarks>) -> bool {
    marks.is_some_and(|marks| marks.strategy.replace)
}

/// Whether calculated patches carry `$retainKeys` in this map, or in the entries of this list.
pub(crate) fn retains(marks: Option<&PatchMarks>) -> bool {
    marks.is_some_and(|marks| marks.strategy.retain_keys)
}

/// Fields of which a document has one at most, where the type has all of a row and no mark of its own for it.
const UNIONS: [&[&str]; 1] = [&["value", "valueFrom"]];

/// Whether a field of a live map has to go because another member of its union is set.
pub(crate) fn is_displaced(name: &str, by: &Object, ty: TypeRef<'_>) -> bool {
    let Some(members) = UNIONS.into_iter().find(|members| members.contains(&name)) else { return false };
    let Type::Struct(of) = ty.get() else { return false };
    let is_set = |member: &&str| by.get(member).is_some_and(|value| !value.is_null());
    members.iter().any(is_set) && members.iter().all(|member| of.field(member).is_some())
}

/// The fields by which the entries of one list are told apart.
#[derive(Clone, Debug)]
pub(crate) enum Keys<'a> {
    /// The type's merge key.
    One(&'a Text),
    /// The keys of a keyed list that has no merge key of its own, with what absent ones count as.
    Declared(&'a [Key]),
    /// Those that the type recommends or the patch names; all but the first may be absent from an entry.
    Named(Vec<&'a str>),
}

impl<'a> Keys<'a> {
    pub(crate) fn len(&self) -> usize {
        match self {
            Keys::One(_) => 1,
            Keys::Declared(keys) => keys.len(),
            Keys::Named(names) => names.len(),
        }
    }

    pub(crate) fn name(&self, at: usize) -> &str {
        match self {
            Keys::One(name) => name,
            Keys::Declared(keys) => &keys[at].name,
            Keys::Named(names) => names[at],
        }
    }

    pub(crate) fn names(&self) -> impl Iterator<Item = &str> {
        (0..self.len()).map(|at| self.name(at))
    }

    /// Appends the values of the keys in an entry: scalars all, absent only where the keys allow it.
    pub(crate) fn read<'v>(
        &self,
        entry: &'v Object,
        values: &mut Vec<Option<&'v Value>>,
    ) -> Result<(), PatchError>
    where
        'a: 'v,
    {
        match self {
            Keys::One(name) => values.push(Some(present(entry, name)?)),
            Keys::Declared(keys) => {
                for key in keys.iter() {
                    values.push(Some(match (scalar(entry, &key.name)?, &key.default) {
                        (Some(value), _) => value,
                        (None, Some(default)) => default,
                        (None, None) => return Err(no_key(entry, &key.name)),
                    }));
                }
            }
            Keys::Named(names) => {
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

    /// Returns the keys of an entry as a map, for paths and messages.
    pub(crate) fn of(&self, entry: &Object) -> Object {
        if let Keys::One(name) = self
            && let Some(value) = entry.get(*name)
        {
            return Object::from_sorted([((*name).clone(), value.clone())]);
        }
        Object::from_unsorted(self.fields_of(entry).collect())
    }

    /// Walks the keys that an entry has, with their values.
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
            Err(Fault::KeyNotScalar { key: name.into(), value: value.clone() }.into())
        }
        value => Ok(value),
    }
}

#[cold]
fn no_key(entry: &Object, name: &str) -> PatchError {
    Fault::NoMergeKey { key: name.into(), entry: entry.clone().into() }.into()
}

/// How a list is patched.
#[derive(Clone, Debug)]
pub(crate) enum Plan<'s> {
    /// The patch's list takes the live list's place.
    Replace,
    /// Its items are a set of scalars.
    Set,
    /// Its entries are matched by key.
    Keyed(Keys<'s>),
}

/// What is done with a list that is no more than a keyed list or a set to its type: one without a patch
/// strategy, as in every custom resource.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum UnmarkedLists {
    /// It is replaced, as Kubernetes does for built-in kinds.
    #[default]
    Replace,
    /// It merges by its list keys, or as the set that it is.
    Merge,
}

impl<'s> Position<'s> {
    /// Returns how the list at this position is patched.
    pub(crate) fn plan(self, unmarked: UnmarkedLists) -> Plan<'s> {
        let topology = match self.ty.get() {
            Type::List(of) => Some(&of.topology),
            _ => None,
        };
        let by_topology = |otherwise| match topology {
            Some(ListTopology::Keyed(keys)) => Plan::Keyed(Keys::Declared(keys)),
            Some(ListTopology::Set) => Plan::Set,
            _ => otherwise,
        };
        match self.marks {
            Some(marks) if marks.strategy.merge => match &marks.merge_key {
                Some(key) => Plan::Keyed(Keys::One(key)),
                None => by_topology(Plan::Set),
            },
            Some(marks) if marks.strategy.replace => Plan::Replace,
            _ if unmarked == UnmarkedLists::Merge => by_topology(Plan::Replace),
            _ => Plan::Replace,
        }
    }

    /// Returns the keys that tell entries apart where the merge key alone cannot: those that the type
    /// recommends, or its list keys with the merge key first.
    pub(crate) fn recommended_keys(self) -> Option<Keys<'s>> {
        let marks = self.marks?;
        if marks.recommended_keys.len() > 1 || marks.merge_key.is_none() && !marks.recommended_keys.is_empty()
        {
            return Some(Keys::Named(marks.recommended_keys.iter().map(|key| key.as_str()).collect()));
        }
        let (Some(first), Type::List(list)) = (&marks.merge_key, self.ty.get()) else { return None };
        match &list.topology {
            ListTopology::Keyed(keys) if keys.len() > 1 && keys.iter().any(|key| key.name == *first) => {
                let others = keys.iter().map(|key| key.name.as_str()).filter(|name| *name != first.as_str());
                Some(Keys::Named(std::iter::once(first.as_str()).chain(others).collect()))
            }
            _ => None,
        }
    }

    /// Returns the key that `$patchMergeKey` has to begin with, if the type names one.
    pub(crate) fn default_key(self) -> Option<&'s str> {
        let marks = self.marks?;
        marks.merge_key.as_deref().or_else(|| marks.recommended_keys.first().map(|key| key.as_str()))
    }
}
