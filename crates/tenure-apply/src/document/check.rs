//! Whether a value fits its type.

use super::{granularity::below, items};
use crate::error::{Mismatch, MismatchKind};
use std::collections::BTreeMap;
use tenure_fields::PathElement;
use tenure_schema::{ListTopology, Relation, Scalar, ScalarKind, Struct, Type, TypeRef, UnknownFields};
use tenure_value::Value;

/// Checks a value that is owned as a whole, and everything inside it.
pub(crate) fn check(value: &Value, ty: TypeRef<'_>) -> Result<(), Box<Mismatch>> {
    Check { items: Items::Any }.value(value, ty)
}

/// Checks a value of a configuration that is owned as a whole: the items of lists with keys inside of it are distinct, too.
pub(crate) fn check_declared(value: &Value, ty: TypeRef<'_>) -> Result<(), Box<Mismatch>> {
    Check { items: Items::Distinct }.value(value, ty)
}

/// What the items of a list with keys, or of a set, must be.
#[derive(Clone, Copy, PartialEq)]
enum Items {
    Any,
    Distinct,
}

struct Check {
    items: Items,
}

impl Check {
    fn value(&self, value: &Value, ty: TypeRef<'_>) -> Result<(), Box<Mismatch>> {
        match (ty.get(), value) {
            (_, Value::Null) | (Type::Untyped, _) => Ok(()),
            (Type::Struct(structure), Value::Object(object)) => {
                object.iter().try_for_each(|(name, value)| {
                    let step = || PathElement::Field(name.clone());
                    match structure.field(name) {
                        Some(_) => {
                            self.value(value, below(ty, name)).map_err(|mismatch| mismatch.under(step()))
                        }
                        None if structure.unknown == UnknownFields::Preserved => Ok(()),
                        None => Err(Box::<Mismatch>::from(MismatchKind::UnknownField).under(step())),
                    }
                })
            }
            (Type::Map(map), Value::Object(object)) => object.iter().try_for_each(|(name, value)| {
                self.value(value, ty.slot(&map.value))
                    .map_err(|mismatch| mismatch.under(PathElement::Field(name.clone())))
            }),
            (Type::List(list), Value::Array(array)) => {
                if self.items == Items::Distinct && list.topology != ListTopology::Atomic {
                    check_distinct(array, &list.topology)?;
                }
                array.iter().enumerate().try_for_each(|(index, item)| {
                    self.value(item, ty.slot(&list.item))
                        .map_err(|mismatch| mismatch.under(PathElement::Index(index as i64)))
                })
            }
            (Type::Scalar(scalar), value) if fits(scalar, value) => Ok(()),
            (Type::Struct(structure), _) if is_raw(structure, ty) => Ok(()),
            (expected_type, value) => {
                Err(MismatchKind::WrongType { expected: expected(expected_type), found: value.kind() }.into())
            }
        }
    }
}

/// Checks that the items of a list have keys, and that no two have the same.
fn check_distinct(array: &[Value], topology: &ListTopology) -> Result<(), Box<Mismatch>> {
    let mut seen = BTreeMap::new();
    for (second, item) in array.iter().enumerate() {
        let element = items::element(item, topology, second).map_err(Box::<Mismatch>::from)?;
        if let Some(first) = seen.insert(element.clone(), second) {
            return Err(MismatchKind::Duplicate { element, first, second }.into());
        }
    }
    Ok(())
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
