//! Validation of jobs: what their pods and their selector must have, and the policies for failures.

use super::{
    context::{Context, items, text},
    job_status, prefixed_path, selector,
};
use tenure_meta::{FieldError, FieldErrorKind, FieldErrors, Seen, format};
use tenure_value::{Object, Value};

/// Labels that a job adds to its pods, and the metadata field they repeat.
const JOB_LABELS: [(&str, &str); 4] = [
    ("controller-uid", "uid"),
    ("job-name", "name"),
    ("batch.kubernetes.io/controller-uid", "uid"),
    ("batch.kubernetes.io/job-name", "name"),
];

/// The most pods of an indexed job that run at a time, or that may fail.
const MOST_INDEXED: i64 = 100_000;
/// The same for jobs with many completions that limit the failures of each index.
const MOST_WITH_MANY_COMPLETIONS: i64 = 10_000;
const MANY_COMPLETIONS: i64 = 100_000;
/// The most bytes of the name of a job's controller.
const MOST_MANAGER: usize = 63;
/// The most bytes of a list of indexes.
const MOST_INDEXES: usize = 64 * 1024;

/// Validates the spec of a job, also in the template of a cron job.
pub(crate) fn job(context: &Context<'_>, errors: &mut FieldErrors) {
    manager(context, errors);
    // An empty mode is one that is not known.
    let mode = context.get("completionMode").and_then(Value::as_str).unwrap_or("NonIndexed");
    let is_indexed = mode == "Indexed";
    if context.get("maxFailedIndexes").is_some() && context.get("backoffLimitPerIndex").is_none() {
        errors.push(context.required("backoffLimitPerIndex", "when maxFailedIndexes is specified"));
    }
    match mode {
        "Indexed" => indexed(context, errors),
        "NonIndexed" => {
            for name in ["backoffLimitPerIndex", "maxFailedIndexes"] {
                if let Some(value) = context.get(name) {
                    context.invalid(name, value, vec!["requires indexed completion mode".into()], errors);
                }
            }
        }
        _ => {}
    }
    match context.get("successPolicy") {
        Some(policy) if !is_indexed => {
            let detail = "requires indexed completion mode";
            errors.push(context.fault_of_struct("successPolicy", policy, detail));
        }
        Some(policy) => success_policy(context, policy, errors),
        None => {}
    }
    failure_policy(context, errors);
    let policy =
        context.at(&["template", "spec", "restartPolicy"]).and_then(Value::as_str).unwrap_or_default();
    let path = "template.spec.restartPolicy";
    match policy {
        "" | "Always" => {
            errors.push(context.required(path, "valid values: \"OnFailure\", \"Never\""));
        }
        "Never" => {}
        "OnFailure" => {
            if context.get("podFailurePolicy").is_some() {
                let detail = "only \"Never\" is supported when podFailurePolicy is specified";
                context.invalid(path, &policy.into(), vec![detail.into()], errors);
            }
        }
        other => {
            let detail = "supported values: \"OnFailure\", \"Never\"";
            errors.push(context.fault(path, FieldErrorKind::NotSupported, &other.into(), detail));
        }
    }
    match context.root.get("kind").and_then(Value::as_str) {
        Some("Job") => {
            if context.get("selector").is_none() {
                errors.push(context.required("selector", ""));
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

/// Validates the name of the controller of a job.
fn manager(context: &Context<'_>, errors: &mut FieldErrors) {
    let Some(name) = context.get("managedBy").and_then(Value::as_str) else { return };
    prefixed_path::validate(context, "managedBy", errors);
    if name.len() > MOST_MANAGER {
        errors.push(FieldError::too_long(context.path_to("managedBy"), MOST_MANAGER as u64));
    }
}

/// Validates what an indexed job must have, and its limits.
fn indexed(context: &Context<'_>, errors: &mut FieldErrors) {
    let number = |name: &str| context.number(name);
    let (completions, failed) = (number("completions"), number("maxFailedIndexes"));
    let mut at_most = |name: &str, least: i64, detail: String| {
        if let Some(found) = number(name).filter(|number| *number > least) {
            context.invalid(name, &found.into(), vec![detail], errors);
        }
    };
    at_most(
        "parallelism",
        MOST_INDEXED,
        format!("must be less than or equal to {MOST_INDEXED} when completion mode is Indexed"),
    );
    if let Some(completions) = completions {
        at_most("maxFailedIndexes", completions, "must be less than or equal to completions".into());
    }
    at_most("maxFailedIndexes", MOST_INDEXED, format!("must be less than or equal to {MOST_INDEXED}"));
    if completions.is_some_and(|number| number > MANY_COMPLETIONS) && number("backoffLimitPerIndex").is_some()
    {
        let detail = format!(
            "must be less than or equal to {MOST_WITH_MANY_COMPLETIONS} when completions are above {MANY_COMPLETIONS} and used with backoff limit per index"
        );
        at_most("parallelism", MOST_WITH_MANY_COMPLETIONS, detail.clone());
        at_most("maxFailedIndexes", MOST_WITH_MANY_COMPLETIONS, detail);
        if failed.is_none() {
            let detail = format!("must be specified when completions is above {MANY_COMPLETIONS}");
            errors.push(context.required("maxFailedIndexes", &detail));
        }
    }
    if completions.is_none() {
        errors.push(context.required("completions", "when completion mode is Indexed"));
    }
}

/// Validates when an indexed job counts as successful.
fn success_policy(context: &Context<'_>, policy: &Value, errors: &mut FieldErrors) {
    let rules = items(policy.get("rules"));
    if rules.is_empty() {
        let detail = "at least one rules must be specified when the successPolicy is specified";
        errors.push(context.required("successPolicy.rules", detail));
    }
    let completions = context.number("completions").unwrap_or(0);
    for (at, rule) in rules.iter().enumerate() {
        let below = |name: &str| format!("successPolicy.rules[{at}].{name}");
        let count = rule.get("succeededCount").and_then(Value::as_i64);
        let listed = rule.get("succeededIndexes").and_then(Value::as_str);
        if listed.is_some_and(|text| text.len() > MOST_INDEXES) {
            errors
                .push(FieldError::too_long(context.path_to(&below("succeededIndexes")), MOST_INDEXES as u64));
        }
        let total = match listed.map(|text| job_status::intervals(text, completions)) {
            None => None,
            Some(Ok(intervals)) => Some(intervals.iter().map(|(first, last)| last - first + 1).sum()),
            Some(Err(fault)) => {
                let detail = format!("error parsing succeededIndexes: {fault}");
                let value = listed.unwrap_or_default().into();
                context.invalid(&below("succeededIndexes"), &value, vec![detail], errors);
                Some(0)
            }
        };
        let Some(count) = count else { continue };
        let limits = [
            (Some(completions), "the number of specified completions"),
            (total, "the number of indexes in the specified succeededIndexes field"),
        ];
        for (most, what) in limits {
            if let Some(most) = most.filter(|most| count > *most) {
                let detail = format!("must be less than or equal to {most} ({what})");
                context.invalid(&below("succeededCount"), &count.into(), vec![detail], errors);
            }
        }
    }
}

/// What a rule for failures does.
const ACTIONS: [&str; 4] = ["Count", "FailIndex", "FailJob", "Ignore"];
const OPERATORS: [&str; 2] = ["In", "NotIn"];
const STATUSES: [&str; 3] = ["False", "True", "Unknown"];

/// Validates the policies for failures of pods.
fn failure_policy(context: &Context<'_>, errors: &mut FieldErrors) {
    let replacement = context.text("podReplacementPolicy");
    let Some(policy) = context.get("podFailurePolicy") else {
        let known = ["Failed", "TerminatingOrFailed"];
        if context.get("podReplacementPolicy").is_some() && !known.contains(&replacement) {
            errors.push(context.not_supported("podReplacementPolicy", replacement, &known));
        }
        return;
    };
    let containers: Seen<&str> = ["containers", "initContainers"]
        .iter()
        .flat_map(|list| items(context.at(&["template", "spec", list])))
        .map(|container| text(container, "name"))
        .collect();
    for (at, rule) in items(policy.get("rules")).iter().enumerate() {
        let below = |name: &str| format!("podFailurePolicy.rules[{at}].{name}");
        match text(rule, "action") {
            "FailIndex" if context.get("backoffLimitPerIndex").is_none() => {
                let detail = "requires the backoffLimitPerIndex to be set";
                context.invalid(&below("action"), &"FailIndex".into(), vec![detail.into()], errors);
            }
            action => known_word(context, &below("action"), action, &ACTIONS, errors),
        }
        let codes = rule.get("onExitCodes").filter(|codes| !codes.is_null());
        let conditions = items(rule.get("onPodConditions"));
        if let Some(codes) = codes {
            exit_codes(context, &below("onExitCodes"), codes, &containers, errors);
        }
        for (number, pattern) in conditions.iter().enumerate() {
            let pattern_below = |name: &str| below(&format!("onPodConditions[{number}].{name}"));
            let kind = text(pattern, "type");
            context.invalid(&pattern_below("type"), &kind.into(), format::qualified_name(kind), errors);
            known_word(context, &pattern_below("status"), text(pattern, "status"), &STATUSES, errors);
        }
        let fault = match (codes.is_some(), conditions.is_empty()) {
            (true, false) => "specifying both OnExitCodes and OnPodConditions is not supported",
            (false, true) => "specifying one of OnExitCodes and OnPodConditions is required",
            _ => continue,
        };
        let path = context.path_to(&format!("podFailurePolicy.rules[{at}]"));
        let message = format!("Invalid value: {fault}");
        errors.push(FieldError::with_message(FieldErrorKind::Invalid, path, message));
    }
    let has_rules = !items(policy.get("rules")).is_empty();
    if has_rules && context.get("podReplacementPolicy").is_some() && replacement != "Failed" {
        errors.push(context.not_supported("podReplacementPolicy", replacement, &["Failed"]));
    }
}

/// Validates a word that must be given, and be one of those that are known.
fn known_word(context: &Context<'_>, path: &str, word: &str, known: &[&str], errors: &mut FieldErrors) {
    if word.is_empty() {
        let listed: Vec<String> = known.iter().map(|word| format!("{word:?}")).collect();
        errors.push(context.required(path, &format!("valid values: [{}]", listed.join(" "))));
    } else if !known.contains(&word) {
        errors.push(context.not_supported(path, word, known));
    }
}

/// Validates the exit codes of a rule: zero is a success, and they are ordered.
fn exit_codes(
    context: &Context<'_>,
    path: &str,
    rule: &Value,
    containers: &Seen<&str>,
    errors: &mut FieldErrors,
) {
    let operator = text(rule, "operator");
    known_word(context, &format!("{path}.operator"), operator, &OPERATORS, errors);
    if let Some(name) = rule.get("containerName").and_then(Value::as_str)
        && !containers.contains(&name)
    {
        let detail = "must be one of the container or initContainer names in the pod template";
        context.invalid(&format!("{path}.containerName"), &name.into(), vec![detail.into()], errors);
    }
    let codes = items(rule.get("values"));
    let values = format!("{path}.values");
    let given = rule.get("values").cloned().unwrap_or_default();
    if codes.is_empty() {
        context.invalid(&values, &given, vec!["at least one value is required".into()], errors);
    }
    let mut seen = Seen::default();
    for (at, code) in codes.iter().enumerate() {
        let path = format!("{values}[{at}]");
        if operator == "In" && code.as_i64() == Some(0) {
            context.invalid(&path, code, vec!["must not be 0 for the In operator".into()], errors);
        }
        if !seen.insert(code) {
            errors.push(context.fault(&path, FieldErrorKind::Duplicate, code, ""));
        }
    }
    if !codes.is_sorted_by_key(|code| code.as_i64()) {
        context.invalid(&values, &given, vec!["must be ordered".into()], errors);
    }
}

/// Validates that the pods of an indexed job, which are named after it, can have host names.
pub(crate) fn pod_names(job: &Value, errors: &mut FieldErrors) {
    let completions = job.at(["spec", "completions"]).and_then(Value::as_i64).unwrap_or(0);
    let mode = job.at(["spec", "completionMode"]).and_then(Value::as_str);
    if mode != Some("Indexed") || completions <= 0 {
        return;
    }
    let name = job.at(["metadata", "name"]).and_then(Value::as_str).unwrap_or_default();
    let host = format!("{name}-{}", completions - 1);
    if !format::dns_label(&host).is_empty() {
        let detail = format!("will not able to create pod with invalid DNS label: {host}");
        errors.push(FieldError::invalid("metadata.name", &name.into(), detail));
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
