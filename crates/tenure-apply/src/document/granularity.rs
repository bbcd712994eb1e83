//! How a type treats a value: as parts with owners of their own, or as one. Every walk of this crate
//! branches on [`Granularity`]; for untyped values the value itself decides.

use tenure_schema::{ListTopology, Relation, Type, TypeRef};
use tenure_value::Value;

/// The topology that governs a place of a document.
#[derive(Clone, Copy)]
pub(crate) enum Granularity<'s> {
    /// Fields or entries with owners of their own.
    Granular,
    /// Items with owners of their own.
    Items(&'s ListTopology, TypeRef<'s>),
    /// One value, owned and replaced as a whole.
    Leaf,
    /// Objects are granular, everything else is a leaf.
    Deduced,
}

/// Returns how a type treats its values.
pub(crate) fn granularity(ty: TypeRef<'_>) -> Granularity<'_> {
    match ty.get() {
        Type::Struct(structure) if structure.relation == Relation::Granular => Granularity::Granular,
        Type::Map(map) if map.relation == Relation::Granular => Granularity::Granular,
        Type::List(list) if list.topology != ListTopology::Atomic => {
            Granularity::Items(&list.topology, ty.slot(&list.item))
        }
        Type::Untyped => Granularity::Deduced,
        Type::Struct(_) | Type::Map(_) | Type::List(_) | Type::Scalar(_) => Granularity::Leaf,
    }
}

/// Returns the type below a name; what a type does not name is untyped.
pub(crate) fn below<'s>(ty: TypeRef<'s>, name: &str) -> TypeRef<'s> {
    ty.below(name).unwrap_or_else(TypeRef::untyped)
}

/// Whether the type declares this field. Owning a part of a declared field does not imply owning the field.
pub(crate) fn names(ty: TypeRef<'_>, name: &str) -> bool {
    ty.field(name).is_some()
}

/// Whether the value has no parts: `null`, `{}` and `[]`.
pub(crate) fn is_bare(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::Object(object) => object.is_empty(),
        Value::Array(array) => array.is_empty(),
        _ => false,
    }
}

/// Whether this is the zero value of its type: `null`, zero, `false` or empty.
pub(crate) fn is_zero(value: &Value) -> bool {
    match value {
        Value::Bool(flag) => !flag,
        Value::Int(number) => *number == 0,
        Value::UInt(_) => false,
        Value::Float(number) => number.get() == 0.0,
        Value::String(text) => text.is_empty(),
        other => is_bare(other),
    }
}
