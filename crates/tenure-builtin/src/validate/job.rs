//! Validation of jobs: what their pods and their selector must have, and the policies for failures.

use super::{context::Context, selector};
use tenure_meta::{FieldError, FieldErrorKind, FieldErrors};
use tenure_value::{Object, Value};

/// Labels that a job adds to its pods, and the metadata field they repeat.
const JOB_LABELS: [(&str, &str); 4] = [
    ("controller-uid", "uid"),
    ("job-name", "name"),
    ("batch.kubernetes.io/controller-uid", "uid"),
    ("batch.kubernetes.io/job-name", "name"),
];

/// Validates the spec of a job, also in the template of a cron job.
pub(crate) fn job(context: &Context<'_>, errors: &mut FieldErrors) {
    let policy =
        context.at(&["template", "spec", "restartPolicy"]).and_then(Value::as_str).unwrap_or_default();
    let path = "template.spec.restartPolicy";
    match policy {
        "OnFailure" | "Never" => {}
        "" | "Always" => {
            let detail = "valid values: \"OnFailure\", \"Never\"";
            errors.push(context.fault(path, FieldErrorKind::Required, &Value::Null, detail));
        }
        other => {
            let detail = "supported values: \"OnFailure\", \"Never\"";
            errors.push(context.fault(path, FieldErrorKind::NotSupported, &other.into(), detail));
        }
    }
    let indexed = context.text("completionMode") == "Indexed";
    if indexed && context.get("completions").is_none() {
        let detail = "when completion mode is Indexed";
        errors.push(context.fault("completions", FieldErrorKind::Required, &Value::Null, detail));
    }
    if context.get("backoffLimitPerIndex").is_some() && !indexed {
        let value = context.get("backoffLimitPerIndex").cloned().unwrap_or_default();
        errors.push(context.fault(
            "backoffLimitPerIndex",
            FieldErrorKind::Invalid,
            &value,
            "requires indexed completion mode",
        ));
    }
    if let Some(value) = context.get("maxFailedIndexes").filter(|_| !indexed) {
        let detail = "requires indexed completion mode";
        errors.push(context.fault("maxFailedIndexes", FieldErrorKind::Invalid, value, detail));
    }
    if let Some(policy) = context.get("successPolicy").filter(|_| !indexed) {
        errors.push(context.fault_of_struct("successPolicy", policy, "requires indexed completion mode"));
    }
    if context.get("maxFailedIndexes").is_some() && context.get("backoffLimitPerIndex").is_none() {
        let detail = "when maxFailedIndexes is specified";
        errors.push(context.fault("backoffLimitPerIndex", FieldErrorKind::Required, &Value::Null, detail));
    }
    if context.get("podFailurePolicy").is_some() && policy != "Never" {
        let detail = "only \"Never\" is supported when podFailurePolicy is specified";
        errors.push(context.fault(path, FieldErrorKind::Invalid, &policy.into(), detail));
    }
    match context.root.get("kind").and_then(Value::as_str) {
        Some("Job") => {
            if context.get("selector").is_none() {
                errors.push(context.fault("selector", FieldErrorKind::Required, &Value::Null, ""));
            }
            selector::matches_template(context, errors);
        }
        _ if context.get("selector").is_some() => {
            let value = context.get("selector").cloned().unwrap_or_default();
            let detail = "`selector` will be auto-generated";
            errors.push(context.fault("selector", FieldErrorKind::Invalid, &value, detail));
        }
        _ => {}
    }
}

/// Validates the labels and the selector that the server adds to a job, unless the job has a selector of its own.
pub(crate) fn generated_selector(job: &Value, errors: &mut FieldErrors) {
    let spec = |path: &[&str]| job.get("spec").and_then(|spec| spec.at(path.iter().copied()));
    let Some(given) = spec(&["selector"]).filter(|selector| !selector.is_null()) else { return };
    if spec(&["manualSelector"]) == Some(&Value::Bool(true)) {
        return;
    }
    let labels = spec(&["template", "metadata", "labels"]);
    for (label, field) in JOB_LABELS {
        let expected = job.at(["metadata", field]).and_then(Value::as_str).unwrap_or_default();
        let path = format!("spec.template.metadata.labels[{label}]");
        let detail = format!("must be '{expected}'");
        match labels.and_then(|labels| labels.get(label)).and_then(Value::as_str) {
            Some(value) if value == expected => {}
            Some(_) => errors.push(FieldError::invalid(path, &labels.cloned().unwrap_or_default(), detail)),
            None => errors.push(FieldError::required(path, detail)),
        }
    }
    let generated = JOB_LABELS.iter().fold(Object::default(), |labels, (label, field)| {
        labels.with(*label, job.at(["metadata", field]).cloned().unwrap_or_default())
    });
    if !selector::selects(Some(given), &generated) {
        errors.push(FieldError::invalid("spec.selector", given, "`selector` not auto-generated"));
    }
}

/// Validates the exit codes of a failure policy: zero is a success, and they are ordered.
pub(crate) fn exit_codes(context: &Context<'_>, errors: &mut FieldErrors) {
    let codes = context.items("values");
    for (at, code) in codes.iter().enumerate() {
        if context.text("operator") == "In" && code.as_i64() == Some(0) {
            let detail = "must not be 0 for the In operator";
            errors.push(context.fault(&format!("values[{at}]"), FieldErrorKind::Invalid, code, detail));
        }
    }
    if !codes.is_sorted_by_key(|code| code.as_i64()) {
        let given = context.get("values").cloned().unwrap_or_default();
        errors.push(context.fault("values", FieldErrorKind::Invalid, &given, "must be ordered"));
    }
}

/// The completions of a job change only if it is indexed, and to the number of its pods that run at a time.
pub(crate) fn changed_completions(old: &Value, new: &Value) -> Vec<FieldError> {
    let part = |object: &'_ Value, name: &str| {
        object.at(["spec", name]).filter(|value| !value.is_null()).cloned().unwrap_or_default()
    };
    let completions = part(new, "completions");
    if completions == part(old, "completions") {
        return Vec::new();
    }
    let detail = match part(new, "completionMode").as_str() {
        Some("Indexed") if completions.is_null() || completions == part(new, "parallelism") => {
            return Vec::new();
        }
        Some("Indexed") => "can only be modified in tandem with spec.parallelism",
        _ => "field is immutable",
    };
    vec![FieldError::invalid("spec.completions", &completions, detail)]
}
