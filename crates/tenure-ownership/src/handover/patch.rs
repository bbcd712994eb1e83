//! The operations of the JSON patches that move ownership.

use tenure_apply::Managers;
use tenure_value::Value;

const MANAGED_FIELDS: &str = "/metadata/managedFields";

/// Returns one operation.
pub(super) fn operation(op: &str, path: &str, value: Option<Value>) -> Value {
    let fields = [("op", Value::from(op)), ("path", Value::from(path))];
    Value::object(fields.into_iter().chain(value.map(|value| ("value", value))))
}

/// Returns the operation that makes the patch fail unless the object has this resourceVersion.
pub(super) fn guard(version: Value) -> Value {
    operation("replace", "/metadata/resourceVersion", Some(version))
}

/// Returns the operation that sets the managers.
pub fn replace_managers(managers: &Managers) -> Value {
    operation("replace", MANAGED_FIELDS, Some(managers.to_value()))
}
