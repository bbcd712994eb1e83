//! Validation of updates of the status of a job: a job that has finished stays so, and its fields agree. A rule applies only if
//! something that it is about changes, so that a status that an older server accepted does not block other updates.

use tenure_meta::{FieldError, FieldErrorKind, Seen};
use tenure_value::Value;

/// Conditions that stay once they are true.
const TERMINAL: [&str; 4] = ["Failed", "Complete", "FailureTarget", "SuccessCriteriaMet"];

/// Conditions that exclude each other.
const EXCLUSIVE: [(&str, &str); 4] = [
    ("Complete", "Failed"),
    ("Complete", "FailureTarget"),
    ("SuccessCriteriaMet", "Failed"),
    ("SuccessCriteriaMet", "FailureTarget"),
];

/// A condition, and the one that must be set before or with it.
const PRECEDED: [(&str, &str); 2] = [("Failed", "FailureTarget"), ("Complete", "SuccessCriteriaMet")];

/// One version of a job.
struct Job<'j>(&'j Value);

impl<'j> Job<'j> {
    fn get(&self, name: &str) -> Option<&'j Value> {
        self.0.at(["status", name]).filter(|value| !value.is_null())
    }

    fn spec(&self, name: &str) -> Option<&'j Value> {
        self.0.at(["spec", name]).filter(|value| !value.is_null())
    }

    fn text(&self, name: &str) -> &'j str {
        self.get(name).and_then(Value::as_str).unwrap_or_default()
    }

    fn number(&self, name: &str) -> i64 {
        self.get(name).and_then(Value::as_i64).unwrap_or(0)
    }

    /// Whether a condition has this status.
    fn is(&self, condition: &str, status: &str) -> bool {
        let conditions = self.get("conditions").and_then(Value::as_array);
        conditions.map(|list| list.items()).unwrap_or_default().iter().any(|listed| {
            let text = |name: &str| listed.get(name).and_then(Value::as_str);
            text("type") == Some(condition) && text("status") == Some(status)
        })
    }

    fn is_true(&self, condition: &str) -> bool {
        self.is(condition, "True")
    }

    fn is_finished(&self) -> bool {
        self.is_true("Complete") || self.is_true("Failed")
    }

    fn is_indexed(&self) -> bool {
        self.spec("completionMode").and_then(Value::as_str) == Some("Indexed")
    }

    /// The pods that are not counted yet, with the list that each is in and its place.
    fn uncounted(&self) -> impl Iterator<Item = (&'static str, usize, &'j Value)> {
        let pods = self.get("uncountedTerminatedPods");
        ["succeeded", "failed"].into_iter().flat_map(move |list| {
            let items = pods.and_then(|pods| pods.get(list)).and_then(Value::as_array);
            let items = items.map(|items| items.items()).unwrap_or_default();
            items.iter().enumerate().map(move |(at, pod)| (list, at, pod))
        })
    }
}

/// Returns the errors of an updated status.
pub(super) fn job_status(old: &Value, new: &Value) -> Vec<FieldError> {
    let (old, new) = (Job(old), Job(new));
    let mut errors = Vec::new();
    uncounted(&new, &mut errors);
    conditions(&old, &new, &mut errors);
    times(&old, &new, &mut errors);
    counters(&old, &new, &mut errors);
    indexes(&old, &new, &mut errors);
    errors
}

fn invalid(name: &str, value: Option<&Value>, detail: &str) -> FieldError {
    FieldError::invalid(format!("status.{name}"), &value.cloned().unwrap_or_default(), detail)
}

fn required(name: &str, detail: &str) -> FieldError {
    FieldError::new(FieldErrorKind::Required, format!("status.{name}"), &Value::Null, detail)
}

fn uncounted(new: &Job<'_>, errors: &mut Vec<FieldError>) {
    let mut seen = Seen::default();
    for (list, at, pod) in new.uncounted() {
        let path = format!("status.uncountedTerminatedPods.{list}[{at}]");
        match pod.as_str() {
            None | Some("") => errors.push(FieldError::invalid(&path, pod, "must not be empty")),
            Some(uid) if !seen.insert(uid) => {
                errors.push(FieldError::new(FieldErrorKind::Duplicate, &path, pod, ""));
            }
            Some(_) => {}
        }
    }
}

fn conditions(old: &Job<'_>, new: &Job<'_>, errors: &mut Vec<FieldError>) {
    let changes = |condition: &str| old.is_true(condition) != new.is_true(condition);
    let mut report = |detail: String| errors.push(invalid("conditions", None, &detail));
    for (one, other) in EXCLUSIVE {
        let is_about = one == "SuccessCriteriaMet" || changes(one) || changes(other);
        if is_about && new.is_true(one) && new.is_true(other) {
            report(format!("cannot set {one}=True and {other}=true conditions"));
        }
    }
    for (condition, before) in PRECEDED {
        let is_about = match condition {
            "Failed" => changes("Failed") || old.get("failedIndexes") != new.get("failedIndexes"),
            _ => changes(condition) || changes(before),
        };
        if is_about && new.is_true(condition) && !new.is_true(before) {
            report(format!("cannot set {condition}=True condition without the {before}=true condition"));
        }
    }
    if new.spec("successPolicy").is_some() && new.is_true("Complete") && !new.is_true("SuccessCriteriaMet") {
        report("cannot set Complete=True for Job with SuccessPolicy unless SuccessCriteriaMet=True".into());
    }
    for condition in
        TERMINAL.into_iter().filter(|condition| old.is_true(condition) && !new.is_true(condition))
    {
        let terminal = if condition == "SuccessCriteriaMet" { "" } else { "terminal " };
        report(format!("cannot disable the {terminal}{condition}=True condition"));
    }
    if old.is_true("Complete") && !old.is_true("SuccessCriteriaMet") && new.is_true("SuccessCriteriaMet") {
        report("cannot set SuccessCriteriaMet=True for Job already has Complete=true conditions".into());
    }
}

fn times(old: &Job<'_>, new: &Job<'_>, errors: &mut Vec<FieldError>) {
    let (start, completion) = (new.get("startTime"), new.get("completionTime"));
    let completes =
        old.is_true("Complete") != new.is_true("Complete") || old.get("completionTime") != completion;
    match completion {
        Some(time) if completes && !new.is_true("Complete") => {
            let detail = "cannot set completionTime when there is no Complete=True condition";
            errors.push(invalid("completionTime", Some(time), detail));
        }
        None if completes && new.is_true("Complete") => {
            errors.push(required("completionTime", "completionTime is required for Complete jobs"));
        }
        _ => {}
    }
    let starts = old.get("startTime") != start;
    // Times are in UTC and in seconds, so that their texts have their order.
    let is_before =
        completion.is_some() && start.is_some() && new.text("completionTime") < new.text("startTime");
    if is_before && (starts || old.get("completionTime") != completion) {
        errors.push(invalid("completionTime", completion, "must be equal to or after `startTime`"));
    }
    let is_idle =
        new.spec("suspend") == Some(&Value::Bool(true)) && new.spec("completions") == Some(&0.into());
    if (starts || old.is_finished() != new.is_finished()) && !is_idle && start.is_none() && new.is_finished()
    {
        errors.push(required("startTime", "startTime is required for finished job"));
    }
    if completion.is_some() && old.get("completionTime").is_some_and(|was| Some(was) != completion) {
        errors.push(invalid("completionTime", completion, "field is immutable"));
    }
    let resumes = old.is_true("Suspended") && new.is("Suspended", "False");
    let is_suspended = new.spec("suspend") == Some(&Value::Bool(true));
    if starts && old.get("startTime").is_some() && !resumes && !is_suspended {
        errors.push(invalid("startTime", start, "field is immutable for unsuspended job once set"));
    }
}

fn counters(old: &Job<'_>, new: &Job<'_>, errors: &mut Vec<FieldError>) {
    let finishes = old.is_finished() != new.is_finished();
    let changes = |name: &str| old.get(name) != new.get(name);
    for name in ["active", "terminating"] {
        if (finishes || changes(name)) && new.is_finished() && new.number(name) > 0 {
            errors.push(invalid(name, new.get(name), &format!("{name}>0 is invalid for finished job")));
        }
    }
    let pods = "uncountedTerminatedPods";
    if (finishes || changes(pods)) && new.is_finished() && new.uncounted().next().is_some() {
        errors.push(invalid(pods, new.get(pods), "must be empty for finished job"));
    }
    if (changes("ready") || changes("active")) && new.number("ready") > new.number("active") {
        errors.push(invalid("ready", new.get("ready"), "cannot set more ready pods than active"));
    }
    // An indexed job with as many completions as parallel pods can be scaled down.
    let scales = new.is_indexed() && new.spec("completions") == new.spec("parallelism");
    for name in ["failed", "succeeded"] {
        if new.number(name) < old.number(name) && !(scales && name == "succeeded") {
            let value = Value::from(new.number(name));
            errors.push(invalid(name, Some(&value), &format!("cannot decrease the {name} counter")));
        }
    }
}

fn indexes(old: &Job<'_>, new: &Job<'_>, errors: &mut Vec<FieldError>) {
    let (completed, failed) = (new.text("completedIndexes"), new.get("failedIndexes"));
    let completes = old.text("completedIndexes") != completed;
    let fails = old.get("failedIndexes") != failed;
    let limited = new.spec("backoffLimitPerIndex").is_some();
    if let Some(completions) = new.spec("completions").and_then(Value::as_i64) {
        let mut check = |name: &str, is_about: bool| {
            if let Some(Err(fault)) = is_about.then(|| intervals(new.text(name), completions)) {
                errors.push(invalid(name, new.get(name), &format!("error parsing {name}: {fault}")));
            }
        };
        check("completedIndexes", completes);
        check("failedIndexes", fails && limited);
        if (completes || fails)
            && let Some(index) = overlap(completed, new.text("failedIndexes"), completions)
        {
            let detail = format!("failedIndexes and completedIndexes overlap at index: {index}");
            errors.push(invalid("failedIndexes", failed, &detail));
        }
    }
    if completes && !completed.is_empty() && !new.is_indexed() {
        let detail = "cannot set non-empty completedIndexes when non-indexed completion mode";
        errors.push(invalid("completedIndexes", new.get("completedIndexes"), detail));
    }
    if fails && failed.is_some() && !limited {
        let detail = "cannot set non-null failedIndexes when backoffLimitPerIndex is null";
        errors.push(invalid("failedIndexes", failed, detail));
    }
}

/// Returns the intervals of a list such as `1,3-5`, in which indexes grow.
pub(super) fn intervals(text: &str, completions: i64) -> Result<Vec<(i64, i64)>, String> {
    let mut intervals: Vec<(i64, i64)> = Vec::new();
    for part in text.split(',').filter(|_| !text.is_empty()) {
        let interval = interval(part, completions)?;
        if let Some((_, last)) = intervals.last().filter(|(_, last)| *last >= interval.0) {
            return Err(format!("non-increasing order, previous: {last}, current: {}", interval.0));
        }
        intervals.push(interval);
    }
    Ok(intervals)
}

fn interval(text: &str, completions: i64) -> Result<(i64, i64), String> {
    let index = |text: &str| match text.parse::<i64>() {
        Err(_) => Err(format!("cannot convert string to integer for index: {text:?}")),
        Ok(index) if index >= completions => Err(format!("too large index: {text:?}")),
        Ok(index) => Ok(index),
    };
    match text.split('-').collect::<Vec<_>>()[..] {
        [only] => index(only).map(|index| (index, index)),
        [first, last] => match (index(first)?, index(last)?) {
            (first, last) if first >= last => {
                Err(format!("non-increasing order, previous: {first}, current: {last}"))
            }
            interval => Ok(interval),
        },
        _ => Err(format!(
            "the fragment {text:?} violates the requirement that an index interval can have at most two parts separated by '-'"
        )),
    }
}

/// Returns the first index that is in both lists; parts that are not valid are reported elsewhere.
fn overlap(completed: &str, failed: &str, completions: i64) -> Option<i64> {
    let parse = |text: &str| -> Vec<(i64, i64)> {
        text.split(',').filter_map(|part| interval(part, completions).ok()).collect()
    };
    let (completed, failed) = (parse(completed), parse(failed));
    let (mut one, mut other) = (completed.iter().peekable(), failed.iter().peekable());
    while let (Some(a), Some(b)) = (one.peek(), other.peek()) {
        if a.0 <= b.1 && b.0 <= a.1 {
            return Some(a.0.max(b.0));
        }
        if a.0 <= b.0 {
            one.next()
        } else {
            other.next()
        };
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_of_indexes_grow_and_stay_below_the_completions() {
        assert_eq!(intervals("", 3), Ok(vec![]));
        assert_eq!(intervals("0,2-4", 5), Ok(vec![(0, 0), (2, 4)]));
        for wrong in ["a", "1-2-3", "5", "2-9", "3-3", "1,1", "2,1", "1,", "-"] {
            assert!(intervals(wrong, 5).is_err(), "{wrong}");
        }
    }

    #[test]
    fn lists_of_indexes_overlap_in_one_index_or_in_none() {
        let table =
            [("0-3", "3", Some(3)), ("0,2,4", "1,3", None), ("0,5-7", "1-2,6", Some(6)), ("", "1", None)];
        for (completed, failed, index) in table {
            assert_eq!(overlap(completed, failed, 10), index, "{completed} {failed}");
        }
    }
}
