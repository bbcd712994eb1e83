//! The check that both diff and apply make on lists of scalars.

use crate::{ErrorKind, PatchError};
use std::mem::discriminant;
use tenure_value::{Array, Value};

/// Checks that the items of both lists are scalars of one kind.
pub(crate) fn check_scalars(live: &[Value], patch: &[Value]) -> Result<(), PatchError> {
    let Some(first) = live.first().or(patch.first()) else { return Ok(()) };
    let mixed =
        || ErrorKind::MixedItems { live: Array::from(live.to_vec()), patch: Array::from(patch.to_vec()) };
    let is_alike = |item: &Value| discriminant(item) == discriminant(first);
    match first {
        _ if !live.iter().chain(patch).all(is_alike) => Err(mixed().into()),
        Value::Null => Err(mixed().into()),
        Value::Array(_) => Err(ErrorKind::ListOfLists { item: first.clone() }.into()),
        Value::Object(_) => Err(ErrorKind::ListWithoutKey { entry: first.clone() }.into()),
        _ => Ok(()),
    }
}
