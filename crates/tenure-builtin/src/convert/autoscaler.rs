//! Horizontal pod autoscalers: v1 has one metric; everything else is in annotations, as JSON with still older
//! names.

use tenure_meta::ValueExt;
use tenure_value::{Object, Text, Value};

const METRICS: &str = "autoscaling.alpha.kubernetes.io/metrics";
const CURRENT: &str = "autoscaling.alpha.kubernetes.io/current-metrics";
const CONDITIONS: &str = "autoscaling.alpha.kubernetes.io/conditions";
const BEHAVIOR: &str = "autoscaling.alpha.kubernetes.io/behavior";

/// A field of a metric: its path in v2, and its path in the JSON of the annotation.
type Fields = &'static [(&'static [&'static str], &'static [&'static str])];

/// The metrics: type, field, and the names of target fields in annotations.
const SOURCES: [(&str, &str, Fields); 5] = [
    (
        "Object",
        "object",
        &[
            (&["describedObject"], &["target"]),
            (&["metric", "name"], &["metricName"]),
            (&["target", "value"], &["targetValue"]),
            (&["metric", "selector"], &["selector"]),
            (&["target", "averageValue"], &["averageValue"]),
        ],
    ),
    (
        "Pods",
        "pods",
        &[
            (&["metric", "name"], &["metricName"]),
            (&["target", "averageValue"], &["targetAverageValue"]),
            (&["metric", "selector"], &["selector"]),
        ],
    ),
    (
        "Resource",
        "resource",
        &[
            (&["name"], &["name"]),
            (&["target", "averageUtilization"], &["targetAverageUtilization"]),
            (&["target", "averageValue"], &["targetAverageValue"]),
        ],
    ),
    (
        "ContainerResource",
        "containerResource",
        &[
            (&["name"], &["name"]),
            (&["target", "averageUtilization"], &["targetAverageUtilization"]),
            (&["target", "averageValue"], &["targetAverageValue"]),
            (&["container"], &["container"]),
        ],
    ),
    (
        "External",
        "external",
        &[
            (&["metric", "name"], &["metricName"]),
            (&["metric", "selector"], &["metricSelector"]),
            (&["target", "value"], &["targetValue"]),
            (&["target", "averageValue"], &["targetAverageValue"]),
        ],
    ),
];

/// The same for current metrics.
const STATES: [(&str, &str, Fields); 5] = [
    (
        "Object",
        "object",
        &[
            (&["describedObject"], &["target"]),
            (&["metric", "name"], &["metricName"]),
            (&["current", "value"], &["currentValue"]),
            (&["metric", "selector"], &["selector"]),
            (&["current", "averageValue"], &["averageValue"]),
        ],
    ),
    (
        "Pods",
        "pods",
        &[
            (&["metric", "name"], &["metricName"]),
            (&["current", "averageValue"], &["currentAverageValue"]),
            (&["metric", "selector"], &["selector"]),
        ],
    ),
    (
        "Resource",
        "resource",
        &[
            (&["name"], &["name"]),
            (&["current", "averageUtilization"], &["currentAverageUtilization"]),
            (&["current", "averageValue"], &["currentAverageValue"]),
        ],
    ),
    (
        "ContainerResource",
        "containerResource",
        &[
            (&["name"], &["name"]),
            (&["current", "averageUtilization"], &["currentAverageUtilization"]),
            (&["current", "averageValue"], &["currentAverageValue"]),
            (&["container"], &["container"]),
        ],
    ),
    (
        "External",
        "external",
        &[
            (&["metric", "name"], &["metricName"]),
            (&["metric", "selector"], &["metricSelector"]),
            (&["current", "value"], &["currentValue"]),
            (&["current", "averageValue"], &["currentAverageValue"]),
        ],
    ),
];

fn find<'v>(value: &'v Value, path: &[&str]) -> Option<&'v Value> {
    value.at(path.iter().copied()).filter(|value| !value.is_null())
}

fn set(object: Object, path: &[&str], value: Value) -> Object {
    match path {
        [] => object,
        [name] => object.with(*name, value),
        [name, rest @ ..] => {
            let below = object.get(name).and_then(Value::as_object).cloned().unwrap_or_default();
            object.with(*name, set(below, rest, value))
        }
    }
}

/// Formats members in a given order, as in the JSON of annotations.
fn json(members: &[(&str, String)]) -> String {
    let members: Vec<String> = members.iter().map(|(name, text)| format!("\"{name}\":{text}")).collect();
    format!("{{{}}}", members.join(","))
}

/// Formats a metric for an annotation.
fn to_annotation(metric: &Value, table: &[(&str, &str, Fields)]) -> Option<String> {
    let kind = metric.text("type");
    let (_, field, fields) = table.iter().find(|row| row.0 == kind)?;
    let source = metric.get(field)?;
    let members: Vec<(&str, String)> = fields
        .iter()
        .filter_map(|(new, old)| {
            let value = find(source, new)?;
            let text = if *new == ["describedObject"] { reference_text(value) } else { value.to_string() };
            Some((*old.first()?, text))
        })
        .collect();
    Some(json(&[("type", format!("\"{kind}\"")), (field, json(&members))]))
}

/// Formats a reference to an object with its members in the order of annotations.
fn reference_text(reference: &Value) -> String {
    let members = ["kind", "name", "apiVersion"].into_iter();
    let members: Vec<_> =
        members.filter_map(|name| reference.get(name).map(|value| (name, value.to_string()))).collect();
    json(&members)
}

/// Parses a metric of an annotation.
fn of_annotation(metric: &Value, table: &[(&str, &str, Fields)]) -> Option<Value> {
    let kind = metric.text("type");
    let (_, field, fields) = table.iter().find(|row| row.0 == kind)?;
    let source = metric.get(field)?;
    let read = fields.iter().fold(Object::default(), |read, (new, old)| match find(source, old) {
        Some(value) => set(read, new, value.clone()),
        None => read,
    });
    let read = match find(&Value::from(read.clone()), &["target"]) {
        Some(target) if table == SOURCES => {
            let word = match (target.get("averageUtilization"), target.get("averageValue")) {
                (Some(_), _) => "Utilization",
                (None, Some(_)) => "AverageValue",
                (None, None) => "Value",
            };
            set(read, &["target", "type"], word.into())
        }
        _ => read,
    };
    Some(Value::object([("type", Value::from(kind)), (field, read.into())]))
}

/// Whether a metric is the one that v1 has fields for.
fn is_cpu(metric: &Value, share: &[&str]) -> bool {
    metric.text("type") == "Resource"
        && find(metric, &["resource", "name"]).and_then(Value::as_str) == Some("cpu")
        && find(metric, share).is_some()
}

const TARGET: [&str; 3] = ["resource", "target", "averageUtilization"];
const MEASURED: [&str; 3] = ["resource", "current", "averageUtilization"];

fn part(object: &Object, name: &str) -> Object {
    object.get(name).and_then(Value::as_object).cloned().unwrap_or_default()
}

fn list(object: &Object, name: &str) -> Vec<Value> {
    object.get(name).and_then(Value::as_array).map(|items| items.items().to_vec()).unwrap_or_default()
}

fn with_annotations(object: Object, annotations: Object) -> Object {
    let metadata = part(&object, "metadata");
    let metadata = match annotations.is_empty() {
        true => metadata.without("annotations"),
        false => metadata.with("annotations", annotations),
    };
    object.with("metadata", metadata)
}

/// Converts to v1.
pub(super) fn to_v1(object: &Object) -> Object {
    let (mut spec, mut status) = (part(object, "spec"), part(object, "status"));
    // These names are reserved for the conversion.
    let annotations = part(&part(object, "metadata"), "annotations");
    let names = [METRICS, CURRENT, CONDITIONS, BEHAVIOR];
    let mut annotations = names.iter().fold(annotations, |annotations, name| annotations.without(name));
    let metrics = list(&spec, "metrics");
    // Of several, the last one counts.
    let cpu = metrics.iter().rfind(|metric| is_cpu(metric, &TARGET));
    let others = metrics.iter().filter(|metric| !is_cpu(metric, &TARGET));
    let others: Vec<String> = others.filter_map(|metric| to_annotation(metric, &SOURCES)).collect();
    if let Some(share) = cpu.and_then(|metric| find(metric, &TARGET)) {
        spec = spec.with("targetCPUUtilizationPercentage", share.clone());
    }
    if !others.is_empty() {
        annotations = annotations.with(METRICS, format!("[{}]", others.join(",")));
    }
    if let Some(behavior) = spec.get("behavior").filter(|behavior| !behavior.is_null()) {
        annotations = annotations.with(BEHAVIOR, behavior_text(behavior));
    }
    let states = list(&status, "currentMetrics");
    if let Some(share) =
        states.iter().find(|state| is_cpu(state, &MEASURED)).and_then(|state| find(state, &MEASURED))
    {
        status = status.with("currentCPUUtilizationPercentage", share.clone());
    }
    let current: Vec<String> = states.iter().filter_map(|state| to_annotation(state, &STATES)).collect();
    if !current.is_empty() {
        annotations = annotations.with(CURRENT, format!("[{}]", current.join(",")));
    }
    let conditions = list(&status, "conditions");
    if !conditions.is_empty() {
        let texts: Vec<String> = conditions.iter().map(condition_text).collect();
        annotations = annotations.with(CONDITIONS, format!("[{}]", texts.join(",")));
    }
    let spec = spec.without("metrics").without("behavior");
    let status = status.without("currentMetrics").without("conditions");
    with_annotations(object.with("spec", spec).with("status", status), annotations)
}

/// Converts to v2.
pub(super) fn to_v2(object: &Object) -> Object {
    let (mut spec, mut status) = (part(object, "spec"), part(object, "status"));
    let mut annotations = part(&part(object, "metadata"), "annotations");
    let mut read = |name: &str| -> Option<Value> {
        let text = annotations.get(name)?.as_str()?.parse().ok();
        annotations = annotations.without(name);
        text
    };
    let items = |value: Option<Value>| {
        value.and_then(|value| value.as_array().map(|items| items.items().to_vec())).unwrap_or_default()
    };
    let mut metrics: Vec<Value> =
        items(read(METRICS)).iter().filter_map(|metric| of_annotation(metric, &SOURCES)).collect();
    if let Some(share) = spec.get("targetCPUUtilizationPercentage").filter(|share| !share.is_null()) {
        let target = Value::object([("averageUtilization", share.clone()), ("type", "Utilization".into())]);
        let resource = Value::object([("name", "cpu".into()), ("target", target)]);
        metrics.push(Value::object([("resource", resource), ("type", "Resource".into())]));
    }
    if !metrics.is_empty() {
        spec = spec.with("metrics", Value::array(metrics));
    }
    if let Some(behavior) = read(BEHAVIOR) {
        spec = spec.with("behavior", behavior_value(&behavior));
    }
    let mut states: Vec<Value> =
        items(read(CURRENT)).iter().filter_map(|metric| of_annotation(metric, &STATES)).collect();
    let share = status.get("currentCPUUtilizationPercentage").filter(|share| !share.is_null());
    if let (Some(share), false) = (share, states.iter().any(|state| is_cpu(state, &MEASURED))) {
        let current = Value::object([("averageUtilization", share.clone())]);
        let resource = Value::object([("current", current), ("name", "cpu".into())]);
        states.push(Value::object([("resource", resource), ("type", "Resource".into())]));
    }
    if !states.is_empty() {
        status = status.with("currentMetrics", Value::array(states));
    }
    let conditions = items(read(CONDITIONS));
    if !conditions.is_empty() {
        status = status.with("conditions", Value::array(conditions));
    }
    let spec = spec.without("targetCPUUtilizationPercentage");
    let status = status.without("currentCPUUtilizationPercentage");
    with_annotations(object.with("spec", spec).with("status", status), annotations)
}

fn condition_text(condition: &Value) -> String {
    let members: Vec<(&str, String)> = ["type", "status", "lastTransitionTime", "reason", "message"]
        .into_iter()
        .filter_map(|name| condition.get(name).map(|value| (name, value.to_string())))
        .collect();
    json(&members)
}

/// The fields of the scaling behavior, in the order and with the names of the annotation.
const BEHAVIOR_FIELDS: [(&str, &str); 4] = [
    ("stabilizationWindowSeconds", "StabilizationWindowSeconds"),
    ("selectPolicy", "SelectPolicy"),
    ("policies", "Policies"),
    ("tolerance", "Tolerance"),
];
const POLICY_FIELDS: [(&str, &str); 3] =
    [("type", "Type"), ("value", "Value"), ("periodSeconds", "PeriodSeconds")];

fn behavior_text(behavior: &Value) -> String {
    let rules = |name: &str| {
        let Some(rules) = behavior.get(name).filter(|rules| !rules.is_null()) else {
            return "null".to_string();
        };
        let member = |(new, old): (&str, &'static str)| {
            let text = match (new, rules.get(new)) {
                ("policies", Some(Value::Array(policies))) => {
                    let policy =
                        |rules: &Value| {
                            json(&POLICY_FIELDS.map(|(new, old)| {
                                (old, rules.get(new).map_or("null".into(), Value::to_string))
                            }))
                        };
                    format!("[{}]", policies.iter().map(policy).collect::<Vec<_>>().join(","))
                }
                (_, value) => value.map_or("null".into(), Value::to_string),
            };
            (old, text)
        };
        json(&BEHAVIOR_FIELDS.map(member))
    };
    json(&[("ScaleUp", rules("scaleUp")), ("ScaleDown", rules("scaleDown"))])
}

fn behavior_value(text: &Value) -> Value {
    let renamed = |metric: &Value, names: &[(&'static str, &str)]| -> Object {
        let fields = names
            .iter()
            .filter_map(|(new, old)| Some((Text::new_static(new), find(metric, &[old])?.clone())));
        Object::from_unsorted(fields.collect())
    };
    let rules = |name: &str| {
        let rules = renamed(find(text, &[name])?, &BEHAVIOR_FIELDS);
        let policies = list(&rules, "policies");
        let policies = policies.iter().map(|policy| Value::from(renamed(policy, &POLICY_FIELDS)));
        Some(Value::from(if rules.contains("policies") {
            rules.with("policies", Value::array(policies))
        } else {
            rules.clone()
        }))
    };
    let sides = [("scaleUp", rules("ScaleUp")), ("scaleDown", rules("ScaleDown"))];
    Value::object(sides.into_iter().filter_map(|(name, rules)| Some((name, rules?))))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_without_a_v1_equivalent_survive_in_annotations() {
        let newer: Value = r#"{"metadata":{"name":"h"},"spec":{"maxReplicas":3,"metrics":[{"type":"Resource","resource":{"name":"cpu","target":{"type":"Utilization","averageUtilization":70}}},{"type":"Pods","pods":{"metric":{"name":"m"},"target":{"type":"AverageValue","averageValue":"1"}}}],"behavior":{"scaleDown":{"selectPolicy":"Max","policies":[{"type":"Percent","value":100,"periodSeconds":15}]}}},"status":{"desiredReplicas":1}}"#.parse().unwrap();
        let older = to_v1(newer.as_object().unwrap());
        let value = Value::from(older.clone());
        assert_eq!(value.at(["spec", "targetCPUUtilizationPercentage"]), Some(&70.into()));
        let metrics = value.at(["metadata", "annotations", METRICS]).and_then(Value::as_str);
        assert_eq!(metrics, Some(r#"[{"type":"Pods","pods":{"metricName":"m","targetAverageValue":"1"}}]"#));
        let back = Value::from(to_v2(&older));
        assert_eq!(back.at(["spec", "behavior"]), newer.at(["spec", "behavior"]));
        assert_eq!(back.at(["metadata", "annotations"]), None);
        assert_eq!(back.at(["spec", "metrics"]).and_then(Value::as_array).unwrap().len(), 2);
    }
}
