//! The cost of loading and using the built-in types, compared with parsing the same data as JSON.

use criterion::Criterion;
use std::{collections::HashSet, hint::black_box, time::Duration};
use tenure_profile::KubernetesVersion;
use tenure_schema::{Schema, TypeRef, builtin, openapi};
use tenure_value::{Limits, json};

const FACTS: &[u8] = include_bytes!("../../../tools/generate-pack/data/kubernetes-1.36.json");

/// Visits every type of a Deployment once.
fn resolve(root: TypeRef) -> usize {
    let mut seen = HashSet::from([root.id()]);
    let mut waiting = vec![root];
    while let Some(ty) = waiting.pop() {
        let below = ty.fields().map(|(_, below)| below).chain(ty.item()).chain(ty.below(""));
        waiting.extend(below.filter(|below| seen.insert(below.id())));
    }
    seen.len()
}

fn pack(c: &mut Criterion) {
    c.bench_function("load the pack", |b| b.iter(|| builtin::load(KubernetesVersion::DEFAULT)));
    c.bench_function("load the pack, find apps/v1 Deployment", |b| {
        b.iter(|| {
            let schema = builtin::load(KubernetesVersion::DEFAULT);
            black_box(schema.kind("apps/v1", "Deployment").map(|ty| ty.fields().len()))
        })
    });
    c.bench_function("load the pack, resolve all of apps/v1 Deployment", |b| {
        b.iter(|| {
            let schema = builtin::load(KubernetesVersion::DEFAULT);
            black_box(schema.kind("apps/v1", "Deployment").map(resolve))
        })
    });
    c.bench_function("load the pack, decode all types", |b| b.iter(|| Schema::from_pack(builtin::PACK)));
    c.bench_function("find apps/v1 Deployment again", |b| {
        let schema = Schema::builtin();
        b.iter(|| black_box(schema.kind(black_box("apps/v1"), "Deployment").map(TypeRef::id)))
    });
    c.bench_function("alternative: read the facts with serde_json", |b| {
        b.iter(|| serde_json::from_slice::<serde_json::Value>(FACTS))
    });
    c.bench_function("alternative: read the facts with tenure-value", |b| {
        b.iter(|| json::parse(FACTS, &Limits::TRUSTED))
    });
}

fn compile(c: &mut Criterion) {
    let schema =
        br#"{"type": "object", "properties": {"ports": {"type": "array", "x-kubernetes-list-type": "map",
        "x-kubernetes-list-map-keys": ["port"], "items": {"type": "object", "required": ["port"],
        "properties": {"port": {"type": "integer"}, "name": {"type": "string"}}}}}}"#;
    let schema = json::parse(schema, &Limits::TRUSTED).unwrap_or_default();
    c.bench_function("compile a schema of four types", |b| b.iter(|| openapi::compile_one(&schema)));
}

fn main() {
    let mut criterion = Criterion::default()
        .warm_up_time(Duration::from_millis(300))
        .measurement_time(Duration::from_secs(1))
        .sample_size(20)
        .configure_from_args();
    pack(&mut criterion);
    compile(&mut criterion);
    criterion.final_summary();
}
