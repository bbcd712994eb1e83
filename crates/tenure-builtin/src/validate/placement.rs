//! Validation of placement: node selector terms, affinity between pods, how pods spread, and allowed topologies of volumes.

use super::context::Context;
use std::collections::{HashMap, HashSet};
use tenure_meta::{FieldErrorKind, FieldErrors, Seen, ValueExt, format};
use tenure_value::Value;

/// The field of the preferred terms of an affinity.
const PREFERRED: &str = "preferredDuringSchedulingIgnoredDuringExecution";

/// Validates a node selector term: comparisons have one value, and the only field is `metadata.name`.
pub(crate) fn node_term(context: &Context<'_>, errors: &mut FieldErrors) {
    let is_preferred = context.path.names().contains(&Some(PREFERRED));
    for (at, expression) in context.items("matchExpressions").iter().enumerate() {
        if matches!(expression.text("operator").as_str(), "Gt" | "Lt")
            && expression.items("values").len() != 1
        {
            let detail = "must be specified single value when `operator` is 'Lt' or 'Gt'";
            let path = format!("matchExpressions[{at}].values");
            errors.push(context.fault(&path, FieldErrorKind::Required, &Value::Null, detail));
        }
        // A preferred term whose values no label has is warned of.
        let values = expression.items("values").iter().enumerate().filter(|_| !is_preferred);
        for (number, value) in values {
            for fault in value.as_str().map(format::label_value).unwrap_or_default() {
                let path = format!("matchExpressions[{at}].values[{number}]");
                errors.push(context.fault(&path, FieldErrorKind::Invalid, value, &fault));
            }
        }
    }
    for (at, field) in context.items("matchFields").iter().enumerate() {
        let below = |name: &str| format!("matchFields[{at}].{name}");
        if !matches!(field.text("operator").as_str(), "In" | "NotIn") {
            let value = field.text("operator").into();
            errors.push(context.fault(
                &below("operator"),
                FieldErrorKind::Invalid,
                &value,
                "not a valid selector operator",
            ));
        } else if field.items("values").len() != 1 {
            let detail = "must be only one value when `operator` is 'In' or 'NotIn' for node field selector";
            errors.push(context.fault(&below("values"), FieldErrorKind::Required, &Value::Null, detail));
        }
        if field.text("key") != "metadata.name" {
            let value = field.text("key").into();
            errors.push(context.fault(
                &below("key"),
                FieldErrorKind::Invalid,
                &value,
                "not a valid field selector key",
            ));
        }
        for (number, value) in field.items("values").iter().enumerate() {
            for fault in value.as_str().map(format::dns_subdomain).unwrap_or_default() {
                let path = below(&format!("values[{number}]"));
                errors.push(context.fault(&path, FieldErrorKind::Invalid, value, &fault));
            }
        }
    }
}

/// Validates a term of the affinity between pods.
pub(crate) fn affinity_term(context: &Context<'_>, errors: &mut FieldErrors) {
    for namespace in context.items("namespaces") {
        for fault in namespace.as_str().map(format::dns_label).unwrap_or_default() {
            // The path that Kubernetes has, without an index.
            errors.push(context.fault("namespace", FieldErrorKind::Invalid, namespace, &fault));
        }
    }
    label_keys(context, errors);
    topology_key(context, errors);
    let key = context.text("topologyKey");
    for fault in format::qualified_name(key) {
        errors.push(context.fault("topologyKey", FieldErrorKind::Invalid, &key.into(), &fault));
    }
}

/// Validates the weight of a preferred term of the affinity between pods.
pub(crate) fn weight(context: &Context<'_>, errors: &mut FieldErrors) {
    let weight = context.number("weight").unwrap_or(0);
    if !(1..=100).contains(&weight) {
        let detail = "must be in the range 1-100";
        errors.push(context.fault("weight", FieldErrorKind::Invalid, &weight.into(), detail));
    }
}

/// Validates how pods spread over a topology.
pub(crate) fn spread_constraint(context: &Context<'_>, errors: &mut FieldErrors) {
    let mut check_positive = |name: &str, number: i64| {
        if number < 1 {
            let detail = "must be greater than zero";
            errors.push(context.fault(name, FieldErrorKind::Invalid, &number.into(), detail));
        }
    };
    check_positive("maxSkew", context.number("maxSkew").unwrap_or(0));
    if let Some(domains) = context.number("minDomains") {
        check_positive("minDomains", domains);
    }
    topology_key(context, errors);
    match (context.text("whenUnsatisfiable"), context.number("minDomains")) {
        ("DoNotSchedule", _) | ("ScheduleAnyway", None) => {}
        (action @ "ScheduleAnyway", Some(domains)) => {
            let detail = format!("can only use minDomains if whenUnsatisfiable=DoNotSchedule, not {action}");
            errors.push(context.fault("minDomains", FieldErrorKind::Invalid, &domains.into(), &detail));
        }
        (action, _) => {
            let detail = "supported values: \"DoNotSchedule\", \"ScheduleAnyway\"";
            errors.push(context.fault(
                "whenUnsatisfiable",
                FieldErrorKind::NotSupported,
                &action.into(),
                detail,
            ));
        }
    }
    label_keys(context, errors);
}

/// Validates that a pod has one constraint for a topology and what happens if it cannot be met. Kubernetes reports the earlier ones.
pub(crate) fn spread_constraints(context: &Context<'_>, errors: &mut FieldErrors) {
    let constraints = context.items("topologySpreadConstraints");
    let pair = |constraint: &Value| (constraint.text("topologyKey"), constraint.text("whenUnsatisfiable"));
    let mut seen = Seen::default();
    let is_repeated = |(_, constraint): &(usize, &Value)| !seen.insert(pair(constraint));
    let repeated: Vec<_> = constraints.iter().enumerate().rev().filter(is_repeated).collect();
    for (at, constraint) in repeated.into_iter().rev() {
        let (key, action) = pair(constraint);
        let path = format!("topologySpreadConstraints[{at}].{{topologyKey, whenUnsatisfiable}}");
        let value = format!("{{{key}, {action}}}");
        errors.push(context.fault(&path, FieldErrorKind::Duplicate, &value.into(), ""));
    }
}

fn topology_key(context: &Context<'_>, errors: &mut FieldErrors) {
    if context.text("topologyKey").is_empty() {
        errors.push(context.fault("topologyKey", FieldErrorKind::Required, &Value::Null, "can not be empty"));
    }
}

/// Validates the labels of the pod that a selector compares. Those of a pod that is created have become requirements of the selector.
fn label_keys(context: &Context<'_>, errors: &mut FieldErrors) {
    let selector = context.get("labelSelector");
    let texts = |name: &str| -> Vec<&str> { context.items(name).iter().filter_map(Value::as_str).collect() };
    let (matching, mismatching) = (texts("matchLabelKeys"), texts("mismatchLabelKeys"));
    if matching.is_empty() && mismatching.is_empty() {
        return;
    }
    for (name, keys) in [("matchLabelKeys", &matching), ("mismatchLabelKeys", &mismatching)] {
        if selector.is_none() && !keys.is_empty() {
            let detail = "must not be specified when labelSelector is not set";
            errors.push(context.fault(name, FieldErrorKind::Forbidden, &Value::Null, detail));
            continue;
        }
        for (at, key) in keys.iter().enumerate() {
            for fault in format::qualified_name(key) {
                let path = format!("{name}[{at}]");
                errors.push(context.fault(&path, FieldErrorKind::Invalid, &(*key).into(), &fault));
            }
        }
    }
    let places: HashMap<&str, usize> = matching.iter().enumerate().map(|(at, key)| (*key, at)).collect();
    let labels = context.at(&["labelSelector", "matchLabels"]).and_then(Value::as_object);
    let mut selected: HashSet<&str> =
        labels.iter().flat_map(|map| map.fields()).map(|(key, _)| &**key).collect();
    for expression in selector.map(|selector| selector.items("matchExpressions")).unwrap_or_default() {
        let key = expression.get("key").and_then(Value::as_str).unwrap_or_default();
        if let (false, Some(at)) = (selected.insert(key), places.get(key)) {
            let detail = "exists in both matchLabelKeys and labelSelector";
            errors.push(context.fault(&format!("[{at}]"), FieldErrorKind::Invalid, &key.into(), detail));
        }
    }
    let mismatching: HashSet<&str> = mismatching.into_iter().collect();
    for (at, key) in matching.iter().enumerate().filter(|(_, key)| mismatching.contains(*key)) {
        let detail = "exists in both matchLabelKeys and mismatchLabelKeys";
        errors.push(context.fault(
            &format!("matchLabelKeys[{at}]"),
            FieldErrorKind::Invalid,
            &(*key).into(),
            detail,
        ));
    }
}

/// Validates the topologies of a storage class: no duplicate terms, no duplicate keys in a term, no duplicate
/// values of a key.
pub(crate) fn topologies(context: &Context<'_>, errors: &mut FieldErrors) {
    let terms = context.items("allowedTopologies");
    let mut seen_terms = Seen::default();
    for (at, term) in terms.iter().enumerate() {
        let below = format!("allowedTopologies[{at}].matchLabelExpressions");
        let expressions = term.items("matchLabelExpressions");
        if !seen_terms.insert(expressions) || expressions.is_empty() {
            errors.push(context.fault(&below, FieldErrorKind::Duplicate, &"".into(), ""));
        }
        let mut keys = Seen::default();
        for (number, expression) in expressions.iter().enumerate() {
            let (key, path) = (expression.text("key"), format!("{below}[{number}]"));
            for fault in format::qualified_name(&key) {
                errors.push(context.fault(
                    &format!("{path}.key"),
                    FieldErrorKind::Invalid,
                    &key.clone().into(),
                    &fault,
                ));
            }
            if !keys.insert(key.clone()) {
                errors.push(context.fault(
                    &format!("{path}.key"),
                    FieldErrorKind::Duplicate,
                    &key.clone().into(),
                    "",
                ));
            }
            let mut values = Seen::default();
            for (place, value) in expression.items("values").iter().enumerate() {
                if !values.insert(value) {
                    let path = format!("{path}.values[{place}]");
                    errors.push(context.fault(&path, FieldErrorKind::Duplicate, value, ""));
                }
            }
        }
    }
}

/// Returns the error in the operator of a node selector.
pub(crate) fn node_operator(text: &str) -> Vec<String> {
    let known = ["In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt"];
    Vec::from_iter((!known.contains(&text)).then(|| "not a valid selector operator".into()))
}
