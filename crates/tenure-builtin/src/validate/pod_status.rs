//! Validation of updates of the status of a pod: a container that has ended for good stays so.

use super::context::{items, text};
use std::collections::HashMap;
use tenure_meta::{FieldError, FieldErrorKind};
use tenure_value::Value;

/// The statuses of containers, and the containers they are of.
const STATUSES: [(&str, &str); 3] = [
    ("containerStatuses", "containers"),
    ("initContainerStatuses", "initContainers"),
    ("ephemeralContainerStatuses", ""),
];

/// Returns items by their names; the first one if several have the same.
fn by_name(list: &[Value]) -> HashMap<&str, &Value> {
    list.iter().rev().map(|item| (text(item, "name"), item)).collect()
}

fn at<'v>(value: &'v Value, path: [&str; 2]) -> &'v str {
    value.at(path).and_then(Value::as_str).unwrap_or_default()
}

/// Returns the errors of an updated status.
pub(super) fn pod_status(old: &Value, new: &Value) -> Vec<FieldError> {
    let mut errors = Vec::new();
    let mut forbid = |path: String, detail: &str| {
        errors.push(FieldError::new(FieldErrorKind::Forbidden, path, &Value::Null, detail));
    };
    let nominated = at(new, ["status", "nominatedNodeName"]);
    let is_bound = !at(old, ["spec", "nodeName"]).is_empty();
    if is_bound && !nominated.is_empty() && nominated != at(old, ["status", "nominatedNodeName"]) {
        let detail = "may not be set on pods that are already bound to a node";
        forbid("status.nominatedNodeName".into(), detail);
    }
    let all_restart = all_restart(old);
    for (list, containers) in STATUSES {
        let after = by_name(items(new.at(["status", list])));
        let containers = by_name(items(old.at(["spec", containers])));
        for (place, was) in items(old.at(["status", list])).iter().enumerate() {
            let terminated = |container: &&Value| {
                container.at(["state", "terminated"]).is_some_and(|state| !state.is_null())
            };
            let name = text(was, "name");
            if !terminated(&was) || after.get(name).is_none_or(terminated) {
                continue;
            }
            let code = was.at(["state", "terminated", "exitCode"]).and_then(Value::as_i64).unwrap_or(0);
            if !all_restart && !containers.get(name).is_some_and(|container| restarts(old, container, code)) {
                let detail = "may not be transitioned to non-terminated state";
                forbid(format!("status.{list}[{place}].state"), detail);
            }
        }
    }
    for (place, status) in items(new.at(["status", "ephemeralContainerStatuses"])).iter().enumerate() {
        if !items(status.get("allocatedResourcesStatus")).is_empty() {
            let path = format!("status.ephemeralContainerStatuses[{place}].allocatedResourcesStatus");
            forbid(path, "must not be specified in container status");
        }
    }
    errors
}

/// Whether a container of a pod starts again after it has ended with a code.
fn restarts(pod: &Value, container: &Value, code: i64) -> bool {
    let is_met = |rule: &&Value| {
        let has = items(rule.at(["exitCodes", "values"])).iter().any(|value| value.as_i64() == Some(code));
        match rule.at(["exitCodes", "operator"]).and_then(Value::as_str) {
            Some("In") => has,
            Some("NotIn") => !has,
            _ => false,
        }
    };
    if let Some(rule) = items(container.get("restartPolicyRules")).iter().find(is_met) {
        return text(rule, "action") == "Restart";
    }
    let of_pod = pod.at(["spec", "restartPolicy"]).and_then(Value::as_str).unwrap_or_default();
    match Some(text(container, "restartPolicy")).filter(|policy| !policy.is_empty()).unwrap_or(of_pod) {
        "Always" => true,
        "OnFailure" => code != 0,
        _ => false,
    }
}

/// Whether the end of one container can restart all of them.
fn all_restart(pod: &Value) -> bool {
    let lists = ["initContainers", "containers"].into_iter();
    let containers = lists.flat_map(|list| items(pod.at(["spec", list])));
    let mut rules = containers.flat_map(|container| items(container.get("restartPolicyRules")));
    rules.any(|rule| text(rule, "action") == "RestartAllContainers")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn containers_restart_as_their_policies_say() {
        let rule =
            r#""restartPolicyRules":[{"action":"Restart","exitCodes":{"operator":"In","values":[42]}}]"#;
        let table = [
            ("Always", r#"{"name":"c"}"#.to_string(), 0, true),
            ("OnFailure", r#"{"name":"c"}"#.to_string(), 0, false),
            ("OnFailure", r#"{"name":"c"}"#.to_string(), 1, true),
            ("Never", r#"{"name":"c"}"#.to_string(), 1, false),
            ("Never", r#"{"name":"c","restartPolicy":"Always"}"#.to_string(), 0, true),
            ("Never", format!(r#"{{"name":"c","restartPolicy":"Never",{rule}}}"#), 42, true),
            ("Never", format!(r#"{{"name":"c","restartPolicy":"Never",{rule}}}"#), 1, false),
        ];
        for (policy, container, code, expected) in table {
            let pod: Value = format!(
                r#"{{"spec":{{"restartPolicy":"{policy}","containers":[{container}]}},"status":{{"containerStatuses":[{{"name":"c","state":{{"terminated":{{"exitCode":{code}}}}}}}]}}}}"#
            )
            .parse()
            .unwrap();
            let running: Value =
                r#"{"status":{"containerStatuses":[{"name":"c","state":{"running":{}}}]}}"#.parse().unwrap();
            assert_eq!(pod_status(&pod, &running).is_empty(), expected, "{policy} {container} {code}");
            assert!(pod_status(&pod, &pod).is_empty(), "{policy} {container} {code}");
        }
    }
}
