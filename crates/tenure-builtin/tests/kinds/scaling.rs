//! The scaling law of built-in kinds: an object with twice the items, or a string twice as long, takes less than three times as long to
//! decode, default and validate, on creation, on update and on an update of the status, for every list and every string of every
//! recorded object, with distinct and with equal items.

use crate::{
    defaults::{Recorded, named},
    facts::{self, items, text},
    mutations::{example_of, update},
    recordings,
    validation::create,
};
use std::{collections::BTreeSet, time::Duration};
use tenure_builtin::{Endpoint, Kinds};
use tenure_value::{Object, Value};

/// The shorter of the two lengths that are compared.
const LENGTH: usize = 1_000;

/// The most times that a list is measured. Other work on the machine only makes a run slower, so that measuring continues until
/// the law holds; an operation that violates it never passes.
const ROUNDS: usize = 60;

/// Lists that the recorded objects do not have.
const FURTHER: [&str; 7] = [
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
    r#"{"apiVersion":"admissionregistration.k8s.io/v1","kind":"ValidatingAdmissionPolicy","metadata":{"name":"p"},"spec":{"matchConstraints":{"resourceRules":[{"operations":["CREATE"],
        "apiGroups":["a"],"apiVersions":["v1"],"resources":["a"]}]},"variables":[{"name":"v","expression":"request.name"}],"validations":[{"expression":"request.name == 'a'"}],
        "matchConditions":[{"name":"a","expression":"true"}],"auditAnnotations":[{"key":"a","valueExpression":"'a'"}]}}"#,
    r#"{"apiVersion":"networking.k8s.io/v1","kind":"Ingress","metadata":{"name":"i"},"spec":{"rules":[{"host":"a","http":{"paths":[{"path":"/a","pathType":"Exact","backend":{"service":{"name":"s","port":{"number":1}}}}]}}],"tls":[{"hosts":["a"]}]}}"#,
    r#"{"apiVersion":"apiextensions.k8s.io/v1","kind":"CustomResourceDefinition","metadata":{"name":"as.b.c"},"spec":{"group":"b.c","scope":"Namespaced","names":{"plural":"as","kind":"A","shortNames":["a"],"categories":["a"]},
        "versions":[{"name":"v1","served":true,"storage":true,"schema":{"openAPIV3Schema":{"type":"object"}},"additionalPrinterColumns":[{"name":"a","type":"string","jsonPath":".a"}]}]}}"#,
];

/// Objects with items that are refused, whose errors are compared with each other.
const REFUSED: [&str; 2] = [
    r#"{"apiVersion":"networking.k8s.io/v1","kind":"Ingress","metadata":{"name":"i"},"spec":{"rules":[{"http":{"paths":[{"path":"/a","backend":{"service":{"name":"S","port":{"number":1}}}}]}}]}}"#,
    r#"{"apiVersion":"batch/v1","kind":"Job","metadata":{"name":"j"},"spec":{"template":{"spec":{"restartPolicy":"Never","containers":[{"name":"c","image":"i"}]}},
        "podFailurePolicy":{"rules":[{"action":"FailJob","onExitCodes":{"containerName":"x","operator":"In","values":[1]}}]}}}"#,
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

/// Collects the paths of the lists that have an item, and of the strings.
fn growable(value: &Value, path: &mut Vec<Step>, found: &mut BTreeSet<Vec<Step>>) {
    match value {
        Value::Object(fields) => {
            for (name, value) in fields {
                path.push(Step::Field(name.to_string()));
                growable(value, path, found);
                path.pop();
            }
        }
        Value::Array(items) => {
            let Some(first) = items.first() else { return };
            found.insert(path.clone());
            path.push(Step::First);
            growable(first, path, found);
            path.pop();
        }
        Value::String(_) => {
            found.insert(path.clone());
        }
        _ => {}
    }
}

/// Returns an object whose list at a path has `length` items, made of its first one, or whose string there is as often repeated.
fn grown(value: &Value, path: &[Step], length: usize, relation: Items) -> Value {
    match (path.split_first(), value) {
        (Some((Step::Field(name), rest)), Value::Object(fields)) => {
            let below = grown(fields.get(name).unwrap(), rest, length, relation);
            fields.with(name.as_str(), below).into()
        }
        (Some((Step::First, rest)), Value::Array(items)) => {
            Value::array([grown(&items[0], rest, length, relation)])
        }
        (None, Value::Array(items)) => Value::array((0..length).map(|at| match relation {
            Items::Distinct => varied(&items[0], at),
            Items::Equal => items[0].clone(),
        })),
        (None, Value::String(text)) => text.repeat(length).into(),
        _ => unreachable!("a path leads through objects and lists"),
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
    let kinds = Kinds::at(recordings::version());
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

/// What has been measured, by the names of a list or a string and of what it is in: a pod is part of many kinds.
#[derive(Default)]
struct Measured {
    seen: BTreeSet<Vec<String>>,
    failures: Vec<String>,
}

impl Measured {
    /// Measures what is done with a value that grows in one place, for every place.
    fn grow(&mut self, about: &str, value: &Value, mut work: impl FnMut(&Value)) {
        let mut found = BTreeSet::new();
        growable(value, &mut Vec::new(), &mut found);
        for path in found {
            let names = path.iter().filter_map(|step| match step {
                Step::Field(name) => Some(name.clone()),
                Step::First => None,
            });
            let names: Vec<String> = names.collect();
            if !self.seen.insert(names[names.len().saturating_sub(2)..].to_vec()) {
                continue;
            }
            for relation in [Items::Distinct, Items::Equal] {
                let inputs = [LENGTH, 2 * LENGTH].map(|length| grown(value, &path, length, relation));
                let mut times = [Duration::MAX; 2];
                let holds = (0..ROUNDS).any(|_| {
                    for (input, time) in inputs.iter().zip(&mut times) {
                        let start = processor_time();
                        work(input);
                        *time = (*time).min(processor_time().saturating_sub(start));
                    }
                    times[1] < 3 * times[0]
                });
                if !holds {
                    self.failures.push(format!("{about} {path:?}, {relation:?} items: {times:?}"));
                }
            }
        }
    }
}

#[test]
fn twice_the_items_take_less_than_three_times_as_long() {
    let facts = facts::read("defaults-examples.json");
    let recorded = items(&facts, "examples").iter().map(|example| {
        let output = example.get("output").unwrap().clone();
        (named(example.get("input").unwrap(), &output), output)
    });
    let measured = measure(recorded.chain(FURTHER.map(parsed)));
    assert!(measured.seen.len() > 300, "{} places", measured.seen.len());
    assert!(measured.failures.is_empty(), "{}", measured.failures.join("\n"));
}

#[test]
fn twice_the_refused_items_take_less_than_three_times_as_long() {
    let measured = measure(REFUSED.map(parsed).into_iter());
    assert!(measured.seen.len() > 10, "{} places", measured.seen.len());
    assert!(measured.failures.is_empty(), "{}", measured.failures.join("\n"));
}

/// Returns an object, as it is sent and as it is stored.
fn parsed(text: &str) -> (Value, Value) {
    let object: Value = text.parse().unwrap();
    (object.clone(), object)
}

/// Measures creations and updates of objects, given as they are sent and as they are stored.
fn measure(objects: impl Iterator<Item = (Value, Value)>) -> Measured {
    let mut measured = Measured::default();
    for (input, output) in objects {
        // Without a kind there is nothing to do.
        let (kind, version) = (text(&input, "kind"), text(&input, "apiVersion"));
        let content = input.as_object().unwrap().without("kind").without("apiVersion").into();
        measured.grow(kind, &content, |content: &Value| {
            let input = content.as_object().unwrap().with("kind", kind).with("apiVersion", version);
            write(&input.into(), &output);
        });
    }
    measured
}

#[test]
fn twice_the_items_of_a_status_take_less_than_three_times_as_long() {
    let (examples, statuses) = (facts::read("defaults-examples.json"), facts::read("statuses.json"));
    let mut measured = Measured::default();
    for kind in items(&statuses, "kinds") {
        let example = example_of(items(&examples, "examples"), kind);
        let output = example.get("output").unwrap();
        let mut around = Recorded::of(output);
        let created = create(&named(example.get("input").unwrap(), output), &mut around).unwrap();
        measured.grow(text(example, "name"), kind.get("status").unwrap(), |status| {
            let old: Value = created.as_object().unwrap().with("status", status.clone()).into();
            let _ = update(&old, Endpoint::Status, &with_label(&old), &mut around);
        });
    }
    assert!(measured.seen.len() > 150, "{} places", measured.seen.len());
    assert!(measured.failures.is_empty(), "{}", measured.failures.join("\n"));
}
