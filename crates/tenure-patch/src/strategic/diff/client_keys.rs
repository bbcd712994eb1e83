//! `$patchMergeKey` in values that a patch contains whole: with recommended keys, the entries of lists inside them
//! carry it too, so that applying the patch again finds them again.

use super::{DiffOptions, entry_keys::identify};
use crate::strategic::{
    Keys,
    directive::PATCH_MERGE_KEY,
    patch_meta::{self, ListStrategy, PatchMeta},
};
use tenure_schema::TypeRef;
use tenure_value::{Array, Object, Text, Value};

/// Returns a value with `$patchMergeKey` in its entries, if the options require it.
pub(super) fn with_keys(value: &Value, meta: Option<PatchMeta<'_>>, options: &DiffOptions<'_>) -> Value {
    if options.keys == Keys::Merge {
        return value.clone();
    }
    let Some(meta) = meta else { return value.clone() };
    match value {
        Value::Object(map) if !meta.replaces() => with_keys_in_map(map, meta.ty, options).into(),
        Value::Array(list) => match meta.list_strategy(options.unmarked_lists, options.profile) {
            ListStrategy::Keyed(_) => with_keys_in_list(list, meta, options).into(),
            ListStrategy::Replace
                if meta.recommended_keys().is_some_and(|keys| identify(&keys, [list.items()])) =>
            {
                with_keys_in_list(list, meta, options).into()
            }
            _ => value.clone(),
        },
        _ => value.clone(),
    }
}

/// Returns a map with `$patchMergeKey` in the entries of its lists, if the options require it.
pub(super) fn with_keys_in_map(map: &Object, ty: TypeRef<'_>, options: &DiffOptions<'_>) -> Object {
    if options.keys == Keys::Merge {
        return map.clone();
    }
    let fields = map.iter().map(|(name, value)| {
        let value = match value.is_scalar() {
            true => value.clone(),
            false => with_keys(value, patch_meta::lookup(ty, name, value).ok(), options),
        };
        (name.clone(), value)
    });
    Object::from_sorted(fields.collect::<Vec<(Text, Value)>>())
}

fn with_keys_in_list(list: &Array, meta: PatchMeta<'_>, options: &DiffOptions<'_>) -> Array {
    let item = patch_meta::item_type(meta.ty);
    let directive = meta.recommended_keys().map(|keys| Value::array(keys.names().map(Value::from)));
    let with_keys_in_entry = |entry: &Value| match (entry, &directive) {
        (Value::Object(map), Some(keys)) => {
            with_keys_in_map(map, item, options).with(PATCH_MERGE_KEY, keys.clone()).into()
        }
        (Value::Object(map), None) => with_keys_in_map(map, item, options).into(),
        (other, _) => other.clone(),
    };
    list.iter().map(with_keys_in_entry).collect::<Vec<Value>>().into()
}
