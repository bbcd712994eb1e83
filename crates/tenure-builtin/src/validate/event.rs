//! Validation of events: their namespace, and the requirements of events with an `eventTime` and of
//! `events.k8s.io/v1`.

use super::context::Context;
use tenure_meta::{FieldError, FieldErrorKind, FieldErrors, format};
use tenure_value::Value;

/// The required fields of an event with an `eventTime`.
const EVENT_TEXTS: [&str; 3] = ["reportingInstance", "action", "reason"];
/// The maximum size of each of them, and of the message, in bytes.
const MOST_TEXT: usize = 128;
const MOST_MESSAGE: usize = 1024;

/// Validates an event with an `eventTime`: reporting controller, action and reason.
fn timed_event(context: &Context<'_>, errors: &mut FieldErrors) {
    let reporter =
        if context.get("regarding").is_some() { "reportingController" } else { "reportingComponent" };
    let name = context.text(reporter);
    if name.is_empty() {
        errors.push(context.fault("reportingController", FieldErrorKind::Required, &Value::Null, ""));
    } else {
        context.invalid("reportingController", &name.into(), format::qualified_name(name), errors);
    }
    let too_long = |field: &str, most: usize| {
        let detail = format!("can have at most {most} characters");
        context.fault(field, FieldErrorKind::Invalid, &"".into(), &detail)
    };
    for field in EVENT_TEXTS {
        match context.text(field).len() {
            0 => errors.push(context.fault(field, FieldErrorKind::Required, &Value::Null, "")),
            bytes if bytes > MOST_TEXT => errors.push(too_long(field, MOST_TEXT)),
            _ => {}
        }
    }
    if context.text("message").len().max(context.text("note").len()) > MOST_MESSAGE {
        errors.push(too_long("message", MOST_MESSAGE));
    }
}

/// Fields of `v1` events that are deprecated in `events.k8s.io/v1`, and their names there.
const FORMER_EVENT: [(&str, &str); 4] = [
    ("deprecatedCount", "count"),
    ("deprecatedFirstTimestamp", "firstTimestamp"),
    ("deprecatedLastTimestamp", "lastTimestamp"),
    ("deprecatedSource", "source"),
];

/// Validates a new event of `events.k8s.io/v1`: deprecated fields must not be set.
pub(crate) fn new_event(event: &Value, errors: &mut FieldErrors) {
    for (name, path) in FORMER_EVENT {
        let given = event.get(name).filter(|value| match value {
            Value::Null | Value::Int(0) => false,
            Value::Object(fields) => !fields.is_empty(),
            _ => true,
        });
        errors.extend(given.map(|_| FieldError::invalid(path, &"".into(), "needs to be unset")));
    }
    let kind = event.get("type").and_then(Value::as_str).unwrap_or_default();
    if !matches!(kind, "Normal" | "Warning") {
        let detail = "must be Normal or Warning";
        errors.push(FieldError::invalid("type", &kind.into(), detail));
    }
    errors.extend(series(event));
}

/// Returns the errors of the series of an event of `events.k8s.io/v1`.
fn series(event: &Value) -> Vec<FieldError> {
    let mut errors = Vec::new();
    let Some(series) = event.get("series").filter(|series| !series.is_null()) else { return errors };
    if series.get("count").and_then(Value::as_i64).unwrap_or(0) < 2 {
        errors.push(FieldError::invalid("series.count", &"".into(), "should be at least 2"));
    }
    if series.get("lastObservedTime").is_none_or(Value::is_null) {
        errors.push(FieldError::new(FieldErrorKind::Required, "series.lastObservedTime", &Value::Null, ""));
    }
    errors
}

/// Validates the series of an updated event of `events.k8s.io/v1` if it has changed.
pub(super) fn updated_series(old: &Value, new: &Value) -> Vec<FieldError> {
    if old.get("series") == new.get("series") { Vec::new() } else { series(new) }
}

/// Checks that an event is in the namespace of its object, and that one with an `eventTime` is complete.
pub(crate) fn event(context: &Context<'_>, errors: &mut FieldErrors) {
    if context.get("eventTime").is_some() {
        timed_event(context, errors);
    }
    let namespace = context.at(&["metadata", "namespace"]).and_then(Value::as_str).unwrap_or_default();
    let (field, about) = match context.get("regarding") {
        Some(about) => ("regarding", Some(about)),
        None => ("involvedObject", context.get("involvedObject")),
    };
    let named = about.and_then(|about| about.get("namespace")).and_then(Value::as_str).unwrap_or_default();
    // Events of cluster-scoped objects are in the default namespace, or that of the system if they have an `eventTime`. With
    // one, the namespace of an object is not compared.
    let is_timed = context.get("eventTime").is_some();
    let agrees = match (named, is_timed) {
        ("", true) => matches!(namespace, "default" | "kube-system"),
        ("", false) => namespace == "default",
        (_, true) => true,
        (named, false) => named == namespace,
    };
    if !agrees {
        let path = format!("{field}.namespace");
        errors.push(context.fault(
            &path,
            FieldErrorKind::Invalid,
            &named.into(),
            "does not match event.namespace",
        ));
    }
}
