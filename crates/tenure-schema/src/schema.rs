//! The table of types and the handle to walk it. A type is looked at by reference and lives as long as
//! its schema; kinds are found by `"group/version Kind"`.

use crate::{Field, Slot, Type, TypeId, UnknownFields};
use std::collections::BTreeMap;
use tenure_value::Text;

/// A compiled set of types.
#[derive(Debug)]
pub struct Schema {
    types: Vec<Type>,
    names: BTreeMap<Text, TypeId>,
    kinds: BTreeMap<Text, TypeId>,
}

/// A type within its schema.
#[derive(Clone, Copy)]
pub struct TypeRef<'s> {
    schema: Option<&'s Schema>,
    id: TypeId,
}

const UNTYPED: TypeId = TypeId(u32::MAX);

impl Schema {
    /// Returns the type of a kind, by apiVersion (`apps/v1`, `v1`) and kind.
    pub fn kind(&self, api_version: &str, kind: &str) -> Option<TypeRef<'_>> {
        self.kinds.get(format!("{api_version} {kind}").as_str()).map(|id| self.at(*id))
    }

    /// Returns a type by the name of its definition.
    pub fn named(&self, name: &str) -> Option<TypeRef<'_>> {
        self.names.get(name).map(|id| self.at(*id))
    }

    /// Returns the handle of a type.
    pub fn at(&self, id: TypeId) -> TypeRef<'_> {
        TypeRef { schema: Some(self), id }
    }

    /// Walks the kinds, as `"group/version Kind"`, in order.
    pub fn kinds(&self) -> impl Iterator<Item = (&Text, TypeRef<'_>)> {
        self.kinds.iter().map(|(name, id)| (name, self.at(*id)))
    }

    /// Walks the named types in order.
    pub fn names(&self) -> impl Iterator<Item = (&Text, TypeRef<'_>)> {
        self.names.iter().map(|(name, id)| (name, self.at(*id)))
    }
}

impl<'s> TypeRef<'s> {
    /// Returns the handle of a value about which nothing is known.
    pub fn untyped() -> TypeRef<'s> {
        TypeRef { schema: None, id: UNTYPED }
    }

    /// Returns the type.
    pub fn get(self) -> &'s Type {
        match self.schema {
            Some(schema) if self.id != UNTYPED => &schema.types[self.id.0 as usize],
            _ => &Type::Untyped,
        }
    }

    /// Returns the number of the type, by which two handles of one schema are compared.
    pub fn id(self) -> TypeId {
        self.id
    }

    /// Returns the type of what stands at a position of this type.
    pub fn slot(self, slot: &Slot) -> TypeRef<'s> {
        TypeRef { schema: self.schema, id: slot.of }
    }

    /// Returns the declared field of that name, if this is a struct that has it.
    pub fn field(self, name: &str) -> Option<&'s Field> {
        match self.get() {
            Type::Struct(of) => of.field(name),
            _ => None,
        }
    }

    /// Returns the type below a name: a struct's field, a map's value; untyped where unknown fields are
    /// kept or nothing is known; nothing where the name is foreign to this type.
    pub fn below(self, name: &str) -> Option<TypeRef<'s>> {
        match self.get() {
            Type::Struct(of) => match of.field(name) {
                Some(field) => Some(self.slot(&field.slot)),
                None if of.unknown == UnknownFields::Preserved => Some(TypeRef::untyped()),
                None => None,
            },
            Type::Map(of) => Some(self.slot(&of.value)),
            Type::Untyped => Some(TypeRef::untyped()),
            Type::List(_) | Type::Scalar(_) => None,
        }
    }

    /// Returns the type of a list's items; untyped where nothing is known.
    pub fn item(self) -> Option<TypeRef<'s>> {
        match self.get() {
            Type::List(of) => Some(self.slot(&of.item)),
            Type::Untyped => Some(TypeRef::untyped()),
            _ => None,
        }
    }
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

    /// Gives a type its name.
    pub fn name(&mut self, name: impl Into<Text>, id: TypeId) {
        self.names.insert(name.into(), id);
    }

    /// Makes a type that of a kind.
    pub fn kind(&mut self, api_version: &str, kind: &str, id: TypeId) {
        self.kinds.insert(format!("{api_version} {kind}").into(), id);
    }

    /// Returns the schema.
    pub fn finish(self) -> Schema {
        Schema { types: self.types, names: self.names, kinds: self.kinds }
    }
}
