//! Checks of migrations of stored objects.

use tenure_meta::{FieldError, ValueExt};
use tenure_value::Value;

/// A migration keeps the resource version that it began at, and its outcome.
pub(super) fn migration_status(old: &Value, new: &Value) -> Vec<FieldError> {
    let mut errors = Vec::new();
    let version = |object: &Value| object.at(["status", "resourceVersion"]).cloned().unwrap_or_default();
    let (was, is) = (version(old), version(new));
    let given = is.as_str().filter(|text| !text.is_empty());
    if let Some(text) = given
        && (text.starts_with('0') || !text.bytes().all(|byte| byte.is_ascii_digit()))
    {
        let detail = format!("resource version is not well formed: {text}");
        errors.push(FieldError::invalid("status.resourceVersion", &is, &detail));
    }
    if was.as_str().is_some_and(|text| !text.is_empty()) && was != is {
        errors.push(FieldError::invalid("status.resourceVersion", &is, "field is immutable"));
    }
    let mut invalid = |detail: &str| {
        let conditions = new.at(["status", "conditions"]).cloned().unwrap_or_default();
        errors.push(FieldError::invalid("status.conditions", &conditions, detail));
    };
    if is_true(new, SUCCEEDED) && is_true(new, FAILED) {
        invalid("Both success and failed conditions cannot be true at the same time");
    }
    if is_true(old, SUCCEEDED) && !is_true(new, SUCCEEDED) {
        invalid("Success condition cannot be set to false once it is true");
    }
    if is_true(old, FAILED) && !is_true(new, FAILED) {
        invalid("Failed condition cannot be set to false once it is true");
    }
    errors
}

const SUCCEEDED: &str = "Succeeded";
const FAILED: &str = "Failed";

fn is_true(migration: &Value, condition: &str) -> bool {
    let status = migration.get("status").unwrap_or(&Value::Null);
    let found = status.items("conditions").iter().find(|listed| listed.text("type") == condition);
    found.is_some_and(|condition| condition.text("status") == "True")
}
