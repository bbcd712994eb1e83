//! Validation of jobs: what their pods and their selector must have, and the policies for failures.

use super::{context::Context, selector};
use tenure_meta::{FieldErrorKind, FieldErrors, format};
use tenure_value::{Object, Value};

/// Labels that a job adds to its pods, and the metadata field they repeat.
const JOB_LABELS: [(&str, &str); 4] = [
    ("batch.kubernetes.io/controller-uid", "uid"),
    ("batch.kubernetes.io/job-name", "name"),
    ("controller-uid", "uid"),
    ("job-name", "name"),
];

/// Validates the spec of a job, also in the template of a cron job.
pub(crate) fn job(of: &Context<'_>, errors: &mut FieldErrors) {
    let policy = of.at(&["template", "spec", "restartPolicy"]).and_then(Value::as_str).unwrap_or_default();
    let path = "template.spec.restartPolicy";
    match policy {
        "OnFailure" | "Never" => {}
        "" | "Always" => {
            let detail = "valid values: \"OnFailure\", \"Never\"";
            errors.push(of.fault(path, FieldErrorKind::Required, &Value::Null, detail));
        }
        other => {
            let detail = "supported values: \"OnFailure\", \"Never\"";
            errors.push(of.fault(path, FieldErrorKind::NotSupported, &other.into(), detail));
        }
    }
    let indexed = of.text("completionMode") == "Indexed";
    if indexed && of.get("completions").is_none() {
        let detail = "when completion mode is Indexed";
        errors.push(of.fault("completions", FieldErrorKind::Required, &Value::Null, detail));
    }
    if of.get("backoffLimitPerIndex").is_some() && !indexed {
        let value = of.get("backoffLimitPerIndex").cloned().unwrap_or_default();
        errors.push(of.fault(
            "backoffLimitPerIndex",
            FieldErrorKind::Invalid,
            &value,
            "requires indexed completion mode",
        ));
    }
    if of.get("maxFailedIndexes").is_some() && of.get("backoffLimitPerIndex").is_none() {
        let detail = "when maxFailedIndexes is specified";
        errors.push(of.fault("backoffLimitPerIndex", FieldErrorKind::Required, &Value::Null, detail));
    }
    if of.get("podFailurePolicy").is_some() && policy != "Never" {
        let detail = "only \"Never\" is supported when podFailurePolicy is specified";
        errors.push(of.fault(path, FieldErrorKind::Invalid, &policy.into(), detail));
    }
    match of.root.get("kind").and_then(Value::as_str) {
        Some("Job") => generated_labels(of, errors),
        _ if of.get("selector").is_some() => {
            let value = of.get("selector").cloned().unwrap_or_default();
            let detail = "`selector` will be auto-generated";
            errors.push(of.fault("selector", FieldErrorKind::Invalid, &value, detail));
        }
        _ => {}
    }
}

/// Validates the labels and the selector that the server adds to a job.
fn generated_labels(of: &Context<'_>, errors: &mut FieldErrors) {
    let labels = of.at(&["template", "metadata", "labels"]);
    if of.get("manualSelector") == Some(&Value::Bool(true)) {
        if of.get("selector").is_none() {
            errors.push(of.fault("selector", FieldErrorKind::Required, &Value::Null, ""));
        }
        return selector::matches_template(of, errors);
    }
    for (label, field) in JOB_LABELS {
        let expected = of.root.at(["metadata", field]).and_then(Value::as_str).unwrap_or_default();
        let path = format!("template.metadata.labels[{label}]");
        let detail = format!("must be '{expected}'");
        match labels.and_then(|labels| labels.get(label)).and_then(Value::as_str) {
            Some(value) if value == expected => {}
            Some(_) => errors.push(of.fault(
                &path,
                FieldErrorKind::Invalid,
                &labels.cloned().unwrap_or_default(),
                &detail,
            )),
            None => errors.push(of.fault(&path, FieldErrorKind::Required, &Value::Null, &detail)),
        }
        for fault in format::label_value(expected) {
            errors.push(of.fault("template.labels", FieldErrorKind::Invalid, &expected.into(), &fault));
        }
    }
    let generated = JOB_LABELS.iter().fold(Object::default(), |labels, (label, field)| {
        labels.with(*label, of.root.at(["metadata", field]).cloned().unwrap_or_default())
    });
    if !selector::selects(of.get("selector"), &generated) {
        let given = of.get("selector").cloned().unwrap_or_default();
        errors.push(of.fault("selector", FieldErrorKind::Invalid, &given, "`selector` not auto-generated"));
    }
    selector::matches_template(of, errors);
}

/// Validates the exit codes of a failure policy: zero is a success, and they are ordered.
pub(crate) fn exit_codes(of: &Context<'_>, errors: &mut FieldErrors) {
    let codes = of.items("values");
    for (at, code) in codes.iter().enumerate() {
        if of.text("operator") == "In" && code.as_i64() == Some(0) {
            let detail = "must not be 0 for the In operator";
            errors.push(of.fault(&format!("values[{at}]"), FieldErrorKind::Invalid, code, detail));
        }
    }
    if !codes.is_sorted_by_key(|code| code.as_i64()) {
        let given = of.get("values").cloned().unwrap_or_default();
        errors.push(of.fault("values", FieldErrorKind::Invalid, &given, "must be ordered"));
    }
}
