//! Every recorded creation is reproduced: decoding, defaulting, admission and strategy.

use crate::facts::{self, items, text};
use tenure_server::kinds::{Kinds, Surroundings, scalar::Timestamp};
use tenure_value::{Object, Text, Value};

/// Gives what the recorded objects were given: the example's own addresses and ports.
struct Recorded<'e> {
    output: &'e Value,
    ports: u16,
}

impl Surroundings for Recorded<'_> {
    fn now(&self) -> Timestamp {
        Timestamp { seconds: 1_700_000_000, nanos: 0 }
    }

    fn uid(&self) -> Text {
        "<uid>".into()
    }

    fn priority_class(&self, name: &str) -> Option<(i64, Text)> {
        match name {
            "system-node-critical" => Some((2_000_001_000, "PreemptLowerPriority".into())),
            "system-cluster-critical" => Some((2_000_000_000, "PreemptLowerPriority".into())),
            _ => None,
        }
    }

    fn cluster_ip(&mut self) -> Option<Text> {
        Some(self.output.at(["spec", "clusterIP"])?.as_str()?.into())
    }

    fn node_port(&mut self) -> Option<u16> {
        self.ports += 1;
        Some(30_000 + self.ports)
    }

    fn requester(&self) -> (Text, Text, Vec<Text>) {
        let spec = self.output.get("spec").cloned().unwrap_or_default();
        let groups =
            items(&spec, "groups").iter().filter_map(|group| group.as_str().map(Text::new)).collect();
        (text(&spec, "username").into(), text(&spec, "uid").into(), groups)
    }
}

/// Replaces what differs from run to run by what the recording has in its place.
fn masked(value: &Value, recorded: &Value) -> Value {
    match (value, recorded) {
        (Value::Object(fields), Value::Object(others)) => Object::from_sorted(
            fields
                .iter()
                .map(|(name, of)| (name.clone(), masked(of, others.get(name).unwrap_or(&Value::Null)))),
        )
        .into(),
        (Value::Array(list), Value::Array(others)) => Value::array(
            list.iter().enumerate().map(|(at, of)| masked(of, others.get(at).unwrap_or(&Value::Null))),
        ),
        (Value::String(time), Value::String(mask)) if mask == "<time>" && time.ends_with('Z') => {
            recorded.clone()
        }
        (Value::Int(30_000..), Value::String(mask)) if mask == "<allocated>" => recorded.clone(),
        _ => value.clone(),
    }
}

/// Leaves of metadata what the engine gives it.
fn without_identity(object: &Value) -> Value {
    let Some(fields) = object.as_object() else { return object.clone() };
    let Some(metadata) = fields.get("metadata").and_then(Value::as_object) else { return object.clone() };
    let given =
        ["uid", "creationTimestamp", "resourceVersion", "managedFields", "generation", "namespace", "name"];
    let metadata = given.iter().fold(metadata.clone(), |metadata, name| metadata.without(name));
    fields.with("metadata", metadata).into()
}

#[test]
fn every_recorded_creation_is_reproduced() {
    let kinds = Kinds::builtin();
    let facts = facts::read("defaults-examples.json");
    let examples = items(&facts, "examples");
    assert_eq!(examples.len(), 277);
    let mut failures = Vec::new();
    for example in examples {
        let (input, output) = (&example.at(["input"]).unwrap(), example.get("output").unwrap());
        let resource = kinds.registry().of_kind(text(output, "apiVersion"), text(output, "kind")).unwrap();
        let mut around = Recorded { output, ports: 0 };
        let completed = match kinds.complete(resource, input, around.now()) {
            Ok(completed) => completed.value,
            Err(error) => {
                failures.push(format!("{}: {error}", text(example, "name")));
                continue;
            }
        };
        let named = match (completed.as_object(), output.get("metadata").and_then(|of| of.get("name"))) {
            (Some(fields), Some(name)) => {
                let metadata =
                    completed.get("metadata").and_then(Value::as_object).cloned().unwrap_or_default();
                Value::from(fields.with("metadata", metadata.with("name", name.clone())))
            }
            _ => completed,
        };
        let created = kinds.create(resource, &named, &mut around);
        let created = without_identity(&kinds.stored(resource, &created));
        let expected = without_identity(output);
        let created = masked(&created, &expected);
        if created != expected {
            failures.push(format!("{}:\n  is     {created}\n  should {expected}", text(example, "name")));
        }
    }
    assert!(failures.is_empty(), "{} of {} differ\n{}", failures.len(), examples.len(), failures.join("\n"));
}
