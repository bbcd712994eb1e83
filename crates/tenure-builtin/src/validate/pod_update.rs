//! What an update of a pod may change: its deadline only shrinks, scheduling gates only go, and while a pod is gated its node
//! selector and node affinity only narrow. A new pod has neither ephemeral containers nor a node that its gates exclude.

use super::{context::items, diff::diff, removed_paths::without};
use tenure_meta::{FieldError, FieldErrorKind, FieldErrors, Seen};
use tenure_value::{Text, Value};

const DEADLINE: &str = "spec.activeDeadlineSeconds";
const AFFINITY: [&str; 4] =
    ["spec", "affinity", "nodeAffinity", "requiredDuringSchedulingIgnoredDuringExecution"];

fn gates(pod: &Value) -> &[Value] {
    items(pod.at(["spec", "schedulingGates"]))
}

/// Checks a new pod.
pub(crate) fn new_pod(pod: &Value, errors: &mut FieldErrors) {
    let mut forbid = |field: &str, why: &str| {
        errors.push(FieldError::new(FieldErrorKind::Forbidden, field, &Value::Null, why));
    };
    if !items(pod.at(["spec", "ephemeralContainers"])).is_empty() {
        forbid("spec.ephemeralContainers", "cannot be set on create");
    }
    let node = pod.at(["spec", "nodeName"]).and_then(Value::as_str).unwrap_or_default();
    if !node.is_empty() && !gates(pod).is_empty() {
        forbid("spec.nodeName", "cannot be set until all schedulingGates have been cleared");
    }
}

/// The fields of the spec that an update may change, if no other rule forbids it.
const CHANGEABLE: [&str; 5] = [
    "containers[].image",
    "initContainers[].image",
    "activeDeadlineSeconds",
    "tolerations",
    "schedulingGates",
];

/// Checks an update of a pod, after its content was checked.
pub(super) fn check(old: &Value, new: &Value, errors: &mut FieldErrors) {
    for list in ["containers", "initContainers"] {
        if containers(list, old, new, errors) == Outcome::Final {
            return;
        }
    }
    if let Err(DeadlineError { error, outcome }) = deadline(old, new) {
        errors.push(error);
        if outcome == Outcome::Final {
            return;
        }
    }
    tolerations(old, new, errors);
    errors.extend(removed_gates(old, new));
    let mut changeable: Vec<Text> = CHANGEABLE.map(Text::new).into();
    if !gates(old).is_empty() {
        errors.extend(node_selector(old, new));
        errors.extend(node_affinity(old, new));
        changeable.extend(["nodeSelector", "affinity.nodeAffinity"].map(Text::new));
    }
    let grace = |pod: &Value| pod.at(["spec", "terminationGracePeriodSeconds"]).and_then(Value::as_i64);
    if grace(old).is_some_and(|seconds| seconds < 0) && grace(new) == Some(1) {
        changeable.push("terminationGracePeriodSeconds".into());
    }
    let spec = |pod: &Value| without(pod.get("spec").unwrap_or(&Value::Null), &changeable);
    let (was, is) = (spec(old), spec(new));
    if was != is {
        errors.push(FieldError::forbidden("spec", format!("{UNCHANGEABLE}\n{}", diff(&was, &is))));
    }
}

const UNCHANGEABLE: &str = "pod updates may not change fields other than `spec.containers[*].image`,`spec.initContainers[*].image`,`spec.activeDeadlineSeconds`,`spec.tolerations` (only additions to existing tolerations),`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously negative)";

#[derive(Debug, PartialEq, Eq)]
enum Outcome {
    GoesOn,
    /// Nothing else is worth checking.
    Final,
}

/// Checks that containers stay, and have images.
fn containers(list: &str, old: &Value, new: &Value, errors: &mut FieldErrors) -> Outcome {
    let (was, is) = (items(old.at(["spec", list])), items(new.at(["spec", list])));
    if was.len() != is.len() {
        let detail = "pod updates may not add or remove containers";
        errors.push(FieldError::forbidden(format!("spec.{list}"), detail));
        return Outcome::Final;
    }
    for (at, container) in is.iter().enumerate() {
        let image = container.get("image").and_then(Value::as_str).unwrap_or_default();
        let path = format!("spec.{list}[{at}].image");
        if image.is_empty() {
            errors.push(FieldError::required(&path, ""));
        }
        if image.trim() != image {
            let detail = "must not have leading or trailing whitespace";
            errors.push(FieldError::invalid(&path, &image.into(), detail));
        }
    }
    Outcome::GoesOn
}

/// Checks that tolerations are only added, but for their seconds; then they are validated again.
fn tolerations(old: &Value, new: &Value, errors: &mut FieldErrors) {
    const PATH: &str = "spec.tolerations";
    let all = |pod: &Value| -> Vec<Value> {
        let list = items(pod.at(["spec", "tolerations"])).iter();
        list.map(|toleration| without(toleration, &["tolerationSeconds".into()])).collect()
    };
    let is: Seen<Value> = all(new).into_iter().collect();
    if !all(old).iter().all(|toleration| is.contains(toleration)) {
        let detail = "existing toleration can not be modified except its tolerationSeconds";
        return errors.push(FieldError::forbidden(PATH, detail));
    }
    let again: Vec<FieldError> =
        errors.iter().filter(|error| error.path.starts_with(PATH)).cloned().collect();
    errors.extend(again);
}

/// Checks that the deadline of a pod is set, or becomes shorter.
fn deadline(old: &Value, new: &Value) -> Result<(), DeadlineError> {
    let seconds = |pod: &Value| pod.at(["spec", "activeDeadlineSeconds"]).and_then(Value::as_i64);
    let (value, detail, outcome) = match (seconds(old), seconds(new)) {
        (_, Some(is)) if !(0..=i64::from(i32::MAX)).contains(&is) => {
            (is.into(), "must be between 0 and 2147483647, inclusive", Outcome::Final)
        }
        (Some(was), Some(is)) if was < is => {
            (is.into(), "must be less than or equal to previous value", Outcome::Final)
        }
        (Some(_), None) => {
            (Value::Null, "must not update from a positive integer to nil value", Outcome::GoesOn)
        }
        _ => return Ok(()),
    };
    Err(DeadlineError { error: FieldError::invalid(DEADLINE, &value, detail), outcome })
}

/// What is wrong with a deadline, and whether the rest of the pod is checked.
#[derive(Debug)]
struct DeadlineError {
    error: FieldError,
    outcome: Outcome,
}

/// Checks that no scheduling gate is added.
pub(super) fn removed_gates(old: &Value, new: &Value) -> Vec<FieldError> {
    let name = |gate: &'_ Value| gate.get("name").and_then(Value::as_str).unwrap_or_default().to_string();
    let had: Seen<String> = gates(old).iter().map(name).collect();
    let added = gates(new).iter().enumerate().filter(|(_, gate)| !had.contains(&name(gate)));
    let refuse = |(at, gate): (usize, &Value)| {
        let detail = format!("only deletion is allowed, but found new scheduling gate '{}'", name(gate));
        let path = format!("spec.schedulingGates[{at}].name");
        FieldError::new(FieldErrorKind::Forbidden, path, &Value::Null, detail)
    };
    added.map(refuse).collect()
}

/// Checks that the node selector of a gated pod has all that it had.
pub(super) fn node_selector(old: &Value, new: &Value) -> Vec<FieldError> {
    let selector = |pod: &Value| pod.at(["spec", "nodeSelector"]).and_then(Value::as_object).cloned();
    let (was, is) = (selector(old).unwrap_or_default(), selector(new).unwrap_or_default());
    if was.iter().all(|(key, value)| is.get(key) == Some(value)) {
        return Vec::new();
    }
    let detail = "only additions to spec.nodeSelector are allowed (no mutations or deletions)";
    vec![FieldError::invalid("spec.nodeSelector", &is.into(), detail)]
}

/// Checks that the terms of the node affinity of a gated pod only get further requirements.
pub(super) fn node_affinity(old: &Value, new: &Value) -> Vec<FieldError> {
    let terms = |pod: &'_ Value| items(pod.at(AFFINITY.into_iter().chain(["nodeSelectorTerms"]))).to_vec();
    let (was, is) = (terms(old), terms(new));
    let path = format!("{}.nodeSelectorTerms", AFFINITY.join("."));
    if was.is_empty() {
        return Vec::new();
    }
    if was.len() != is.len() {
        let detail = "no additions/deletions to non-empty NodeSelectorTerms list are allowed";
        return vec![FieldError::invalid(path, &Value::array(is), detail)];
    }
    let changed = was.iter().zip(&is).enumerate().filter(|(_, (was, is))| !only_narrows(was, is));
    changed
        .map(|(at, (_, is))| {
            let detail = "only additions are allowed (no mutations or deletions)";
            FieldError::invalid(format!("{path}[{at}]"), is, detail)
        })
        .collect()
}

/// Whether a term has the requirements it had, followed by others. An empty term matches nothing, and stays empty.
fn only_narrows(was: &Value, is: &Value) -> bool {
    const LISTS: [&str; 2] = ["matchExpressions", "matchFields"];
    let was_empty = LISTS.iter().all(|list| items(was.get(list)).is_empty());
    LISTS.iter().all(|list| {
        let (was, is) = (items(was.get(list)), items(is.get(list)));
        if was_empty { is.is_empty() } else { is.starts_with(was) }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pod(spec: &str) -> Value {
        format!(r#"{{"spec":{spec}}}"#).parse().unwrap()
    }

    #[test]
    fn a_deadline_is_set_or_shortened() {
        for (was, is, expected) in [
            ("{}", "{}", true),
            ("{}", r#"{"activeDeadlineSeconds":60}"#, true),
            (r#"{"activeDeadlineSeconds":60}"#, r#"{"activeDeadlineSeconds":30}"#, true),
            (r#"{"activeDeadlineSeconds":30}"#, r#"{"activeDeadlineSeconds":60}"#, false),
            (r#"{"activeDeadlineSeconds":30}"#, "{}", false),
        ] {
            assert_eq!(deadline(&pod(was), &pod(is)).is_ok(), expected, "{was} {is}");
        }
    }

    #[test]
    fn gates_are_only_removed() {
        let two = pod(r#"{"schedulingGates":[{"name":"a"},{"name":"b"}]}"#);
        let one = pod(r#"{"schedulingGates":[{"name":"b"}]}"#);
        assert_eq!(removed_gates(&two, &one), []);
        let errors = removed_gates(&one, &two);
        assert_eq!(
            errors[0].to_string(),
            "spec.schedulingGates[0].name: Forbidden: only deletion is allowed, but found new scheduling gate 'a'"
        );
    }

    #[test]
    fn the_directives_of_a_gated_pod_only_narrow() {
        for (was, is, expected) in [
            ("{}", r#"{"nodeSelector":{"a":"1"}}"#, true),
            (r#"{"nodeSelector":{"a":"1"}}"#, r#"{"nodeSelector":{"a":"1","b":"2"}}"#, true),
            (r#"{"nodeSelector":{"a":"1"}}"#, r#"{"nodeSelector":{"a":"2"}}"#, false),
            (r#"{"nodeSelector":{"a":"1"}}"#, "{}", false),
        ] {
            assert_eq!(node_selector(&pod(was), &pod(is)).is_empty(), expected, "{was} {is}");
        }
        let affinity = |terms: &str| {
            let required = AFFINITY[3];
            pod(&format!(
                r#"{{"affinity":{{"nodeAffinity":{{"{required}":{{"nodeSelectorTerms":{terms}}}}}}}}}"#
            ))
        };
        for (was, is, expected) in [
            ("[]", r#"[{"matchExpressions":[{"key":"a"}]}]"#, true),
            (
                r#"[{"matchExpressions":[{"key":"a"}]}]"#,
                r#"[{"matchExpressions":[{"key":"a"},{"key":"b"}]}]"#,
                true,
            ),
            (r#"[{"matchExpressions":[{"key":"a"}]}]"#, r#"[{"matchExpressions":[{"key":"b"}]}]"#, false),
            (r#"[{"matchExpressions":[{"key":"a"}]}]"#, "[]", false),
            ("[{}]", r#"[{"matchFields":[{"key":"a"}]}]"#, false),
        ] {
            assert_eq!(node_affinity(&affinity(was), &affinity(is)).is_empty(), expected, "{was} {is}");
        }
    }
}
