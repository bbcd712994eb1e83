//! A handle for traversing a document with its type: two words, copied at every step down.

use super::Schema;
use crate::topology::{Field, Slot, Type, TypeId, UnknownFields};
use tenure_value::Text;

/// A type within its schema.
#[derive(Clone, Copy)]
pub struct TypeRef<'s> {
    schema: Option<&'s Schema>,
    id: TypeId,
}

const UNTYPED: TypeId = TypeId(u32::MAX);

impl<'s> TypeRef<'s> {
    #[inline]
    pub(crate) fn new(schema: &'s Schema, id: TypeId) -> TypeRef<'s> {
        TypeRef { schema: Some(schema), id }
    }

    /// Returns the handle of a value of unknown type.
    #[inline]
    pub fn untyped() -> TypeRef<'s> {
        TypeRef { schema: None, id: UNTYPED }
    }

    /// Returns the type.
    #[inline]
    pub fn get(self) -> &'s Type {
        self.schema.map_or(&Type::Untyped, |schema| schema.get(self.id))
    }

    /// Returns the id of the type, by which two handles of a schema are compared.
    #[inline]
    pub fn id(self) -> TypeId {
        self.id
    }

    /// Returns the schema of this type; `None` for [`TypeRef::untyped`].
    #[inline]
    pub fn schema(self) -> Option<&'s Schema> {
        self.schema
    }

    /// Returns the name of the definition of the type, if it has one. This is a linear search, meant for
    /// messages.
    pub fn name(self) -> Option<&'s Text> {
        self.schema.and_then(|schema| schema.name_of(self.id))
    }

    /// Returns the type of a slot of this type.
    #[inline]
    pub fn slot(self, slot: &Slot) -> TypeRef<'s> {
        TypeRef { schema: self.schema, id: slot.type_id }
    }

    /// Returns the declared field of that name, if this is a struct that has it.
    #[inline]
    pub fn field(self, name: &str) -> Option<&'s Field> {
        match self.get() {
            Type::Struct(structure) => structure.field(name),
            _ => None,
        }
    }

    /// Iterates over the declared fields with their types in order; empty unless this is a struct.
    pub fn fields(self) -> impl ExactSizeIterator<Item = (&'s Field, TypeRef<'s>)> {
        let fields: &'s [Field] = match self.get() {
            Type::Struct(structure) => &structure.fields,
            _ => &[],
        };
        fields.iter().map(move |field| (field, self.slot(&field.slot)))
    }

    /// Returns the type of a field of a struct or of a map value; untyped if unknown fields are preserved or
    /// the type is unknown; `None` if the type has no such field.
    #[inline]
    pub fn below(self, name: &str) -> Option<TypeRef<'s>> {
        match self.get() {
            Type::Struct(structure) => match structure.field(name) {
                Some(field) => Some(self.slot(&field.slot)),
                None if structure.unknown == UnknownFields::Preserved => Some(TypeRef::untyped()),
                None => None,
            },
            Type::Map(map) => Some(self.slot(&map.value)),
            Type::Untyped => Some(TypeRef::untyped()),
            Type::List(_) | Type::Scalar(_) => None,
        }
    }

    /// Returns the type of the items of a list; untyped if the type is unknown.
    #[inline]
    pub fn item(self) -> Option<TypeRef<'s>> {
        match self.get() {
            Type::List(list) => Some(self.slot(&list.item)),
            Type::Untyped => Some(TypeRef::untyped()),
            _ => None,
        }
    }
}

impl std::fmt::Debug for TypeRef<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.name() {
            Some(name) => f.write_str(name),
            None => write!(f, "#{} {:?}", self.id.0, self.get()),
        }
    }
}
