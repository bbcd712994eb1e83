//! When an object that is being deleted can be removed.

use tenure_builtin::role;
use tenure_catalog::ResourceHandler;
use tenure_value::Value;

/// Returns the finalizers in the metadata of an object.
pub(super) fn finalizers(object: &Value) -> impl Iterator<Item = &str> {
    object
        .at(["metadata", "finalizers"])
        .and_then(Value::as_array)
        .into_iter()
        .flat_map(|list| list.iter())
        .filter_map(Value::as_str)
}

/// Whether an object that is being deleted has nothing left to wait for.
pub(crate) fn is_finished(object: &Value, handler: &ResourceHandler) -> bool {
    let is_marked = object.at(["metadata", "deletionTimestamp"]).is_some_and(|time| !time.is_null());
    let waits = object
        .at(["metadata", "deletionGracePeriodSeconds"])
        .and_then(Value::as_i64)
        .is_some_and(|grace| grace > 0);
    let has_content = role::has_content_finalizers(handler.role, object);
    is_marked && !waits && !has_content && finalizers(object).next().is_none()
}
