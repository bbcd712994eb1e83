//! Every recorded creation is reproduced: decoding, defaulting, admission and strategy.

use crate::{
    facts::{self, items, text},
    recordings,
};
use tenure_builtin::{CreateContext, Kinds, scalar::Timestamp};
use tenure_value::{Object, Text, Value};

const UID: &str = "6a1f0c1e-7c5b-4a57-9d7e-2f1f6c6f0a01";

/// Provides the values of the recorded objects: addresses and ports of the example.
pub struct Recorded<'e> {
    output: &'e Value,
    ports: u16,
}

impl<'e> Recorded<'e> {
    /// Takes the values of the recorded output.
    pub fn of(output: &'e Value) -> Recorded<'e> {
        Recorded { output, ports: 0 }
    }
}

/// Adds the name of the output to the input.
pub fn named(input: &Value, output: &Value) -> Value {
    let (Some(fields), Some(name)) = (input.as_object(), output.at(["metadata", "name"])) else {
        return input.clone();
    };
    let metadata = input.get("metadata").and_then(Value::as_object).cloned().unwrap_or_default();
    let kind = |name: &str| output.get(name).cloned().unwrap_or_default();
    let fields = fields.with("apiVersion", kind("apiVersion")).with("kind", kind("kind"));
    fields.with("metadata", metadata.with("name", name.clone())).into()
}

impl CreateContext for Recorded<'_> {
    fn now(&self) -> Timestamp {
        Timestamp { seconds: 1_700_000_000, nanos: 0 }
    }

    fn uid(&self) -> Text {
        UID.into()
    }

    fn priority_class(&self, name: &str) -> Option<(i64, Text)> {
        match name {
            "system-node-critical" => Some((2_000_001_000, "PreemptLowerPriority".into())),
            "system-cluster-critical" => Some((2_000_000_000, "PreemptLowerPriority".into())),
            _ => None,
        }
    }

    fn cluster_ip(&mut self, _: tenure_meta::IpFamily) -> Option<Text> {
        match self.output.at(["spec", "clusterIP"])?.as_str()? {
            "<allocated>" => Some("10.0.0.9".into()),
            given => Some(given.into()),
        }
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

/// Replaces values that differ between runs by those of the recording.
fn masked(value: &Value, recorded: &Value) -> Value {
    match (value, recorded) {
        (Value::Object(fields), Value::Object(others)) => Object::from_sorted(
            fields
                .iter()
                .map(|(name, value)| (name.clone(), masked(value, others.get(name).unwrap_or(&Value::Null)))),
        )
        .into(),
        (Value::Array(list), Value::Array(others)) => Value::array(
            list.iter().enumerate().map(|(at, item)| masked(item, others.get(at).unwrap_or(&Value::Null))),
        ),
        (Value::String(time), Value::String(mask)) if mask == "<time>" && time.ends_with('Z') => {
            recorded.clone()
        }
        (Value::Int(30_000..), Value::String(mask)) if mask == "<allocated>" => recorded.clone(),
        (Value::String(address), Value::String(mask)) if mask == "<allocated>" && address == "10.0.0.9" => {
            recorded.clone()
        }
        (Value::String(uid), Value::String(mask)) if mask == "<uid>" && uid == UID => recorded.clone(),
        _ => value.clone(),
    }
}

/// Removes metadata that the engine does not set.
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
    let kinds = Kinds::at(recordings::version());
    let facts = facts::read("defaults-examples.json");
    let examples = items(&facts, "examples");
    assert_eq!(examples.len(), 277);
    let mut failures = Vec::new();
    for example in examples {
        let (input, output) = (example.get("input").unwrap(), example.get("output").unwrap());
        let resource = kinds.registry().of_kind(text(output, "apiVersion"), text(output, "kind")).unwrap();
        let mut around = Recorded::of(output);
        let completed = match kinds.complete(resource, &named(input, output), around.now()) {
            Ok(completed) => completed.value,
            Err(error) => {
                failures.push(format!("{}: {error}", text(example, "name")));
                continue;
            }
        };
        let created = kinds.create(resource, &completed, &mut around);
        let created = without_identity(&kinds.stored(resource, &created));
        let expected = without_identity(output);
        let created = masked(&created, &expected);
        if created != expected {
            failures.push(format!("{}:\n  is     {created}\n  should {expected}", text(example, "name")));
        }
    }
    assert!(failures.is_empty(), "{} of {} differ\n{}", failures.len(), examples.len(), failures.join("\n"));
}
