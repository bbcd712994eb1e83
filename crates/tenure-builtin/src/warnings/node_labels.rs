//! Warnings about labels of nodes that have other names today.

use super::fields::text;
use tenure_meta::{ValueExt, format};
use tenure_value::Value;

/// The deprecated labels, and what is said about them.
const DEPRECATED: [(&str, &str); 8] = [
    ("app.kubernetes.io/created-by", "deprecated since v1.9"),
    ("beta.kubernetes.io/arch", "deprecated since v1.14; use \"kubernetes.io/arch\" instead"),
    (
        "beta.kubernetes.io/instance-type",
        "deprecated since v1.17; use \"node.kubernetes.io/instance-type\" instead",
    ),
    ("beta.kubernetes.io/os", "deprecated since v1.14; use \"kubernetes.io/os\" instead"),
    (
        "failure-domain.beta.kubernetes.io/region",
        "deprecated since v1.17; use \"topology.kubernetes.io/region\" instead",
    ),
    (
        "failure-domain.beta.kubernetes.io/zone",
        "deprecated since v1.17; use \"topology.kubernetes.io/zone\" instead",
    ),
    ("node-role.kubernetes.io/master", "use \"node-role.kubernetes.io/control-plane\" instead"),
    (
        "scheduler.alpha.kubernetes.io/preferAvoidPods",
        "deprecated since v1.22; use Taints and Tolerations instead",
    ),
];

/// Returns what is said about a label.
fn about(label: &str) -> Option<&'static str> {
    DEPRECATED.iter().find(|(deprecated, _)| *deprecated == label).map(|(_, text)| *text)
}

/// Warns of the keys of a node selector; `path` makes the path of one.
pub(super) fn of_selector(
    selector: Option<&Value>,
    path: impl Fn(&str) -> String,
    warnings: &mut Vec<String>,
) {
    let labels = selector.and_then(Value::as_object).into_iter().flat_map(|labels| labels.iter());
    for (label, _) in labels {
        if let Some(text) = about(label) {
            warnings.push(format!("{}: {text}", path(label)));
        }
    }
}

/// Warns of the key of a topology.
pub(super) fn of_key(key: &str, path: impl Fn() -> String, warnings: &mut Vec<String>) {
    if let Some(text) = about(key) {
        warnings.push(format!("{}: {key} is {text}", path()));
    }
}

/// Warns of the label of a topology of volumes.
pub(super) fn of_topology(key: &str, path: impl Fn() -> String, warnings: &mut Vec<String>) {
    if let Some(text) = about(key) {
        warnings.push(format!("{}: {text}", path()));
    }
}

/// Warns of the affinity of a pod to nodes.
pub(super) fn of_affinity(affinity: &Value, path: &str, warnings: &mut Vec<String>) {
    let required = "requiredDuringSchedulingIgnoredDuringExecution";
    if let Some(required_terms) = affinity.get(required) {
        of_terms(required_terms, &format!("{path}.{required}"), warnings);
    }
    let preferred = "preferredDuringSchedulingIgnoredDuringExecution";
    for (at, term) in affinity.items(preferred).iter().enumerate() {
        if let Some(term) = term.get("preference") {
            of_term(term, true, &format!("{path}.{preferred}[{at}].preference"), warnings);
        }
    }
}

/// Warns of the terms of a selector of nodes.
pub(super) fn of_terms(selector: &Value, path: &str, warnings: &mut Vec<String>) {
    for (at, term) in selector.items("nodeSelectorTerms").iter().enumerate() {
        of_term(term, false, &format!("{path}.nodeSelectorTerms[{at}]"), warnings);
    }
}

fn of_term(term: &Value, checks_values: bool, path: &str, warnings: &mut Vec<String>) {
    for (at, expression) in term.items("matchExpressions").iter().enumerate() {
        of_key(text(expression, "key"), || format!("{path}.matchExpressions[{at}].key"), warnings);
        let values = expression.items("values").iter().enumerate().filter(|_| checks_values);
        for (index, value) in values {
            let value = value.as_str().unwrap_or_default();
            for fault in format::label_value(value) {
                let path = format!("{path}.matchExpressions[{at}].values[{index}]");
                warnings.push(format!("{path}: {value} is invalid, {fault}"));
            }
        }
    }
}

/// Warns of a selector of nodes that is a selector of labels.
pub(super) fn of_label_selector(selector: &Value, path: &str, warnings: &mut Vec<String>) {
    for (at, expression) in selector.items("matchExpressions").iter().enumerate() {
        of_key(text(expression, "key"), || format!("{path}.matchExpressions[{at}].key"), warnings);
    }
    of_selector(selector.get("matchLabels"), |label| format!("{path}.matchLabels.{label}"), warnings);
}
