//! Validation of autoscalers: their metrics, and what they scale.

use super::context::Context;
use tenure_meta::{FieldError, FieldErrorKind, FieldErrors, Quantity};
use tenure_value::Value;

/// The types of metrics and their fields.
const METRICS: [(&str, &str); 5] = [
    ("Resource", "resource"),
    ("ContainerResource", "containerResource"),
    ("Pods", "pods"),
    ("Object", "object"),
    ("External", "external"),
];

fn replicas(context: &Context<'_>, name: &str) -> i64 {
    context.get(name).and_then(Value::as_i64).unwrap_or_default()
}

/// Validates the largest number of replicas.
pub(crate) fn most_replicas(context: &Context<'_>, errors: &mut FieldErrors) {
    match replicas(context, "maxReplicas") {
        1.. => {}
        0 => {
            let detail = "must be set and greater than 0";
            errors.push(context.fault("maxReplicas", FieldErrorKind::Required, &Value::Null, detail));
        }
        most => {
            let detail = "must be greater than or equal to 1";
            errors.push(context.fault("maxReplicas", FieldErrorKind::Invalid, &most.into(), detail));
        }
    }
}

/// Validates that the largest number of replicas is not below the smallest one.
pub(crate) fn more_than_least(context: &Context<'_>, errors: &mut FieldErrors) {
    let most = replicas(context, "maxReplicas");
    if context.get("minReplicas").is_some() && most < replicas(context, "minReplicas") {
        let detail = "must be greater than or equal to `minReplicas`";
        errors.push(context.fault("maxReplicas", FieldErrorKind::Invalid, &most.into(), detail));
    }
}

/// Validates that something outside of the pods says when there are to be some again.
pub(crate) fn scales_to_zero(context: &Context<'_>, errors: &mut FieldErrors) {
    let is_outside = |metric: &Value| {
        metric.get("type").and_then(Value::as_str).is_some_and(|of| matches!(of, "Object" | "External"))
    };
    let is_zero = context.get("minReplicas").is_some() && replicas(context, "minReplicas") == 0;
    if is_zero && !context.items("metrics").iter().any(is_outside) {
        let detail =
            "must specify at least one Object or External metric to support scaling to zero replicas";
        errors.push(context.fault("metrics", FieldErrorKind::Forbidden, &Value::Null, detail));
    }
}

/// Validates that a metric has the source of its type, and a target.
pub(crate) fn metric(context: &Context<'_>, errors: &mut FieldErrors) {
    if context.text("type").is_empty() {
        errors.push(context.required("type", "must specify a metric source type"));
    }
    let Some((_, field)) = METRICS.iter().find(|(kind, _)| *kind == context.text("type")) else {
        let mut known = METRICS.map(|(kind, _)| kind);
        known.sort_unstable();
        errors.push(context.not_supported("type", context.text("type"), &known));
        return;
    };
    let Some(source) = context.get(field) else {
        let detail = "must populate information for the given metric source";
        errors.push(context.fault(field, FieldErrorKind::Required, &Value::Null, detail));
        return;
    };
    for (_, other) in METRICS.iter().filter(|(_, other)| other != field && context.get(other).is_some()) {
        let detail = "must populate the given metric source only";
        errors.push(context.fault(other, FieldErrorKind::Forbidden, &Value::Null, detail));
    }
    let target = |name: &str| {
        source.get("target").and_then(|target| target.get(name)).filter(|value| !value.is_null())
    };
    let positive = |value: &Value| value.as_i64().is_none_or(|number| number > 0);
    let path = format!("{field}.target");
    let kind = target("type").and_then(Value::as_str).unwrap_or_default();
    let is_resource = field.ends_with("esource");
    if is_resource && source.get("name").and_then(Value::as_str).unwrap_or_default().is_empty() {
        errors.push(context.required(&format!("{field}.name"), "must specify a resource name"));
    }
    if kind.is_empty() {
        errors.push(context.required(&format!("{path}.type"), "must specify a metric target type"));
    }
    if !matches!(kind, "Utilization" | "Value" | "AverageValue") {
        let detail = "must be either Utilization, Value, or AverageValue";
        errors.push(context.fault(&format!("{path}.type"), FieldErrorKind::Invalid, &kind.into(), detail));
    }
    let given = ["averageUtilization", "averageValue", "value"].map(|name| target(name).is_some());
    if given == [false; 3] {
        let detail = "must set either a target raw value or a target utilization";
        let path = if is_resource { format!("{path}.averageUtilization") } else { path.clone() };
        errors.push(context.required(&path, detail));
    }
    for name in ["averageValue", "value"] {
        let amount = target(name).and_then(Value::as_str).and_then(Quantity::parse);
        if let (Some(value), true) = (target(name), amount.is_some_and(|amount| amount.nanos() <= 0)) {
            let path = format!("{path}.{name}");
            errors.push(context.fault(&path, FieldErrorKind::Invalid, value, "must be positive"));
        }
    }
    if is_resource && given[0] && given[1] {
        let detail = "may not set both a target raw value and a target utilization";
        let path = format!("{path}.averageValue");
        errors.push(context.fault(&path, FieldErrorKind::Forbidden, &Value::Null, detail));
    }
    if *field == "external" && given == [false, true, true] {
        let detail = "may not set both a target value for metric and a per-pod target";
        errors.push(context.fault(&format!("{path}.value"), FieldErrorKind::Forbidden, &Value::Null, detail));
    }
    if let Some(value) = target("averageUtilization").filter(|value| !positive(value)) {
        errors.push(context.fault(
            &format!("{path}.averageUtilization"),
            FieldErrorKind::Invalid,
            value,
            "must be greater than 0",
        ));
    }
}

/// The longest period of a policy for scaling, in seconds.
const MOST_PERIOD: i64 = 1800;
/// The longest time that an autoscaler looks back, in seconds.
const MOST_WINDOW: i64 = 3600;

/// Validates a policy for scaling.
pub(crate) fn scaling_policy(context: &Context<'_>, errors: &mut FieldErrors) {
    let kind = context.text("type");
    if !["Percent", "Pods"].contains(&kind) {
        errors.push(context.not_supported("type", kind, &["Percent", "Pods"]));
    }
    for (name, most) in [("value", i64::MAX), ("periodSeconds", MOST_PERIOD)] {
        positive_up_to(context, name, (1, most), errors);
    }
}

/// Validates how long an autoscaler looks back.
pub(crate) fn scaling_rules(context: &Context<'_>, errors: &mut FieldErrors) {
    positive_up_to(context, "stabilizationWindowSeconds", (0, MOST_WINDOW), errors);
}

fn positive_up_to(context: &Context<'_>, name: &str, (least, most): (i64, i64), errors: &mut FieldErrors) {
    let number = context.number(name).unwrap_or(0);
    let fault = match number {
        _ if number < least && least == 0 => "must be greater than or equal to zero".to_string(),
        _ if number < least => "must be greater than zero".to_string(),
        _ if number > most => format!("must be less than or equal to {most}"),
        _ => return,
    };
    context.invalid(name, &number.into(), vec![fault], errors);
}

/// Returns the error in the API version of what an autoscaler scales.
fn scale_target(autoscaler: &Value) -> Option<FieldError> {
    let target = autoscaler.at(["spec", "scaleTargetRef"]);
    let text =
        |name: &str| target.and_then(|target| target.get(name)).and_then(Value::as_str).unwrap_or_default();
    let version = text("apiVersion");
    let detail = match version.split('/').collect::<Vec<_>>()[..] {
        // The only kind without a group that can be scaled.
        [_] | ["", ""] if text("kind") == "ReplicationController" => return None,
        [_] | ["", _] => "apiVersion must specify API group".to_string(),
        [_, _] => return None,
        _ => format!("unexpected GroupVersion string: {version}"),
    };
    Some(FieldError::invalid("spec.scaleTargetRef.apiVersion", &version.into(), detail))
}

/// Returns that error of an object, unless it leaves the target of an old one alone.
pub(crate) fn changed_scale_target(old: Option<&Value>, new: &Value) -> Option<FieldError> {
    let target = |autoscaler: &Value| {
        let part = |name| autoscaler.at(["spec", "scaleTargetRef", name]).cloned().unwrap_or_default();
        [part("apiVersion"), part("kind")]
    };
    scale_target(new).filter(|_| old.is_none_or(|old| target(old) != target(new)))
}
