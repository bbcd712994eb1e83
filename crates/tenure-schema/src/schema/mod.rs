//! The table of types. Types are accessed by reference and live as long as their schema; a type of a pack is
//! decoded on first access, so every type has its own cell.

mod delta_writer;
mod pack_writer;
mod type_ref;

pub use type_ref::TypeRef;

use crate::{
    error::SchemaError,
    pack::Pack,
    topology::{Type, TypeId},
};
use std::{borrow::Cow, cmp::Ordering, collections::BTreeMap, sync::OnceLock};
use tenure_value::Text;

/// A compiled set of types.
#[derive(Debug)]
pub struct Schema {
    types: Box<[OnceLock<Type>]>,
    names: OnceLock<Index>,
    kinds: OnceLock<Index>,
    /// The source of types and indexes that are not decoded yet.
    pack: Option<Pack>,
}

/// Names with their types, sorted by name.
type Index = Box<[(Text, TypeId)]>;

impl Schema {
    /// Decodes a pack created by [`Schema::to_pack`], and checks all of it.
    pub fn from_pack(bytes: impl Into<Cow<'static, [u8]>>) -> Result<Schema, SchemaError> {
        let pack = Pack::open(bytes.into())?;
        pack.check()?;
        Ok(Schema::over(pack))
    }

    /// Decodes a pack and the delta that [`Schema::to_delta`] created over its schema, and checks all of it.
    pub fn from_delta(
        base: impl Into<Cow<'static, [u8]>>,
        delta: impl Into<Cow<'static, [u8]>>,
    ) -> Result<Schema, SchemaError> {
        let pack = Pack::open_delta(delta.into(), Pack::open(base.into())?)?;
        pack.check()?;
        Ok(Schema::over(pack))
    }

    /// Creates a schema over a pack that is known to be valid.
    pub(crate) fn over(pack: Pack) -> Schema {
        Schema {
            types: (0..pack.type_count()).map(|_| OnceLock::new()).collect(),
            names: OnceLock::new(),
            kinds: OnceLock::new(),
            pack: Some(pack),
        }
    }

    /// Returns the type of a kind, by apiVersion (`apps/v1`, `v1`) and kind.
    pub fn kind(&self, api_version: &str, kind: &str) -> Option<TypeRef<'_>> {
        self.find(self.kind_index(), |name| compare_kind(name.as_bytes(), api_version.as_bytes(), kind))
    }

    /// Returns a type by the name of its definition.
    pub fn named(&self, name: &str) -> Option<TypeRef<'_>> {
        self.find(self.name_index(), |candidate| candidate.cmp(name))
    }

    /// Returns the handle of a type.
    pub fn at(&self, id: TypeId) -> TypeRef<'_> {
        TypeRef::new(self, id)
    }

    /// Iterates over the kinds in order, as `"group/version Kind"`.
    pub fn kinds(&self) -> impl Iterator<Item = (&Text, TypeRef<'_>)> {
        self.kind_index().iter().map(|(name, id)| (name, self.at(*id)))
    }

    /// Iterates over the named types in order.
    pub fn names(&self) -> impl Iterator<Item = (&Text, TypeRef<'_>)> {
        self.name_index().iter().map(|(name, id)| (name, self.at(*id)))
    }

    /// Iterates over all types, named or not, in the order of their ids.
    pub fn types(&self) -> impl ExactSizeIterator<Item = TypeRef<'_>> {
        (0..self.types.len() as u32).map(|number| self.at(TypeId(number)))
    }

    /// Returns the name of the definition of a type, if it has one. This is a linear search, meant for
    /// messages.
    pub fn name_of(&self, id: TypeId) -> Option<&Text> {
        self.name_index().iter().find(|(_, named)| *named == id).map(|(name, _)| name)
    }

    #[inline]
    pub(crate) fn get(&self, id: TypeId) -> &Type {
        match self.types.get(id.0 as usize) {
            Some(cell) => cell.get_or_init(|| self.decode(id)),
            None => &Type::Untyped,
        }
    }

    /// Decodes a type of the pack. Packs are checked before, so the fallback is never used.
    #[cold]
    fn decode(&self, id: TypeId) -> Type {
        self.pack.as_ref().and_then(|pack| pack.decode(id).ok()).unwrap_or(Type::Untyped)
    }

    fn name_index(&self) -> &Index {
        self.names.get_or_init(|| self.pack.as_ref().map(Pack::names).unwrap_or_default())
    }

    fn kind_index(&self) -> &Index {
        self.kinds.get_or_init(|| self.pack.as_ref().map(Pack::kinds).unwrap_or_default())
    }

    fn find(&self, index: &Index, order: impl Fn(&str) -> Ordering) -> Option<TypeRef<'_>> {
        let at = index.binary_search_by(|(name, _)| order(name)).ok()?;
        Some(self.at(index[at].1))
    }
}

/// Compares `"group/version Kind"` with its parts, without joining them.
fn compare_kind(name: &[u8], api_version: &[u8], kind: &str) -> Ordering {
    let (start, rest) = name.split_at(name.len().min(api_version.len()));
    start.cmp(api_version).then_with(|| match rest.split_first() {
        Some((separator, rest)) => separator.cmp(&b' ').then_with(|| rest.cmp(kind.as_bytes())),
        None => Ordering::Less,
    })
}

/// Builds a [`Schema`]; an id can be reserved before its type is known, for recursive types.
#[derive(Debug, Default)]
pub struct SchemaBuilder {
    types: Vec<Type>,
    names: BTreeMap<Text, TypeId>,
    kinds: BTreeMap<Text, TypeId>,
}

impl SchemaBuilder {
    /// Reserves an id; its type is untyped until it is set.
    pub fn reserve(&mut self) -> TypeId {
        self.types.push(Type::Untyped);
        TypeId(self.types.len() as u32 - 1)
    }

    /// Sets the type of a reserved id.
    pub fn set(&mut self, id: TypeId, ty: Type) {
        self.types[id.0 as usize] = ty;
    }

    /// Adds a type.
    pub fn add(&mut self, ty: Type) -> TypeId {
        let id = self.reserve();
        self.set(id, ty);
        id
    }

    /// Returns the type of an id as set so far.
    pub fn get(&self, id: TypeId) -> &Type {
        &self.types[id.0 as usize]
    }

    /// Sets the name of a type.
    pub fn name(&mut self, name: impl Into<Text>, id: TypeId) {
        self.names.insert(name.into(), id);
    }

    /// Registers a type as the type of a kind.
    pub fn kind(&mut self, api_version: &str, kind: &str, id: TypeId) {
        self.kinds.insert(format!("{api_version} {kind}").into(), id);
    }

    /// Copies a type of another schema with all types that it refers to, and returns its id here.
    pub fn import(&mut self, ty: TypeRef<'_>) -> TypeId {
        let mut copied = BTreeMap::new();
        let mut waiting = Vec::new();
        let root = self.import_one(ty, &mut copied, &mut waiting);
        while let Some((id, ty)) = waiting.pop() {
            let mut copy = ty.get().clone();
            copy.for_each_slot(|slot| {
                slot.type_id = self.import_one(ty.slot(slot), &mut copied, &mut waiting)
            });
            self.set(id, copy);
        }
        root
    }

    fn import_one<'s>(
        &mut self,
        ty: TypeRef<'s>,
        copied: &mut BTreeMap<TypeId, TypeId>,
        waiting: &mut Vec<(TypeId, TypeRef<'s>)>,
    ) -> TypeId {
        *copied.entry(ty.id()).or_insert_with(|| {
            let id = self.reserve();
            if let Some(name) = ty.name() {
                self.name(name.clone(), id);
            }
            waiting.push((id, ty));
            id
        })
    }

    /// Returns the schema.
    pub fn finish(self) -> Schema {
        Schema {
            types: self.types.into_iter().map(OnceLock::from).collect(),
            names: OnceLock::from(self.names.into_iter().collect::<Index>()),
            kinds: OnceLock::from(self.kinds.into_iter().collect::<Index>()),
            pack: None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_compare_like_their_joined_names() {
        let parts = ["", "a", "ab", "b", "a b", " ", "v1", "apps/v1"];
        for (api_version, kind) in parts.iter().flat_map(|a| parts.map(|b| (*a, b))) {
            let joined = format!("{api_version} {kind}");
            for name in parts.iter().flat_map(|a| parts.map(|b| format!("{a} {b}"))).chain(["a".into()]) {
                let found = compare_kind(name.as_bytes(), api_version.as_bytes(), kind);
                assert_eq!(found, name.as_bytes().cmp(joined.as_bytes()), "{name:?} and {joined:?}");
            }
        }
    }
}
