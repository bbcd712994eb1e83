//! The default of a field, as its type declares it.

use tenure_fields::{Path, PathElement};
use tenure_schema::{Slot, Type, TypeRef};
use tenure_value::Value;

/// Returns the default of the field at a path.
pub(crate) fn default_at<'s>(path: &Path, ty: TypeRef<'s>) -> Option<&'s Value> {
    slot_at(path, ty)?.default.as_ref()
}

fn slot_at<'s>(path: &Path, ty: TypeRef<'s>) -> Option<&'s Slot> {
    let (last, parents) = path.split_last()?;
    let mut current = ty;
    for element in parents {
        current = match element {
            PathElement::Field(name) => current.below(name)?,
            _ => current.item()?,
        };
    }
    match (current.get(), last) {
        (Type::Struct(structure), PathElement::Field(name)) => structure.field(name).map(|field| &field.slot),
        (Type::Map(map), _) => Some(&map.value),
        (Type::List(list), _) => Some(&list.item),
        _ => None,
    }
}
