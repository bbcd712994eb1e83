//! The metadata of a field: its type, and whether and by which keys a list there merges. Both applying and
//! calculating use it, so that they always agree.

use super::{UnmarkedLists, merge_keys::MergeKeys};
use crate::{ErrorKind, PatchError};
use tenure_profile::{Improvement, Profile};
use tenure_schema::{ListTopology, PatchMarks, Type, TypeRef, UnknownFields};
use tenure_value::{Object, Value};

/// A field as strategic merge patch sees it.
#[derive(Clone, Copy)]
pub(crate) struct PatchMeta<'s> {
    pub(crate) ty: TypeRef<'s>,
    pub(crate) marks: Option<&'s PatchMarks>,
}

/// How a list is patched.
#[derive(Clone, Debug)]
pub(crate) enum ListStrategy<'s> {
    /// The list of the patch replaces the live list.
    Replace,
    /// The items are a set of scalars.
    Set,
    /// The entries are matched by key.
    Keyed(MergeKeys<'s>),
}

/// Returns the metadata of the field into which a patch merges a map or a list. `value` is the patch's value, for the
/// error if the type has no such field.
pub(crate) fn lookup<'s>(ty: TypeRef<'s>, name: &str, value: &Value) -> Result<PatchMeta<'s>, PatchError> {
    let unmarked = |ty| Ok(PatchMeta { ty, marks: None });
    match ty.get() {
        Type::Struct(structure) => match structure.field(name) {
            Some(field) => return Ok(PatchMeta { ty: ty.slot(&field.slot), marks: Some(&field.patch) }),
            None if structure.unknown == UnknownFields::Preserved && !is_raw(ty) => {
                return unmarked(TypeRef::untyped());
            }
            None => {}
        },
        Type::Map(map) => {
            let below = ty.slot(&map.value);
            if !matches!(below.get(), Type::Scalar(_)) {
                return unmarked(below);
            }
        }
        Type::Untyped => return unmarked(TypeRef::untyped()),
        Type::List(_) | Type::Scalar(_) => {}
    }
    Err(ErrorKind::UnknownField { field: name.into(), value: value.clone() }.into())
}

/// Whether a type holds an object of any kind. Its fields are known to no patch, which can set and remove them.
fn is_raw(ty: TypeRef<'_>) -> bool {
    ty.name().is_some_and(|name| name.ends_with(".RawExtension"))
}

/// Returns the type of a field, untyped if the type does not know it.
pub(crate) fn field_type<'s>(ty: TypeRef<'s>, name: &str) -> TypeRef<'s> {
    ty.below(name).unwrap_or(TypeRef::untyped())
}

/// Returns the type of a list's items, untyped if the type does not know it.
pub(crate) fn item_type(ty: TypeRef<'_>) -> TypeRef<'_> {
    ty.item().unwrap_or(TypeRef::untyped())
}

/// Fields of which an object has at most one, for types that have all fields of a row.
const UNIONS: [&[&str]; 1] = [&["value", "valueFrom"]];

/// Whether a live field must be removed because another member of its union is set.
pub(crate) fn is_excluded(name: &str, by: &Object, ty: TypeRef<'_>) -> bool {
    let Some(members) = UNIONS.into_iter().find(|members| members.contains(&name)) else { return false };
    let Type::Struct(structure) = ty.get() else { return false };
    let is_set = |member: &&str| by.get(member).is_some_and(|value| !value.is_null());
    members.iter().any(is_set) && members.iter().all(|member| structure.field(member).is_some())
}

impl<'s> PatchMeta<'s> {
    /// Whether a map is replaced instead of merged.
    pub(crate) fn replaces(self) -> bool {
        self.marks.is_some_and(|marks| marks.strategy.replace)
    }

    /// Whether calculated patches carry `$retainKeys` in this map, or in the entries of this list.
    pub(crate) fn retains_keys(self) -> bool {
        self.marks.is_some_and(|marks| marks.strategy.retain_keys)
    }

    /// Returns how a list here is patched.
    pub(crate) fn list_strategy(self, unmarked: UnmarkedLists, profile: Profile) -> ListStrategy<'s> {
        let topology = match self.ty.get() {
            Type::List(list) => Some(&list.topology),
            _ => None,
        };
        let by_topology = |otherwise| match topology {
            Some(ListTopology::Keyed(keys)) => ListStrategy::Keyed(MergeKeys::Declared(keys)),
            Some(ListTopology::Set) => ListStrategy::Set,
            _ => otherwise,
        };
        match self.marks {
            Some(marks) if marks.strategy.merge => match &marks.merge_key {
                Some(name) => {
                    let nullable = !profile.has(Improvement::RejectNullMergeKeys);
                    ListStrategy::Keyed(MergeKeys::One { name, nullable })
                }
                None => by_topology(ListStrategy::Set),
            },
            Some(marks) if marks.strategy.replace => ListStrategy::Replace,
            _ if unmarked == UnmarkedLists::Merge => by_topology(ListStrategy::Replace),
            _ => ListStrategy::Replace,
        }
    }

    /// Returns the keys that distinguish entries where the merge key alone does not: those that the type recommends,
    /// or its list keys with the merge key first.
    pub(crate) fn recommended_keys(self) -> Option<MergeKeys<'s>> {
        let marks = self.marks?;
        if marks.recommended_keys.len() > 1 || marks.merge_key.is_none() && !marks.recommended_keys.is_empty()
        {
            return Some(MergeKeys::Named(marks.recommended_keys.iter().map(|key| key.as_str()).collect()));
        }
        let (Some(first), Type::List(list)) = (&marks.merge_key, self.ty.get()) else { return None };
        match &list.topology {
            ListTopology::Keyed(keys) if keys.len() > 1 && keys.iter().any(|key| key.name == *first) => {
                let others = keys.iter().map(|key| key.name.as_str()).filter(|name| *name != first.as_str());
                Some(MergeKeys::Named(std::iter::once(first.as_str()).chain(others).collect()))
            }
            _ => None,
        }
    }

    /// Returns the key that `$patchMergeKey` must contain, if the type has one.
    pub(crate) fn default_key(self) -> Option<&'s str> {
        let marks = self.marks?;
        marks.merge_key.as_deref().or_else(|| marks.recommended_keys.first().map(|key| key.as_str()))
    }
}
