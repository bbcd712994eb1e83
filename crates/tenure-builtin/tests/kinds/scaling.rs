//! The scaling law of built-in kinds: an object with twice the items takes less than three times as long to decode, default and
//! validate, on creation and on update, for every list of every recorded object, with distinct and with equal items.

use crate::{
    defaults::{Recorded, named},
    facts::{self, items, text},
    validation::create,
};
use std::{collections::BTreeSet, time::Duration};
use tenure_builtin::{Endpoint, Kinds};
use tenure_value::{Object, Value};

/// The shorter of the two lengths that are compared.
const LENGTH: usize = 1_000;

/// The most times that a list is measured. Other work on the machine only makes a run slower, so that measuring continues until
/// the law holds; an operation that violates it never passes.
const ROUNDS: usize = 20;

/// Lists that the recorded objects do not have.
const FURTHER: [&str; 6] = [
    r#"{"apiVersion":"v1","kind":"Pod","metadata":{"name":"p","finalizers":["example.com/a"],"ownerReferences":[{"apiVersion":"v1","kind":"Node","name":"n","uid":"u"}]},
        "spec":{"initContainers":[{"name":"i","image":"i","resources":{"requests":{"cpu":"1"}}}],"resources":{"limits":{"cpu":"1"}},
        "containers":[{"name":"c","image":"i","ports":[{"containerPort":1,"hostPort":1}],"env":[{"name":"a"}],"envFrom":[{"configMapRef":{"name":"a"}}],
        "volumeMounts":[{"name":"v","mountPath":"/a"}],"volumeDevices":[{"name":"v","devicePath":"/a"}],"args":["a"]}],
        "volumes":[{"name":"v","projected":{"sources":[{"secret":{"name":"s","items":[{"key":"a","path":"a"}]}}]}}],
        "tolerations":[{"key":"a","operator":"Exists"}],"hostAliases":[{"ip":"1.2.3.4","hostnames":["a"]}],"schedulingGates":[{"name":"a"}],
        "readinessGates":[{"conditionType":"a"}],"imagePullSecrets":[{"name":"a"}],"topologySpreadConstraints":[{"maxSkew":1,"topologyKey":"a","whenUnsatisfiable":"DoNotSchedule"}]}}"#,
    r#"{"apiVersion":"v1","kind":"Service","metadata":{"name":"s"},"spec":{"type":"NodePort","ports":[{"name":"a","port":1,"nodePort":30000}],"externalIPs":["1.2.3.4"],
        "clusterIPs":["10.0.0.1"],"ipFamilies":["IPv4"],"loadBalancerSourceRanges":["10.0.0.0/8"]}}"#,
    r#"{"apiVersion":"storage.k8s.io/v1","kind":"StorageClass","metadata":{"name":"s"},"provisioner":"p","allowedTopologies":[{"matchLabelExpressions":[{"key":"a","values":["a"]}]}]}"#,
    r#"{"apiVersion":"admissionregistration.k8s.io/v1","kind":"ValidatingWebhookConfiguration","metadata":{"name":"w"},"webhooks":[{"name":"a.b.c","clientConfig":{"url":"https://a"},
        "sideEffects":"None","admissionReviewVersions":["v1"],"matchConditions":[{"name":"a","expression":"true"}],
        "rules":[{"operations":["CREATE"],"apiGroups":["a"],"apiVersions":["v1"],"resources":["a"]}]}]}"#,
    r#"{"apiVersion":"networking.k8s.io/v1","kind":"Ingress","metadata":{"name":"i"},"spec":{"rules":[{"host":"a","http":{"paths":[{"path":"/a","pathType":"Exact","backend":{"service":{"name":"s","port":{"number":1}}}}]}}],"tls":[{"hosts":["a"]}]}}"#,
    r#"{"apiVersion":"apiextensions.k8s.io/v1","kind":"CustomResourceDefinition","metadata":{"name":"as.b.c"},"spec":{"group":"b.c","scope":"Namespaced","names":{"plural":"as","kind":"A","shortNames":["a"],"categories":["a"]},
        "versions":[{"name":"v1","served":true,"storage":true,"schema":{"openAPIV3Schema":{"type":"object"}},"additionalPrinterColumns":[{"name":"a","type":"string","jsonPath":".a"}]}]}}"#,
];

#[derive(Clone, Copy, Debug)]
enum Items {
    Distinct,
    Equal,
}

/// A step from a value to one inside it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Step {
    Field(String),
    /// The first item of a list.
    First,
}

/// Collects the paths of the lists that have an item.
fn lists(value: &Value, path: &mut Vec<Step>, found: &mut BTreeSet<Vec<Step>>) {
    match value {
        Value::Object(fields) => {
            for (name, value) in fields {
                path.push(Step::Field(name.to_string()));
                lists(value, path, found);
                path.pop();
            }
        }
        Value::Array(items) => {
            let Some(first) = items.first() else { return };
            found.insert(path.clone());
            path.push(Step::First);
            lists(first, path, found);
            path.pop();
        }
        _ => {}
    }
}

/// Returns an object whose list at a path has `length` items, made of its first one.
fn with_list(value: &Value, path: &[Step], length: usize, relation: Items) -> Value {
    match (path.split_first(), value) {
        (Some((Step::Field(name), rest)), Value::Object(fields)) => {
            let below = with_list(fields.get(name).unwrap(), rest, length, relation);
            fields.with(name.as_str(), below).into()
        }
        (Some((Step::First, rest)), Value::Array(items)) => {
            Value::array([with_list(&items[0], rest, length, relation)])
        }
        (None, Value::Array(items)) => Value::array((0..length).map(|at| match relation {
            Items::Distinct => varied(&items[0], at),
            Items::Equal => items[0].clone(),
        })),
        _ => unreachable!("a path of a list leads through objects and lists"),
    }
}

/// Fields that identify items.
const IDENTITIES: [&str; 14] = [
    "name",
    "uid",
    "key",
    "path",
    "mountPath",
    "devicePath",
    "ip",
    "host",
    "port",
    "containerPort",
    "hostPort",
    "nodePort",
    "conditionType",
    "topologyKey",
];

/// Returns an item that differs from those at other places.
fn varied(item: &Value, at: usize) -> Value {
    match item {
        Value::String(text) => Value::from(format!("{text}{at}")),
        Value::Int(number) => Value::from(number + at as i64),
        Value::Object(fields) => Value::from(Object::from_sorted(fields.iter().map(|(name, value)| {
            let varies = IDENTITIES.contains(&name.as_str()) || matches!(value, Value::Object(_));
            (name.clone(), if varies { varied(value, at) } else { value.clone() })
        }))),
        other => other.clone(),
    }
}

/// Returns the processor time of this thread.
fn processor_time() -> Duration {
    // The scheduler updates the time when the thread yields.
    std::thread::yield_now();
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    text.split_whitespace()
        .next()
        .and_then(|nanos| nanos.parse().ok())
        .map_or(Duration::ZERO, Duration::from_nanos)
}

/// Creates an object and updates it.
fn write(input: &Value, output: &Value) {
    let kinds = Kinds::builtin();
    let resource = kinds.registry().of_kind(text(input, "apiVersion"), text(input, "kind")).unwrap();
    let mut around = Recorded::of(output);
    let _ = create(input, &mut around);
    let reversed = with_label(input);
    let updated = kinds.prepare_update(resource, Endpoint::Main, input, &reversed, &mut around);
    let _ = kinds.validate_update(resource, Endpoint::Main, input, &updated);
}

/// Returns an object with a label, which makes it a change.
fn with_label(object: &Value) -> Value {
    let fields = object.as_object().unwrap();
    let metadata = fields.get("metadata").and_then(Value::as_object).unwrap();
    fields.with("metadata", metadata.with("labels", Value::object([("a", "b".into())]))).into()
}

#[test]
fn twice_the_items_take_less_than_three_times_as_long() {
    let facts = facts::read("defaults-examples.json");
    let recorded = items(&facts, "examples").iter().map(|example| {
        let output = example.get("output").unwrap().clone();
        (named(example.get("input").unwrap(), &output), output)
    });
    let further = FURTHER.map(|text| {
        let object: Value = text.parse().unwrap();
        (object.clone(), object)
    });
    let (mut seen, mut failures) = (BTreeSet::new(), Vec::new());
    for (input, output) in recorded.chain(further) {
        let mut found = BTreeSet::new();
        lists(&input, &mut Vec::new(), &mut found);
        for path in found {
            // A pod is part of many kinds; the list and its parent identify it.
            let names = path.iter().filter_map(|step| match step {
                Step::Field(name) => Some(name.clone()),
                Step::First => None,
            });
            let names: Vec<String> = names.collect();
            if !seen.insert(names[names.len().saturating_sub(2)..].to_vec()) {
                continue;
            }
            for relation in [Items::Distinct, Items::Equal] {
                let inputs = [LENGTH, 2 * LENGTH].map(|length| with_list(&input, &path, length, relation));
                let mut times = [Duration::MAX; 2];
                let holds = (0..ROUNDS).any(|_| {
                    for (input, time) in inputs.iter().zip(&mut times) {
                        let start = processor_time();
                        write(input, &output);
                        *time = (*time).min(processor_time().saturating_sub(start));
                    }
                    times[1] < 3 * times[0]
                });
                if !holds {
                    failures
                        .push(format!("{} {path:?}, {relation:?} items: {times:?}", text(&input, "kind")));
                }
            }
        }
    }
    assert!(seen.len() > 60, "{} lists", seen.len());
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}
