//! The table of types. A type is looked at by reference and lives as long as its schema; one that comes
//! from a pack is decoded when first looked at, which is why every type sits in a cell of its own.

use crate::{SchemaError, Type, TypeId, TypeRef, pack::Pack};
use std::{borrow::Cow, cmp::Ordering, collections::BTreeMap, sync::OnceLock};
use tenure_value::Text;

/// A compiled set of types.
#[derive(Debug)]
pub struct Schema {
    types: Box<[OnceLock<Type>]>,
    names: OnceLock<Index>,
    kinds: OnceLock<Index>,
    /// Where types and indexes come from that are not in their cells yet.
    pack: Option<Pack>,
}

/// Names and what they stand for, sorted by name.
type Index = Box<[(Text, TypeId)]>;

impl Schema {
    /// Returns the types of the built-in kinds of Kubernetes.
    ///
    /// ```
    /// use tenure_schema::Schema;
    ///
    /// let deployment = Schema::builtin().kind("apps/v1", "Deployment").unwrap();
    /// assert!(deployment.field("spec").is_some());
    /// ```
    #[cfg(feature = "builtin")]
    pub fn builtin() -> &'static Schema {
        crate::builtin::schema()
    }

    /// Reads a pack that [`Schema::to_pack`] wrote, and checks all of it.
    pub fn from_pack(bytes: impl Into<Cow<'static, [u8]>>) -> Result<Schema, SchemaError> {
        let pack = Pack::open(bytes.into())?;
        pack.check()?;
        Ok(Schema::over(pack))
    }

    /// Writes the schema as a pack: the same types give the same bytes.
    pub fn to_pack(&self) -> Vec<u8> {
        crate::pack::write(self)
    }

    /// Puts empty cells before a pack whose content is known to be sound.
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

    /// Walks the kinds, as `"group/version Kind"`, in order.
    pub fn kinds(&self) -> impl Iterator<Item = (&Text, TypeRef<'_>)> {
        self.kind_index().iter().map(|(name, id)| (name, self.at(*id)))
    }

    /// Walks the named types in order.
    pub fn names(&self) -> impl Iterator<Item = (&Text, TypeRef<'_>)> {
        self.name_index().iter().map(|(name, id)| (name, self.at(*id)))
    }

    /// Walks all types, named or not, in the order of their numbers.
    pub fn types(&self) -> impl ExactSizeIterator<Item = TypeRef<'_>> {
        (0..self.types.len() as u32).map(|number| self.at(TypeId(number)))
    }

    /// Returns the name of a type's definition, if it has one; a search, meant for messages.
    pub fn name_of(&self, id: TypeId) -> Option<&Text> {
        self.name_index().iter().find(|(_, named)| *named == id).map(|(name, _)| name)
    }

    pub(crate) fn get(&self, id: TypeId) -> &Type {
        match self.types.get(id.0 as usize) {
            Some(cell) => cell.get_or_init(|| self.decode(id)),
            None => &Type::Untyped,
        }
    }

    /// Decodes a type of the pack. A pack is checked before it gets here, so nothing is lost by the
    /// answer for one that cannot be decoded.
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

/// Collects types into a [`Schema`]; a number may be reserved before its type is known, for recursion.
#[derive(Debug, Default)]
pub struct SchemaBuilder {
    types: Vec<Type>,
    names: BTreeMap<Text, TypeId>,
    kinds: BTreeMap<Text, TypeId>,
}

impl SchemaBuilder {
    /// Reserves a number; the type is untyped until it is set.
    pub fn reserve(&mut self) -> TypeId {
        self.types.push(Type::Untyped);
        TypeId(self.types.len() as u32 - 1)
    }

    /// Sets the type of a reserved number.
    pub fn set(&mut self, id: TypeId, of: Type) {
        self.types[id.0 as usize] = of;
    }

    /// Adds a type.
    pub fn add(&mut self, of: Type) -> TypeId {
        let id = self.reserve();
        self.set(id, of);
        id
    }

    /// Returns the type of a number as set so far.
    pub fn get(&self, id: TypeId) -> &Type {
        &self.types[id.0 as usize]
    }

    /// Gives a type its name.
    pub fn name(&mut self, name: impl Into<Text>, id: TypeId) {
        self.names.insert(name.into(), id);
    }

    /// Makes a type that of a kind.
    pub fn kind(&mut self, api_version: &str, kind: &str, id: TypeId) {
        self.kinds.insert(format!("{api_version} {kind}").into(), id);
    }

    /// Copies a type of another schema, and all that it refers to, and returns its number here.
    pub fn import(&mut self, of: TypeRef<'_>) -> TypeId {
        let mut copied = BTreeMap::new();
        let mut waiting = Vec::new();
        let root = self.import_one(of, &mut copied, &mut waiting);
        while let Some((id, of)) = waiting.pop() {
            let mut copy = of.get().clone();
            copy.for_each_slot(|slot| slot.of = self.import_one(of.slot(slot), &mut copied, &mut waiting));
            self.set(id, copy);
        }
        root
    }

    fn import_one<'s>(
        &mut self,
        of: TypeRef<'s>,
        copied: &mut BTreeMap<TypeId, TypeId>,
        waiting: &mut Vec<(TypeId, TypeRef<'s>)>,
    ) -> TypeId {
        *copied.entry(of.id()).or_insert_with(|| {
            let id = self.reserve();
            if let Some(name) = of.name() {
                self.name(name.clone(), id);
            }
            waiting.push((id, of));
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
    fn kinds_are_compared_as_if_their_parts_were_joined() {
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
