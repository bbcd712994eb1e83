//! Validation of events: their namespace, and the requirements of events with an `eventTime` and of
//! `events.k8s.io/v1`.

use super::context::Context;
use tenure_meta::{FieldError, FieldErrorKind, FieldErrors, format};
use tenure_value::Value;

/// The required fields of an event with an `eventTime`, after its reporter.
const EVENT_TEXTS: [&str; 3] = ["reportingInstance", "action", "reason"];
/// The maximum size of each of them, and of the message, in bytes.
const MOST_TEXT: usize = 128;
const MOST_MESSAGE: usize = 1024;
/// The namespaces of events with an `eventTime` about objects without a namespace.
const SYSTEM_NAMESPACES: [&str; 2] = ["default", "kube-system"];

/// Validates an event with an `eventTime`: reporting controller, action and reason.
fn timed_event(context: &Context<'_>, errors: &mut FieldErrors) {
    // Errors name the reporter as the version does.
    let reporter = if is_of_group(context) { "reportingController" } else { "reportingComponent" };
    let name = context.text(reporter);
    if name.is_empty() {
        errors.push(context.required(reporter, ""));
    }
    context.invalid(reporter, &name.into(), format::qualified_name(name), errors);
    let too_long = |field: &str, most: usize| {
        let detail = format!("can have at most {most} characters");
        context.fault(field, FieldErrorKind::Invalid, &"".into(), &detail)
    };
    for field in EVENT_TEXTS {
        match context.text(field).len() {
            0 => errors.push(context.required(field, "")),
            bytes if bytes > MOST_TEXT => errors.push(too_long(field, MOST_TEXT)),
            _ => {}
        }
    }
    if context.text("message").len().max(context.text("note").len()) > MOST_MESSAGE {
        errors.push(too_long("message", MOST_MESSAGE));
    }
}

/// Whether an event is one of `events.k8s.io`. Errors name most of its fields as those of `v1`, in which Kubernetes validates it.
fn is_of_group(context: &Context<'_>) -> bool {
    context.root.get("apiVersion").and_then(Value::as_str).is_some_and(|version| version.contains('/'))
}

/// Fields of `v1` events that are deprecated in `events.k8s.io/v1`, and their names there.
const FORMER_EVENT: [(&str, &str); 4] = [
    ("deprecatedFirstTimestamp", "firstTimestamp"),
    ("deprecatedLastTimestamp", "lastTimestamp"),
    ("deprecatedCount", "count"),
    ("deprecatedSource", "source"),
];

/// Validates a new event of `events.k8s.io/v1`: it has a time and a type, and deprecated fields are not set.
pub(crate) fn new_event(event: &Value, errors: &mut FieldErrors) {
    errors.extend(series(event));
    if event.get("eventTime").is_none_or(Value::is_null) {
        errors.push(FieldError::required("eventTime", ""));
    }
    let kind = event.get("type").and_then(Value::as_str).unwrap_or_default();
    if !matches!(kind, "Normal" | "Warning") {
        errors.push(FieldError::invalid("type", &"".into(), format!("has invalid value: {kind}")));
    }
    for (name, path) in FORMER_EVENT {
        let given = event.get(name).filter(|value| match value {
            Value::Null | Value::Int(0) => false,
            Value::Object(fields) => {
                fields.fields().iter().any(|(_, value)| !matches!(value.as_str(), None | Some("")))
            }
            _ => true,
        });
        errors.extend(given.map(|_| FieldError::invalid(path, &"".into(), "needs to be unset")));
    }
}

/// Returns the errors of the series of an event of `events.k8s.io/v1`.
fn series(event: &Value) -> Vec<FieldError> {
    let mut errors = Vec::new();
    let Some(series) = event.get("series").filter(|series| !series.is_null()) else { return errors };
    if series.get("count").and_then(Value::as_i64).unwrap_or(0) < 2 {
        errors.push(FieldError::invalid("series.count", &"".into(), "should be at least 2"));
    }
    if series.get("lastObservedTime").is_none_or(Value::is_null) {
        errors.push(FieldError::required("series.lastObservedTime", ""));
    }
    errors
}

/// Validates the series of an updated event of `events.k8s.io/v1` if it has changed.
pub(super) fn updated_series(old: &Value, new: &Value) -> Vec<FieldError> {
    if old.get("series") == new.get("series") { Vec::new() } else { series(new) }
}

/// Checks that an event is in the namespace of its object, and that one with an `eventTime` is complete.
pub(crate) fn event(context: &Context<'_>, errors: &mut FieldErrors) {
    let namespace = context.at(&["metadata", "namespace"]).and_then(Value::as_str).unwrap_or_default();
    let about = context.get(if is_of_group(context) { "regarding" } else { "involvedObject" });
    let named = about.and_then(|about| about.get("namespace")).and_then(Value::as_str).unwrap_or_default();
    let is_timed = context.get("eventTime").is_some();
    // Events of cluster-scoped objects are in the default namespace, or that of the system if they have an `eventTime`. With
    // one, the namespace of an object is not compared.
    let agrees = match (named, is_timed) {
        ("", true) => SYSTEM_NAMESPACES.contains(&namespace),
        ("", false) => namespace == "default",
        (_, true) => true,
        (named, false) => named == namespace,
    };
    if !agrees {
        let detail = "does not match event.namespace";
        let path = "involvedObject.namespace";
        errors.push(context.fault(path, FieldErrorKind::Invalid, &named.into(), detail));
    }
    if is_timed {
        timed_event(context, errors);
    }
}
