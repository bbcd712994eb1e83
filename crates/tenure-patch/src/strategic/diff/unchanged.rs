//! Parts that all documents share in memory. They do not differ, so they are skipped, unless they are written or
//! refused even so: an entry without its key, a map that is always replaced.

use super::DiffOptions;
use crate::strategic::{
    directive::{PATCH, possible_directives},
    patch_meta::{self, ListStrategy, PatchMeta},
};
use tenure_schema::{Type, TypeRef};
use tenure_value::{Object, Value};

/// Whether a part that is the same in all documents can be skipped.
pub(super) fn can_skip(part: &Value, meta: PatchMeta<'_>, options: &DiffOptions<'_>) -> bool {
    match part {
        Value::Object(map) => !meta.replaces() && can_skip_map(map, meta.ty, options),
        Value::Array(list) => match meta.list_strategy(options.unmarked_lists, options.profile) {
            ListStrategy::Replace => true,
            // A set that is not sorted is written with its order.
            ListStrategy::Set => false,
            ListStrategy::Keyed(keys) => {
                let item = patch_meta::item_type(meta.ty);
                list.iter().all(|entry| match entry {
                    Value::Object(entry) => {
                        keys.names().all(|name| entry.get(name).is_some_and(is_key))
                            && can_skip_map(entry, item, options)
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

/// Whether a map that is the same in all documents can be skipped.
pub(super) fn can_skip_map(map: &Object, ty: TypeRef<'_>, options: &DiffOptions<'_>) -> bool {
    if matches!(ty.get(), Type::Untyped) {
        return true;
    }
    possible_directives(map).iter().all(|(name, value)| name != PATCH || !value.is_scalar())
        && map.iter().all(|(name, value)| match value {
            Value::Object(_) | Value::Array(_) => {
                patch_meta::lookup(ty, name, value).is_ok_and(|meta| can_skip(value, meta, options))
            }
            _ => true,
        })
}
