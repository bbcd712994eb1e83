//! The scale of an object as a document, and an object with the replicas of a scale.

use crate::{
    Target,
    object::{Stored, metadata},
};
use tenure_apply::SCALE_VERSION;
use tenure_meta::{ApiError, FieldError, selector_text};
use tenure_value::{Object, Text, Value};

/// The kind of a scale.
pub const KIND: &str = "Scale";

/// Returns an object with the replicas of a scale that admission has changed.
pub fn with_replicas(target: &Target, object: &Value, scale: &Value) -> Result<Value, ApiError> {
    let replicas = scale.at(["spec", "replicas"]).cloned().unwrap_or(Value::Int(0));
    check_replicas(target, &replicas)?;
    let path = target.handler.scale_paths().spec;
    if object.at(path.iter().map(Text::as_str)) == Some(&replicas) {
        return Ok(object.clone());
    }
    let fields = object.as_object().cloned().unwrap_or_default();
    Ok(Value::Object(with_at(&fields, &path, replicas)))
}

/// Checks a number of replicas.
pub fn check_replicas(target: &Target, replicas: &Value) -> Result<(), ApiError> {
    match replicas {
        Value::Int(0..=2_147_483_647) => Ok(()),
        Value::Int(number @ 2_147_483_648..) => Err(ApiError::bad_request(format!(
            "Scale in version \"v1\" cannot be handled as a Scale: json: cannot unmarshal number {number} into Go struct field ScaleSpec.spec.replicas of type int32"
        ))),
        Value::Int(_) => {
            let scale = Value::object([("spec", Value::object([("replicas", replicas.clone())]))]);
            let causes = negative_replicas(&scale).iter().map(FieldError::cause).collect();
            Err(ApiError::invalid("autoscaling", KIND, &target.name, causes))
        }
        other => Err(ApiError::bad_request(format!(
            "Scale in version \"v1\" cannot be handled as a Scale: spec.replicas: expected a whole number, got {}",
            other.kind()
        ))),
    }
}

/// Returns the error of a number of replicas below zero.
pub fn negative_replicas(scale: &Value) -> Option<FieldError> {
    let replicas = scale.at(["spec", "replicas"]).filter(|replicas| matches!(replicas, Value::Int(..0)))?;
    Some(FieldError::invalid("spec.replicas", replicas, "must be greater than or equal to 0"))
}

/// Returns the scale of an object.
pub fn scale_document(target: &Target, stored: &Stored) -> Value {
    let object = &stored.object;
    let paths = target.handler.scale_paths();
    let at = |path: &[Text]| object.at(path.iter().map(Text::as_str)).cloned();
    let kept = metadata(object);
    let mut shown: Vec<(&str, Value)> = ["name", "namespace", "uid", "creationTimestamp"]
        .into_iter()
        .filter_map(|name| kept.get(name).map(|value| (name, value.clone())))
        .collect();
    shown.push(("resourceVersion", Value::from(stored.revision.to_string())));
    let spec =
        at(&paths.spec).filter(|replicas| *replicas != Value::Int(0)).map(|replicas| ("replicas", replicas));
    let mut status =
        vec![("replicas", at(&paths.status).filter(|value| !value.is_null()).unwrap_or(Value::Int(0)))];
    let selector = match at(&paths.selector).filter(|_| !paths.selector.is_empty()) {
        Some(Value::String(text)) => text.to_string(),
        Some(selector) => selector_text(&selector),
        None => String::new(),
    };
    if !selector.is_empty() {
        status.push(("selector", Value::from(selector)));
    }
    Value::object([
        ("kind", Value::from(KIND)),
        ("apiVersion", Value::from(SCALE_VERSION)),
        ("metadata", Value::object(shown)),
        ("spec", Value::object(spec)),
        ("status", Value::object(status)),
    ])
}

/// Returns an object with a value at a path; missing parents are created.
pub fn with_at(object: &Object, path: &[Text], value: Value) -> Object {
    match path {
        [] => object.clone(),
        [last] => object.with(last.clone(), value),
        [first, rest @ ..] => {
            let below = object.get(first).and_then(Value::as_object).cloned().unwrap_or_default();
            object.with(first.clone(), with_at(&below, rest, value))
        }
    }
}
