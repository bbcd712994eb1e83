//! Horizontal pod autoscalers: v1 has one metric; everything else is in annotations, as JSON with still older names. Every write of v1
//! goes there and back, so that the annotations are what the fields say: a text that is not of the type of its annotation has no effect.

use super::go_json::{Field, Kind, read_list, read_struct, text_of_struct};
use tenure_meta::ValueExt;
use tenure_value::{Object, Value};

const METRICS: &str = "autoscaling.alpha.kubernetes.io/metrics";
const CURRENT: &str = "autoscaling.alpha.kubernetes.io/current-metrics";
const CONDITIONS: &str = "autoscaling.alpha.kubernetes.io/conditions";
const BEHAVIOR: &str = "autoscaling.alpha.kubernetes.io/behavior";
/// The share of the requested processor time that is kept where no metric is given.
const DEFAULT_SHARE: i64 = 80;

const REFERENCE: &[Field] = &[
    Field::always("kind", &["kind"], Kind::Text),
    Field::always("name", &["name"], Kind::Text),
    Field::given("apiVersion", &["apiVersion"], Kind::Text),
];
const NAME: Field = Field::always("metricName", &["metric", "name"], Kind::Text);
const RESOURCE: Field = Field::always("name", &["name"], Kind::Text);
const CONTAINER: Field = Field::always("container", &["container"], Kind::Text);
const OBJECT: Field = Field::always("target", &["describedObject"], Kind::Struct(REFERENCE));
const SELECTOR: Field = Field::given("selector", &["metric", "selector"], Kind::Selector);
const METRIC_SELECTOR: Field = Field::given("metricSelector", &["metric", "selector"], Kind::Selector);
const UTILIZATION: Field =
    Field::given("targetAverageUtilization", &["target", "averageUtilization"], Kind::Integer);
const AVERAGE: &[&str] = &["target", "averageValue"];
const TARGET_AVERAGE: Field = Field::given("targetAverageValue", AVERAGE, Kind::Quantity);

/// The metrics of v1, by their fields.
const SOURCES: [(&str, &[Field]); 5] = [
    (
        "object",
        &[
            OBJECT,
            NAME,
            Field::always("targetValue", &["target", "value"], Kind::Quantity),
            SELECTOR,
            Field::given("averageValue", AVERAGE, Kind::Quantity),
        ],
    ),
    ("pods", &[NAME, Field::always("targetAverageValue", AVERAGE, Kind::Quantity), SELECTOR]),
    ("resource", &[RESOURCE, UTILIZATION, TARGET_AVERAGE]),
    ("containerResource", &[RESOURCE, UTILIZATION, TARGET_AVERAGE, CONTAINER]),
    (
        "external",
        &[
            NAME,
            METRIC_SELECTOR,
            Field::given("targetValue", &["target", "value"], Kind::Quantity),
            TARGET_AVERAGE,
        ],
    ),
];

const CURRENT_UTILIZATION: Field =
    Field::given("currentAverageUtilization", &["current", "averageUtilization"], Kind::Integer);
const CURRENT_VALUE: Field = Field::always("currentValue", &["current", "value"], Kind::Quantity);
const MEASURED: &[&str] = &["current", "averageValue"];
const CURRENT_AVERAGE: Field = Field::always("currentAverageValue", MEASURED, Kind::Quantity);

/// The same for current metrics.
const STATES: [(&str, &[Field]); 5] = [
    (
        "object",
        &[OBJECT, NAME, CURRENT_VALUE, SELECTOR, Field::given("averageValue", MEASURED, Kind::Quantity)],
    ),
    ("pods", &[NAME, CURRENT_AVERAGE, SELECTOR]),
    ("resource", &[RESOURCE, CURRENT_UTILIZATION, CURRENT_AVERAGE]),
    ("containerResource", &[RESOURCE, CURRENT_UTILIZATION, CURRENT_AVERAGE, CONTAINER]),
    (
        "external",
        &[
            NAME,
            METRIC_SELECTOR,
            CURRENT_VALUE,
            Field::given("currentAverageValue", MEASURED, Kind::Quantity),
        ],
    ),
];

const CONDITION: &[Field] = &[
    Field::always("type", &["type"], Kind::Text),
    Field::always("status", &["status"], Kind::Text),
    Field::always("lastTransitionTime", &["lastTransitionTime"], Kind::Time),
    Field::given("reason", &["reason"], Kind::Text),
    Field::given("message", &["message"], Kind::Text),
    Field::given("observedGeneration", &["observedGeneration"], Kind::Integer),
];

const POLICY: &[Field] = &[
    Field::always("Type", &["type"], Kind::Text),
    Field::always("Value", &["value"], Kind::Integer),
    Field::always("PeriodSeconds", &["periodSeconds"], Kind::Integer),
];
const RULES: &[Field] = &[
    Field::or_null("StabilizationWindowSeconds", &["stabilizationWindowSeconds"], Kind::Integer),
    Field::or_null("SelectPolicy", &["selectPolicy"], Kind::Text),
    Field::or_null("Policies", &["policies"], Kind::List(POLICY)),
    Field::or_null("Tolerance", &["tolerance"], Kind::Quantity),
];
const SCALING: &[Field] = &[
    Field::or_null("ScaleUp", &["scaleUp"], Kind::Struct(RULES)),
    Field::or_null("ScaleDown", &["scaleDown"], Kind::Struct(RULES)),
];

fn find<'v>(value: &'v Value, path: &[&str]) -> Option<&'v Value> {
    value.at(path.iter().copied()).filter(|value| !value.is_null())
}

/// Returns the fields of a metric: its type, and what it has of each kind of metric.
fn metric_fields(table: &'static [(&'static str, &'static [Field]); 5]) -> Vec<Field> {
    const PATHS: [&[&str]; 5] =
        [&["object"], &["pods"], &["resource"], &["containerResource"], &["external"]];
    let sources = table.iter().zip(PATHS);
    let sources = sources.map(|((name, fields), path)| Field::given(name, path, Kind::Struct(fields)));
    std::iter::once(Field::always("type", &["type"], Kind::Text)).chain(sources).collect()
}

/// Returns the targets of a metric with their types, which v1 does not name.
fn with_target_types(metric: Object) -> Object {
    SOURCES.iter().fold(metric, |metric, (name, _)| {
        let Some(source) = metric.get(name).and_then(Value::as_object) else { return metric };
        let target = part(source, "target");
        let has = |field: &str| target.contains(field);
        let kind = match *name {
            "resource" | "containerResource" if has("averageUtilization") => "Utilization",
            "object" if !has("averageValue") => "Value",
            "external" if has("value") => "Value",
            _ => "AverageValue",
        };
        // The value of an object is always written in v1; nothing asks for zero beside an average.
        let is_zero = target.get("value").and_then(Value::as_str) == Some("0");
        let target = match *name == "object" && kind == "AverageValue" && is_zero {
            true => target.without("value"),
            false => target,
        };
        metric.with(*name, source.with("target", target.with("type", kind)))
    })
}

/// Whether a metric is the one that v1 has fields for.
fn is_cpu(metric: &Value) -> bool {
    metric.text("type") == "Resource"
        && find(metric, &["resource", "name"]).and_then(Value::as_str) == Some("cpu")
}

const SHARE: [&str; 3] = ["resource", "target", "averageUtilization"];
const MEASURED_SHARE: [&str; 3] = ["resource", "current", "averageUtilization"];

fn cpu_metric(share: Value) -> Value {
    let target = Value::object([("averageUtilization", share), ("type", "Utilization".into())]);
    let resource = Value::object([("name", "cpu".into()), ("target", target)]);
    Value::object([("resource", resource), ("type", "Resource".into())])
}

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

/// Formats a list for an annotation; `None` if it is empty.
fn annotation<'v>(items: impl Iterator<Item = &'v Value>, fields: &[Field]) -> Option<String> {
    let texts: Vec<String> = items.map(|item| text_of_struct(item, fields)).collect();
    (!texts.is_empty()).then(|| format!("[{}]", texts.join(",")))
}

/// The names of annotations that are reserved for the conversion.
const RESERVED: [&str; 4] = [METRICS, CURRENT, CONDITIONS, BEHAVIOR];

/// Returns the annotations of an object without those that are reserved.
fn own_annotations(object: &Object) -> Object {
    let annotations = part(&part(object, "metadata"), "annotations");
    RESERVED.iter().fold(annotations, |annotations, name| annotations.without(name))
}

/// Returns an object of v2 without the annotations that are reserved, as every write stores it.
pub(crate) fn without_reserved(object: Value) -> Value {
    let has = |name: &&str| object.at(["metadata", "annotations", name]).is_some();
    match object.as_object() {
        Some(fields) if RESERVED.iter().any(has) => {
            with_annotations(fields.clone(), own_annotations(fields)).into()
        }
        _ => object,
    }
}

/// Converts to v1.
pub(super) fn to_v1(object: &Object) -> Object {
    let (mut spec, mut status) = (part(object, "spec"), part(object, "status"));
    let mut annotations = own_annotations(object);
    let metrics = list(&spec, "metrics");
    let share = |metric: &Value| find(metric, &SHARE).filter(|_| is_cpu(metric)).cloned();
    if let Some(share) = metrics.iter().find_map(share) {
        spec = spec.with("targetCPUUtilizationPercentage", share);
    }
    let others = metrics.iter().filter(|metric| share(metric).is_none());
    let (states, conditions) = (list(&status, "currentMetrics"), list(&status, "conditions"));
    let behavior = spec.get("behavior").filter(|behavior| !behavior.is_null());
    for (name, text) in [
        (METRICS, annotation(others, &metric_fields(&SOURCES))),
        (CURRENT, annotation(states.iter(), &metric_fields(&STATES))),
        (BEHAVIOR, behavior.map(|behavior| text_of_struct(behavior, SCALING))),
        (CONDITIONS, annotation(conditions.iter(), CONDITION)),
    ] {
        annotations = match text {
            Some(text) => annotations.with(name, text),
            None => annotations,
        };
    }
    let measured = |state: &Value| find(state, &MEASURED_SHARE).filter(|_| is_cpu(state)).cloned();
    // Of several, the last one counts.
    if let Some(share) = states.iter().rev().find_map(measured) {
        status = status.with("currentCPUUtilizationPercentage", share);
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
    let objects = |metrics: Vec<Object>, complete: fn(Object) -> Object| -> Vec<Value> {
        metrics.into_iter().map(|metric| complete(metric).into()).collect()
    };
    let cpu = spec.get("targetCPUUtilizationPercentage").filter(|share| !share.is_null()).cloned();
    let others = read(METRICS).and_then(|metrics| read_list(&metrics, &metric_fields(&SOURCES)));
    let mut metrics = objects(others.unwrap_or_default(), with_target_types);
    metrics.extend(cpu.map(cpu_metric));
    if metrics.is_empty() {
        metrics.push(cpu_metric(DEFAULT_SHARE.into()));
    }
    spec = spec.with("metrics", Value::array(metrics));
    let behavior = read(BEHAVIOR).and_then(|behavior| read_struct(&behavior, SCALING));
    if let Some(behavior) = behavior.filter(|behavior| !behavior.is_empty()) {
        spec = spec.with("behavior", behavior);
    }
    let share = status.get("currentCPUUtilizationPercentage").filter(|share| !share.is_null()).cloned();
    let measured = |share: Value| {
        let current = Value::object([("averageUtilization", share)]);
        let resource = Value::object([("current", current), ("name", "cpu".into())]);
        Value::object([("resource", resource), ("type", "Resource".into())])
    };
    let states = match read(CURRENT).and_then(|states| read_list(&states, &metric_fields(&STATES))) {
        Some(states) => objects(states, |state| state),
        None => share.map(measured).into_iter().collect(),
    };
    if !states.is_empty() {
        status = status.with("currentMetrics", Value::array(states));
    }
    let conditions = read(CONDITIONS).and_then(|conditions| read_list(&conditions, CONDITION));
    if let Some(conditions) = conditions.filter(|conditions| !conditions.is_empty()) {
        status = status.with("conditions", Value::array(objects(conditions, |condition| condition)));
    }
    let spec = spec.without("targetCPUUtilizationPercentage");
    let status = status.without("currentCPUUtilizationPercentage");
    with_annotations(object.with("spec", spec).with("status", status), annotations)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn v1(annotation: &str, text: &str) -> Object {
        let annotations = Value::object([(annotation, Value::from(text))]);
        let metadata = Value::object([("annotations", annotations)]);
        let object = Value::object([("metadata", metadata), ("spec", Value::object::<&str>([]))]);
        object.as_object().cloned().unwrap()
    }

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

    #[test]
    fn an_annotation_becomes_what_the_fields_say() {
        // The annotation, its text, and what a write leaves of it.
        let cases = [
            (METRICS, "x", ""),
            (METRICS, "{}", ""),
            (METRICS, r#"[{"type":1}]"#, ""),
            (METRICS, r#"[{"type":"Resource","resource":{"name":"cpu","targetAverageUtilization":5}}]"#, ""),
            (METRICS, "[{}]", r#"[{"type":""}]"#),
            (
                METRICS,
                r#"[{"type":"Object","object":{"target":{"name":"n"},"averageValue":3}}]"#,
                r#"[{"type":"Object","object":{"target":{"kind":"","name":"n"},"metricName":"","targetValue":"0","averageValue":"3"}}]"#,
            ),
            (
                METRICS,
                r#"[{"type":"External","external":{"metricName":"e","targetValue":"1000m","metricSelector":{"matchLabels":{"x":"y"}}}}]"#,
                r#"[{"type":"External","external":{"metricName":"e","metricSelector":{"matchLabels":{"x":"y"}},"targetValue":"1"}}]"#,
            ),
            (BEHAVIOR, "{}", ""),
            (
                BEHAVIOR,
                r#"{"scaleup":{"selectPolicy":"Min"}}"#,
                r#"{"ScaleUp":{"StabilizationWindowSeconds":null,"SelectPolicy":"Min","Policies":null,"Tolerance":null},"ScaleDown":null}"#,
            ),
            (CONDITIONS, r#"[{"type":"a"}]"#, r#"[{"type":"a","status":"","lastTransitionTime":null}]"#),
        ];
        for (name, text, expected) in cases {
            let back = Value::from(to_v1(&to_v2(&v1(name, text))));
            let found = back.at(["metadata", "annotations", name]).and_then(Value::as_str);
            assert_eq!(found.unwrap_or_default(), expected, "{name}: {text}");
        }
        let share = Value::from(to_v1(&to_v2(&v1("other", "x"))));
        assert_eq!(share.at(["spec", "targetCPUUtilizationPercentage"]), Some(&80.into()));
    }
}
