//! Whether a value fits its type.

use super::granularity::below;
use crate::error::{Mismatch, MismatchKind};
use tenure_fields::PathElement;
use tenure_schema::{Relation, Scalar, ScalarKind, Struct, Type, TypeRef, UnknownFields};
use tenure_value::Value;

/// Checks a value that is owned as a whole, and everything inside it.
pub(crate) fn check(value: &Value, ty: TypeRef<'_>) -> Result<(), Box<Mismatch>> {
    match (ty.get(), value) {
        (_, Value::Null) | (Type::Untyped, _) => Ok(()),
        (Type::Struct(structure), Value::Object(object)) => object.iter().try_for_each(|(name, value)| {
            let step = || PathElement::Field(name.clone());
            match structure.field(name) {
                Some(_) => check(value, below(ty, name)).map_err(|mismatch| mismatch.under(step())),
                None if structure.unknown == UnknownFields::Preserved => Ok(()),
                None => Err(Box::<Mismatch>::from(MismatchKind::UnknownField).under(step())),
            }
        }),
        (Type::Map(map), Value::Object(object)) => object.iter().try_for_each(|(name, value)| {
            check(value, ty.slot(&map.value))
                .map_err(|mismatch| mismatch.under(PathElement::Field(name.clone())))
        }),
        (Type::List(list), Value::Array(array)) => array.iter().enumerate().try_for_each(|(index, item)| {
            check(item, ty.slot(&list.item))
                .map_err(|mismatch| mismatch.under(PathElement::Index(index as i64)))
        }),
        (Type::Scalar(scalar), value) if fits(scalar, value) => Ok(()),
        (Type::Struct(structure), _) if is_raw(structure, ty) => Ok(()),
        (expected_type, value) => {
            Err(MismatchKind::WrongType { expected: expected(expected_type), found: value.kind() }.into())
        }
    }
}

/// Whether a struct stands for any JSON: the schema calls it an object, and the rules of the kind say what it must be.
fn is_raw(structure: &Struct, ty: TypeRef<'_>) -> bool {
    structure.fields.is_empty()
        && (structure.unknown, structure.relation) == (UnknownFields::Preserved, Relation::Atomic)
        && ty.name().is_some_and(|name| name.ends_with(".RawExtension"))
}

/// Whether a value fits a scalar field, as far as Kubernetes looks when it compares fields: decoding and validation check
/// fractions, formats and types with more than one form later.
fn fits(scalar: &Scalar, value: &Value) -> bool {
    match scalar.kind {
        ScalarKind::Boolean => matches!(value, Value::Bool(_)),
        ScalarKind::Integer | ScalarKind::Number => {
            matches!(value, Value::Int(_) | Value::UInt(_) | Value::Float(_))
        }
        ScalarKind::String if matches!(scalar.format.as_str(), "" | "byte") => {
            matches!(value, Value::String(_))
        }
        ScalarKind::String | ScalarKind::Quantity => value.is_scalar(),
        ScalarKind::IntOrString => true,
    }
}

fn expected(ty: &Type) -> &'static str {
    match ty {
        Type::Struct(_) | Type::Map(_) => "an object",
        Type::List(_) => "a list",
        Type::Scalar(ty) => match ty.kind {
            ScalarKind::Boolean => "a boolean",
            ScalarKind::Integer => "an integer",
            ScalarKind::Number => "a number",
            ScalarKind::String => "a string",
            ScalarKind::IntOrString => "an integer or a string",
            ScalarKind::Quantity => "a quantity, as a string or a number",
        },
        Type::Untyped => "anything",
    }
}
