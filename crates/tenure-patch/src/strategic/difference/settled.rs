//! Parts that all documents share in memory. Nothing differs in them, so they are passed over, unless the walk
//! would have something to say about them even so: an entry without its key, a map that is always written.

use crate::strategic::{
    UnmarkedLists,
    directive::{PATCH, front},
    plan::{self, Plan, Position},
};
use tenure_schema::{Type, TypeRef};
use tenure_value::{Object, Value};

/// Whether a part that is the same everywhere can be passed over.
pub(super) fn is_settled(part: &Value, position: Position<'_>, unmarked: UnmarkedLists) -> bool {
    match part {
        Value::Object(map) => !plan::replaces(position.marks) && map_is_settled(map, position.ty, unmarked),
        Value::Array(list) => match position.plan(unmarked) {
            Plan::Replace => true,
            // A set tells its order where it is not sorted.
            Plan::Set => false,
            Plan::Keyed(keys) => {
                let item = plan::item(position.ty);
                list.iter().all(|entry| match entry {
                    Value::Object(entry) => {
                        keys.names().all(|name| entry.get(name).is_some_and(is_key))
                            && map_is_settled(entry, item, unmarked)
                    }
                    _ => false,
                })
            }
        },
        _ => true,
    }
}

fn is_key(value: &Value) -> bool {
    value.is_scalar() && !value.is_null()
}

/// Whether a map that is the same everywhere can be passed over.
pub(super) fn map_is_settled(map: &Object, ty: TypeRef<'_>, unmarked: UnmarkedLists) -> bool {
    if matches!(ty.get(), Type::Untyped) {
        return true;
    }
    front(map).iter().all(|(name, value)| name != PATCH || !value.is_scalar())
        && map.iter().all(|(name, value)| match value {
            Value::Object(_) | Value::Array(_) => {
                plan::position(ty, name, value).is_ok_and(|position| is_settled(value, position, unmarked))
            }
            _ => true,
        })
}
