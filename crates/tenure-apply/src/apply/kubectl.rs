//! The hand-over from client-side apply. `kubectl apply` keeps the configuration it sent last in an
//! annotation; `kubectl apply --server-side` takes over what that annotation still describes, and keeps the
//! annotation current for as long as it is there.

use crate::{Difference, Write};
use tenure_fields::{Duplicates, FieldSet};
use tenure_schema::TypeRef;
use tenure_value::{Limits, Object, Text, Value, json};

/// The annotation in which `kubectl apply` keeps the configuration that it sent last.
pub const LAST_APPLIED: &str = "kubectl.kubernetes.io/last-applied-configuration";

/// The manager for which the annotation counts.
pub(super) const KUBECTL_MANAGER: &str = "kubectl";

/// The length beyond which all annotations of an object together are refused.
const ANNOTATIONS_LIMIT: usize = 256 * 1024;

fn annotation(object: &Value) -> Option<&str> {
    object.at(["metadata", "annotations", LAST_APPLIED])?.as_str()
}

/// Returns the fields that the annotation describes and that still have those values: `kubectl` may take them over
/// without a conflict.
pub(super) fn client_side_fields(live: &Value, ty: TypeRef<'_>, write: &Write<'_>) -> FieldSet {
    let none = FieldSet::default;
    let Some(text) = annotation(live).filter(|text| !text.is_empty()) else { return none() };
    let Ok(applied) = json::parse(text.as_bytes(), &Limits::default()) else { return none() };
    if applied.get("apiVersion").and_then(Value::as_str) != Some(write.api_version) {
        return none();
    }
    let Ok(declared) = FieldSet::of_with(&applied, ty, Duplicates::Refused) else { return none() };
    let changed = Difference::between(&applied, live, ty);
    declared.difference(&changed.written).difference(&changed.removed)
}

/// Returns the object with an annotation that describes the configuration, if it has one that does not.
pub(super) fn with_current_annotation(object: &Value, config: &Value) -> Option<Value> {
    // An annotation that was emptied stays empty.
    let before = annotation(object).filter(|text| !text.is_empty())?;
    let metadata = object.get("metadata")?.as_object()?;
    let annotations = metadata.get("annotations")?.as_object()?;
    let text = describe(config);
    let others: usize = annotations
        .iter()
        .filter(|(name, _)| name.as_str() != LAST_APPLIED)
        .map(|(name, value)| name.len() + value.as_str().map_or(0, str::len))
        .sum();
    // An annotation that would make the object too large is emptied rather than left wrong.
    let text =
        if others + LAST_APPLIED.len() + text.len() > ANNOTATIONS_LIMIT { String::new() } else { text };
    if before == text {
        return None;
    }
    let annotations = annotations.with(Text::new_static(LAST_APPLIED), Value::from(text));
    let metadata = metadata.with(Text::new_static("annotations"), annotations);
    Some(Value::Object(object.as_object()?.with(Text::new_static("metadata"), metadata)))
}

/// Returns a configuration as the annotation keeps it: without the annotation itself.
fn describe(config: &Value) -> String {
    let mut text = json::to_string(&without_annotation(config).unwrap_or_else(|| config.clone()));
    text.push('\n');
    text
}

fn without_annotation(config: &Value) -> Option<Value> {
    let metadata = config.get("metadata")?.as_object()?;
    let metadata = metadata.without("managedFields");
    let metadata = match metadata.get("annotations").and_then(Value::as_object) {
        Some(annotations) => metadata.with("annotations", annotations.without(LAST_APPLIED)),
        None => metadata,
    };
    Some(Value::Object(Object::with(config.as_object()?, "metadata", metadata)))
}
