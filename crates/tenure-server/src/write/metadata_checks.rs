//! The types of `resourceVersion` and `managedFields` in a body, which are read before it is decoded.

use tenure_apply::{CompactManagers, Managers};
use tenure_meta::{ApiError, Timestamp, time::Precision};
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

/// Checks the types of the `resourceVersion` and the `managedFields` of a body.
pub(super) fn check(document: &Value) -> Result<(), ApiError> {
    const TEXTS: [&str; 6] = ["manager", "operation", "apiVersion", "time", "fieldsType", "subresource"];
    let fault = |at: String, what: &str, other: &Value| {
        let message = format!("metadata.managedFields{at}: expected {what}, got {}", other.kind());
        Err(ApiError::bad_request(message))
    };
    check_revision(document)?;
    let entries = match document.at(["metadata", "managedFields"]) {
        None | Some(Value::Null) => return Ok(()),
        Some(Value::Array(entries)) => entries,
        Some(other) => return fault(String::new(), "a list", other),
    };
    for (at, entry) in entries.iter().enumerate() {
        let Value::Object(fields) = entry else {
            if entry.is_null() {
                continue;
            }
            return fault(format!("[{at}]"), "an object", entry);
        };
        for name in TEXTS {
            let wrong = |value: &&Value| !value.is_null() && value.as_str().is_none();
            if let Some(other) = fields.get(name).filter(wrong) {
                return fault(format!("[{at}].{name}"), "a string", other);
            }
        }
        // Other entries that cannot be read are ignored, as in Kubernetes; one that names a table is meant for this server.
        if CompactManagers::is_entry(entry) {
            Managers::from_value(&Value::array([entry.clone()]))
                .map_err(|error| ApiError::bad_request(error.to_string()))?;
        }
        if let Some(time) = fields.get("time").and_then(Value::as_str)
            && Timestamp::parse(time, Precision::Seconds).is_none()
        {
            return Err(ApiError::bad_request(format!(
                "metadata.managedFields[{at}].time: {time:?} is not a time; use the form 2006-01-02T15:04:05Z"
            )));
        }
    }
    Ok(())
}
