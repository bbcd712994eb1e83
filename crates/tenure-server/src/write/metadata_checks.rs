//! The types of `resourceVersion` and `managedFields` in a body, which are read before it is decoded.

use tenure_apply::{CompactManagers, Managers};
use tenure_meta::{ApiError, object_meta};
use tenure_value::Value;

/// Checks that the `resourceVersion` of a body is a string.
pub(super) fn check_revision(document: &Value) -> Result<(), ApiError> {
    match document.at(["metadata", "resourceVersion"]) {
        None | Some(Value::Null | Value::String(_)) => Ok(()),
        Some(other) => {
            let message = format!("metadata.resourceVersion: expected a string, got {}", other.kind());
            Err(ApiError::bad_request(message))
        }
    }
}

/// Checks the types of the `resourceVersion` and the `managedFields` of a body; returns what is wrong.
pub(super) fn check(document: &Value) -> Result<(), String> {
    const NAMES: [&str; 2] = ["managedFields", "resourceVersion"];
    let Some(Value::Object(metadata)) = document.get("metadata") else { return Ok(()) };
    let given = NAMES.iter().filter_map(|name| Some((*name, metadata.get(name)?)));
    if given.clone().all(|(_, value)| value.is_null() || value.as_str().is_some()) {
        // A list is missing in nearly every body.
        if metadata.get("managedFields").is_none_or(Value::is_null) {
            return Ok(());
        }
    }
    let given = Value::object(given.map(|(name, value)| (name, value.clone())));
    object_meta::canonical(Some(&given)).map_err(|error| error.to_string())?;
    let entries =
        metadata.get("managedFields").and_then(Value::as_array).into_iter().flat_map(|list| list.iter());
    for entry in entries {
        // Other entries that cannot be read are ignored, as in Kubernetes; one that names a table is meant for this server.
        if CompactManagers::is_entry(entry) {
            Managers::from_value(&Value::array([entry.clone()])).map_err(|error| error.to_string())?;
        }
    }
    Ok(())
}
