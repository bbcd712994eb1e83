//! The fields in which two states of an object differ.

use crate::path::{is_last_applied, is_server_maintained};
use std::cmp::Ordering;
use tenure_apply::{Managers, ownership};
use tenure_fields::Path;
use tenure_schema::TypeRef;
use tenure_value::Value;

/// A field whose value changes.
#[derive(Clone, Debug, PartialEq)]
pub struct Difference {
    /// The field.
    pub path: Path,
    /// The value before; `None` if the field is added.
    pub before: Option<Value>,
    /// The value after; `None` if the field is removed.
    pub after: Option<Value>,
}

/// Returns every leaf that differs between two states of an object, in the order of the paths. Fields that the server
/// maintains and the annotation of client-side apply are left out.
pub fn differences(before: Option<&Value>, after: &Value, ty: TypeRef<'_>) -> Vec<Difference> {
    let mut before = before.map(|before| leaves(before, ty)).unwrap_or_default().into_iter().peekable();
    let mut after = leaves(after, ty).into_iter().peekable();
    let mut found = Vec::new();
    loop {
        let order = match (before.peek(), after.peek()) {
            (None, None) => return found,
            (Some(_), None) => Ordering::Less,
            (None, Some(_)) => Ordering::Greater,
            (Some((a, _)), Some((b, _))) => a.cmp(b),
        };
        let was = if order.is_le() { before.next() } else { None };
        let is = if order.is_ge() { after.next() } else { None };
        match (was, is) {
            (Some((_, was)), Some((_, is))) if was.same(&is) => {}
            (was, is) => {
                let path = was.as_ref().or(is.as_ref()).map(|(path, _)| path.clone()).unwrap_or_default();
                let value = |side: Option<(Path, Value)>| side.map(|(_, value)| value);
                found.push(Difference { path, before: value(was), after: value(is) });
            }
        }
    }
}

fn leaves(object: &Value, ty: TypeRef<'_>) -> Vec<(Path, Value)> {
    let leaves = ownership(object, &Managers::default(), ty).into_iter();
    let leaves = leaves.filter(|leaf| !is_server_maintained(&leaf.path) && !is_last_applied(&leaf.path));
    let mut leaves: Vec<(Path, Value)> = leaves.map(|leaf| (leaf.path, leaf.value)).collect();
    leaves.sort_by(|(a, _), (b, _)| a.cmp(b));
    leaves
}
