//! Validation of label selectors, and that a workload selects its own pods.

use super::context::Context;
use tenure_meta::{FieldErrorKind, FieldErrors, Previous, format, object_meta};
use tenure_value::{Object, Value};

/// Validates a label selector.
pub(crate) fn label_selector(context: &Context<'_>, errors: &mut FieldErrors) {
    object_meta::labels(&context.path.field("matchLabels"), context.get("matchLabels"), errors);
    for (at, expression) in context.items("matchExpressions").iter().enumerate() {
        let below = format!("matchExpressions[{at}]");
        let text = |name: &str| expression.get(name).and_then(Value::as_str).unwrap_or_default();
        let values = expression
            .get("values")
            .and_then(Value::as_array)
            .map(|values| values.items())
            .unwrap_or_default();
        match text("operator") {
            "In" | "NotIn" if values.is_empty() => {
                let detail = "must be specified when `operator` is 'In' or 'NotIn'";
                errors.push(context.fault(
                    &format!("{below}.values"),
                    FieldErrorKind::Required,
                    &Value::Null,
                    detail,
                ));
            }
            "Exists" | "DoesNotExist" if !values.is_empty() => {
                let detail = "may not be specified when `operator` is 'Exists' or 'DoesNotExist'";
                errors.push(context.fault(
                    &format!("{below}.values"),
                    FieldErrorKind::Forbidden,
                    &Value::Null,
                    detail,
                ));
            }
            "In" | "NotIn" | "Exists" | "DoesNotExist" => {}
            other => {
                let path = format!("{below}.operator");
                errors.push(context.fault(
                    &path,
                    FieldErrorKind::Invalid,
                    &other.into(),
                    "not a valid selector operator",
                ));
            }
        }
        for fault in format::qualified_name(text("key")) {
            errors.push(context.fault(
                &format!("{below}.key"),
                FieldErrorKind::Invalid,
                &text("key").into(),
                &fault,
            ));
        }
        for (number, value) in values.iter().enumerate() {
            for fault in value.as_str().map(format::label_value).unwrap_or_default() {
                errors.push(context.fault(
                    &format!("{below}.values[{number}]"),
                    FieldErrorKind::Invalid,
                    value,
                    &fault,
                ));
            }
        }
    }
}

/// Whether a selector matches these labels; an absent selector matches nothing.
pub(super) fn selects(selector: Option<&Value>, labels: &Object) -> bool {
    let Some(selector) = selector.and_then(Value::as_object) else { return false };
    let exact =
        selector.get("matchLabels").and_then(Value::as_object).map(Object::fields).unwrap_or_default();
    let expressions = selector
        .get("matchExpressions")
        .and_then(Value::as_array)
        .map(|list| list.items())
        .unwrap_or_default();
    exact.iter().all(|(name, value)| labels.get(name) == Some(value))
        && expressions.iter().all(|expression| {
            let text = |name: &str| expression.get(name).and_then(Value::as_str).unwrap_or_default();
            let values = expression
                .get("values")
                .and_then(Value::as_array)
                .map(|list| list.items())
                .unwrap_or_default();
            match (text("operator"), labels.get(text("key"))) {
                ("In", Some(label)) => values.contains(label),
                ("NotIn", Some(label)) => !values.contains(label),
                ("NotIn" | "DoesNotExist", None) | ("Exists", Some(_)) => true,
                _ => false,
            }
        })
}

/// Validates that the selector of a workload matches the labels of its template.
pub(crate) fn selects_template(context: &Context<'_>, errors: &mut FieldErrors) {
    if context.is_unchanged(&["selector"]) && context.is_unchanged(&["template", "metadata"]) {
        return;
    }
    let selector = context.get("selector");
    let empty = |name: &str| {
        selector.and_then(|selector| selector.get(name)).is_none_or(|part| match part {
            Value::Object(fields) => fields.is_empty(),
            Value::Array(items) => items.is_empty(),
            _ => true,
        })
    };
    let kind = context.root.get("kind").and_then(Value::as_str).unwrap_or_default();
    if let Some(selector) = selector
        && empty("matchLabels")
        && empty("matchExpressions")
    {
        // A replica set is taken for the deployment that has it.
        let what = if kind == "ReplicaSet" { "deployment".into() } else { kind.to_lowercase() };
        let detail = format!("empty selector is invalid for {what}");
        errors.push(context.fault("selector", FieldErrorKind::Invalid, selector, &detail));
        return;
    }
    match selector.filter(|selector| !is_valid(context, selector)) {
        None => matches_template(context, errors),
        Some(_) if kind == "DaemonSet" => {}
        // Nothing is said about the template of a selector that cannot be read.
        Some(selector) => {
            let template = context.path.field("template").to_string();
            errors.retain(|error| !error.path.starts_with(&template));
            let detail = if kind == "StatefulSet" { "" } else { "invalid label selector" };
            errors.push(context.fault("selector", FieldErrorKind::Invalid, selector, detail));
        }
    }
}

/// Validates that the selectors of a cluster role that aggregates others can be read.
pub(crate) fn aggregated(context: &Context<'_>, errors: &mut FieldErrors) {
    for (at, selector) in context.items("clusterRoleSelectors").iter().enumerate() {
        if !is_valid(context, selector) {
            let path = format!("clusterRoleSelectors[{at}]");
            let detail = "invalid label selector.";
            errors.push(context.fault(&path, FieldErrorKind::Invalid, &Value::Null, detail));
        }
    }
}

/// Whether a selector can be read.
fn is_valid(context: &Context<'_>, selector: &Value) -> bool {
    let mut found = FieldErrors::default();
    if let Some(node) = selector.as_object() {
        label_selector(&Context { node, before: Previous::UNKNOWN, ..*context }, &mut found);
    }
    found.is_empty()
}

/// The same, and a selector may be empty, which matches all.
pub(super) fn matches_template(context: &Context<'_>, errors: &mut FieldErrors) {
    let selector = context.get("selector");
    let labels = context.at(&["template", "metadata", "labels"]);
    if selector.is_some_and(|selector| !is_valid(context, selector)) {
        return;
    }
    if !selects(selector, &labels.and_then(Value::as_object).cloned().unwrap_or_default()) {
        mismatch(context, labels, errors);
    }
}

/// The same for a selector that is a map of labels.
pub(crate) fn selects_template_by_map(context: &Context<'_>, errors: &mut FieldErrors) {
    let selector = context.get("selector").and_then(Value::as_object).cloned().unwrap_or_default();
    let labels = context.at(&["template", "metadata", "labels"]);
    if selector.is_empty() {
        errors.push(context.required("selector", ""));
    }
    if context.get("template").is_none() {
        errors.push(context.required("template", ""));
        return;
    }
    let have = labels.and_then(Value::as_object).cloned().unwrap_or_default();
    if !selector.iter().all(|(name, value)| have.get(name) == Some(value)) {
        mismatch(context, labels, errors);
    }
}

/// Validates labels and annotations of a template.
pub(crate) fn template_metadata(context: &Context<'_>, errors: &mut FieldErrors) {
    object_meta::labels(&context.path.field("labels"), context.at(&["metadata", "labels"]), errors);
    object_meta::annotations(
        &context.path.field("annotations"),
        context.at(&["metadata", "annotations"]),
        errors,
    );
}

fn mismatch(context: &Context<'_>, labels: Option<&Value>, errors: &mut FieldErrors) {
    let value = labels.cloned().unwrap_or_default();
    let detail = "`selector` does not match template `labels`";
    errors.push(context.fault("template.metadata.labels", FieldErrorKind::Invalid, &value, detail));
}
