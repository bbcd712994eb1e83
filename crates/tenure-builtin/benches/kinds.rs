//! The cost of the rules of the built-in kinds for a write of a small Deployment, as `scripts/compare` sends
//! it.

#![allow(missing_docs, reason = "what the macros of criterion make has no documentation")]

use criterion::{Criterion, criterion_group, criterion_main};
use std::hint::black_box;
use tenure_builtin::{CreateContext, Endpoint, Identity, Kinds, scalar::Timestamp};
use tenure_value::{Text, Value};

const BODY: &str = r#"{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"d","labels":{"app":"x"}},
    "spec":{"replicas":3,"selector":{"matchLabels":{"app":"x"}},"template":{"metadata":{"labels":{"app":"x"}},
    "spec":{"containers":[{"name":"c","image":"nginx:1.25","ports":[{"containerPort":80,"name":"http"}],
    "env":[{"name":"A","value":"1"},{"name":"B","value":"2"}],
    "resources":{"requests":{"cpu":"100m","memory":"128Mi"}}}]}}}}"#;

struct Nothing;

impl CreateContext for Nothing {
    fn now(&self) -> Timestamp {
        Timestamp { seconds: 1_700_000_000, nanos: 0 }
    }
    fn uid(&self) -> Text {
        "6a1f0c1e-7c5b-4a57-9d7e-2f1f6c6f0a01".into()
    }
    fn priority_class(&self, _: &str) -> Option<(i64, Text)> {
        None
    }
    fn cluster_ip(&mut self, _: tenure_meta::IpFamily) -> Option<Text> {
        None
    }
    fn node_port(&mut self) -> Option<u16> {
        None
    }
    fn requester(&self) -> (Text, Text, Vec<Text>) {
        Default::default()
    }
}

fn small_deployment(criterion: &mut Criterion) {
    let (kinds, mut around) = (Kinds::builtin(), Nothing);
    let resource = tenure_builtin::registry().of_kind("apps/v1", "Deployment").unwrap();
    let body: Value = BODY.parse().unwrap();
    let now = around.now();
    let completed = kinds.complete(resource, &body, now).unwrap().value;
    let identity = Identity {
        name: "d".into(),
        namespace: Some("ns".into()),
        uid: around.uid(),
        now,
        keeps_marks: false,
    };
    let identified = tenure_meta::update::with_system_metadata(resource, &completed, &identity);
    let live = kinds.create(resource, &identified, &mut around);
    let fields = live.as_object().unwrap();
    let spec = fields.get("spec").and_then(Value::as_object).unwrap();
    let scaled: Value = fields.with("spec", spec.with("replicas", 4)).into();

    let mut group = criterion.benchmark_group("small deployment");
    group.bench_function("complete a body", |b| b.iter(|| kinds.complete(resource, black_box(&body), now)));
    group.bench_function("complete a live object", |b| {
        b.iter(|| kinds.complete(resource, black_box(&live), now))
    });
    group
        .bench_function("create", |b| b.iter(|| kinds.create(resource, black_box(&identified), &mut around)));
    group.bench_function("prepare an update", |b| {
        b.iter(|| kinds.prepare_update(resource, Endpoint::Main, &live, black_box(&scaled), &mut Nothing))
    });
    group.bench_function("validate an update", |b| {
        b.iter(|| kinds.validate_update(resource, Endpoint::Main, &live, black_box(&scaled)))
    });
    group.finish();
}

criterion_group!(benches, small_deployment);
criterion_main!(benches);
