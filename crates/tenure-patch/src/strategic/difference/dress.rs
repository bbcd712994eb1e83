//! Values that a patch takes whole. Where recommended keys are asked for, the entries of lists inside them
//! carry `$patchMergeKey` too, so that applying the patch again finds them again.

use crate::strategic::{
    directive::PATCH_MERGE_KEY,
    plan::{self, Plan, Position},
};
use tenure_schema::TypeRef;
use tenure_value::{Array, Object, Text, Value};

use super::{DifferenceKeys, DifferenceOptions};

/// Returns a value as a patch writes it whole.
pub(super) fn dress(value: &Value, position: Option<Position<'_>>, options: &DifferenceOptions<'_>) -> Value {
    if options.keys == DifferenceKeys::Default {
        return value.clone();
    }
    let Some(position) = position else { return value.clone() };
    match value {
        Value::Object(map) if !plan::replaces(position.marks) => dress_map(map, position.ty, options).into(),
        Value::Array(list) => match position.plan(options.unmarked_lists) {
            Plan::Keyed(_) => dress_list(list, position, options).into(),
            _ => value.clone(),
        },
        _ => value.clone(),
    }
}

/// Returns a map as a patch writes it whole.
pub(super) fn dress_map(map: &Object, ty: TypeRef<'_>, options: &DifferenceOptions<'_>) -> Object {
    if options.keys == DifferenceKeys::Default {
        return map.clone();
    }
    let fields = map.iter().map(|(name, value)| {
        let value = match value.is_scalar() {
            true => value.clone(),
            false => dress(value, plan::position(ty, name, value).ok(), options),
        };
        (name.clone(), value)
    });
    Object::from_sorted(fields.collect::<Vec<(Text, Value)>>())
}

fn dress_list(list: &Array, position: Position<'_>, options: &DifferenceOptions<'_>) -> Array {
    let item = plan::item(position.ty);
    let directive = position.recommended_keys().map(|keys| Value::array(keys.names().map(Value::from)));
    let dress_entry = |entry: &Value| match (entry, &directive) {
        (Value::Object(map), Some(keys)) => {
            dress_map(map, item, options).with(PATCH_MERGE_KEY, keys.clone()).into()
        }
        (Value::Object(map), None) => dress_map(map, item, options).into(),
        (other, _) => other.clone(),
    };
    list.iter().map(dress_entry).collect::<Vec<Value>>().into()
}
