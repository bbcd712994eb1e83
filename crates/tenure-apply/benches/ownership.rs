//! Ownership from decoded live object and decoded managers to the next state, compared with the unit of every limit:
//! reading the same document with serde_json and dropping it.

#![allow(missing_docs)]

use criterion::{BatchSize, Criterion, criterion_group, criterion_main};
use std::{hint::black_box, time::Duration};
use tenure_apply::Profile;
use tenure_apply::{
    Force, Live, Managers, Presence, Requested, ResetFields, SingleVersion, State, Timestamp, Write, apply,
    update,
};
use tenure_fields::{FieldSet, PathElement};
use tenure_schema::{Schema, TypeRef, crd};
use tenure_value::{Limits, Object, Value, json};

fn input(name: &str) -> Vec<u8> {
    let path = format!("{}/../../bench/inputs/smp/{name}.json", env!("CARGO_MANIFEST_DIR"));
    std::fs::read(&path).unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// Decodes again, so that nothing is shared with any other decoding of the same text.
fn decode(text: &[u8]) -> Value {
    json::parse(text, &Limits::TRUSTED).expect("a benchmark input")
}

/// A document under its type, and how it is written.
struct Subject<'s> {
    name: String,
    text: Vec<u8>,
    api_version: &'static str,
    versions: SingleVersion<'s>,
    empty: Value,
    reset: ResetFields,
}

impl<'s> Subject<'s> {
    fn new(name: &str, text: Vec<u8>, api_version: &'static str, ty: TypeRef<'s>) -> Subject<'s> {
        let mut reset = FieldSet::default();
        reset.insert(&[PathElement::field("status")]);
        let reset = ResetFields::These(reset);
        let versions = SingleVersion::new(api_version, ty);
        let kind = decode(&text).get("kind").cloned().unwrap_or_default();
        let empty = Value::object([("apiVersion", Value::from(api_version)), ("kind", kind)]);
        Subject { name: name.to_owned(), text, api_version, versions, empty, reset }
    }

    fn write<'a>(&'a self, manager: &'a str) -> Write<'a> {
        Write {
            manager,
            api_version: self.api_version,
            subresource: "",
            now: Some(Timestamp::from_unix(1_800_000_000)),
            versions: &self.versions,
            reset: &self.reset,
            empty: &self.empty,
            profile: Profile::kubernetes(),
        }
    }

    fn new_live<'a>(&'a self, no_managers: &'a Managers) -> Live<'a> {
        Live { object: &self.empty, managers: no_managers, presence: Presence::New }
    }

    /// The document, applied by this many managers with the same content.
    fn applied_by(&self, managers: usize) -> State {
        let no_managers = Managers::default();
        let config = decode(&self.text);
        let mut state =
            apply(self.new_live(&no_managers), &config, &self.write("m0"), Force::No).expect("applies");
        for index in 1..managers {
            let name = format!("m{index}");
            state = apply(state.live(), &decode(&self.text), &self.write(&name), Force::No).expect("applies");
        }
        state
    }
}

/// Finds the first string below a value and changes it.
fn with_one_changed_leaf(value: &Value) -> Value {
    fn change(value: &Value, left: &mut usize) -> Value {
        match value {
            Value::Object(object) => {
                Value::Object(Object::from_sorted(object.iter().map(|(name, value)| {
                    let keep = name == "name" || name == "metadata";
                    (name.clone(), if keep { value.clone() } else { change(value, left) })
                })))
            }
            Value::Array(items) => {
                Value::array(items.iter().map(|item| change(item, left)).collect::<Vec<_>>())
            }
            Value::String(_) if *left > 0 => {
                *left -= 1;
                if *left == 0 { Value::from("changed") } else { value.clone() }
            }
            other => other.clone(),
        }
    }
    let spec = value.get("spec").cloned().unwrap_or_default();
    let object = value.as_object().cloned().unwrap_or_default();
    Value::Object(object.with("spec", change(&spec, &mut 30)))
}

fn measure(c: &mut Criterion, subject: &Subject<'_>, unit: bool) {
    let mut group = c.benchmark_group(&subject.name);
    group.warm_up_time(Duration::from_millis(300)).measurement_time(Duration::from_secs(1)).sample_size(30);
    if unit {
        group.bench_function("unit: serde_json reads and drops", |b| {
            b.iter(|| {
                drop(black_box(serde_json::from_slice::<serde_json::Value>(&subject.text).expect("JSON")))
            });
        });
    }
    let no_managers = Managers::default();
    group.bench_function("first apply", |b| {
        let config = decode(&subject.text);
        let write = subject.write("alice");
        b.iter(|| apply(subject.new_live(&no_managers), black_box(&config), &write, Force::No));
    });
    for managers in [1, 20] {
        let state = subject.applied_by(managers);
        group.bench_function(format!("another manager's apply, beside {managers}"), |b| {
            let config = decode(&subject.text);
            let write = subject.write("another");
            b.iter(|| apply(state.live(), black_box(&config), &write, Force::No));
        });
        group.bench_function(format!("no-op re-apply, beside {managers}"), |b| {
            let config = decode(&subject.text);
            let write = subject.write("m0");
            b.iter(|| apply(state.live(), black_box(&config), &write, Force::No));
        });
        group.bench_function(format!("update of one leaf, beside {managers}"), |b| {
            let changed = with_one_changed_leaf(&decode(&subject.text));
            let changed = decode(&json::to_vec(&changed));
            let write = subject.write("edit");
            b.iter_batched(
                || (),
                |()| update(state.live(), black_box(&changed), Requested::Entries(None), &write),
                BatchSize::SmallInput,
            );
        });
    }
    group.finish();
}

const SLICE: &str = r#"{"type": "object", "properties": {"spec": {"type": "object", "properties": {"endpoints": {
    "type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["address"],
    "items": {"type": "object", "required": ["address"], "properties": {"address": {"type": "string"},
        "ready": {"type": "boolean"}, "node": {"type": "string"}, "zone": {"type": "string"}}}}}}}}"#;

/// A custom resource with that many keyed items, in an order that is not that of their keys.
fn slice(items: usize) -> Vec<u8> {
    let item = |index: usize| {
        let address = format!("10.0.{}.{}", index * 7919 % items / 256, index * 7919 % items % 256);
        Value::object([
            ("address", Value::from(address)),
            ("ready", Value::from(true)),
            ("node", Value::from(format!("node-{}", index % 50))),
            ("zone", Value::from("a")),
        ])
    };
    let endpoints = Value::array((0..items).map(item));
    json::to_vec(&Value::object([
        ("apiVersion", Value::from("example.com/v1")),
        ("kind", Value::from("Slice")),
        ("metadata", Value::object([("name", Value::from("s"))])),
        ("spec", Value::object([("endpoints", endpoints)])),
    ]))
}

fn ownership(c: &mut Criterion) {
    let kind =
        |api_version: &str, kind: &str| Schema::builtin().kind(api_version, kind).expect("a built-in kind");
    let deployment = kind("apps/v1", "Deployment");
    for name in ["deployment-small", "deployment-big"] {
        let text = input(&format!("{name}.original"));
        measure(c, &Subject::new(name, text, "apps/v1", deployment), true);
    }
    let mut node = Subject::new("node", input("node.original"), "v1", kind("v1", "Node"));
    node.reset = ResetFields::None;
    measure(c, &node, true);
    let schema = decode(SLICE.as_bytes());
    let compiled = crd::compile_version(&schema, "example.com/v1", "Slice").expect("a schema");
    let ty = compiled.kind("example.com/v1", "Slice").expect("the kind");
    for items in [100, 1000] {
        measure(c, &Subject::new(&format!("slice-{items}"), slice(items), "example.com/v1", ty), true);
    }
}

criterion_group!(benches, ownership);
criterion_main!(benches);
