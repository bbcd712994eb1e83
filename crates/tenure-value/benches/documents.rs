//! Parsing and formatting of documents, compared with `serde_json::Value` in the same run.

use criterion::Criterion;
use std::{hint::black_box, time::Duration};
use tenure_value::{Limits, Value, json};

/// The inputs under `bench/inputs`.
const DOCUMENTS: [(&str, &[u8]); 4] = [
    ("deployment-big", include_bytes!("../../../bench/inputs/smp/deployment-big.original.json")),
    ("deployment-small", include_bytes!("../../../bench/inputs/smp/deployment-small.original.json")),
    ("node", include_bytes!("../../../bench/inputs/smp/node.original.json")),
    ("fields", include_bytes!("../../../bench/inputs/fieldpath/deployment-big.json")),
];

fn reading(c: &mut Criterion) {
    for (name, text) in DOCUMENTS {
        let mut group = c.benchmark_group(format!("read and drop {name}"));
        group.bench_function("serde_json::Value", |b| {
            b.iter(|| serde_json::from_slice::<serde_json::Value>(black_box(text)).unwrap())
        });
        group.bench_function("json::parse", |b| {
            b.iter(|| json::parse(black_box(text), &Limits::default()).unwrap())
        });
        group.bench_function("json::parse_checked", |b| {
            b.iter(|| json::parse_checked(black_box(text), &Limits::default()).unwrap())
        });
        group.bench_function("serde_json into the tree", |b| {
            b.iter(|| serde_json::from_slice::<Value>(black_box(text)).unwrap())
        });
        group.finish();
    }
}

fn writing(c: &mut Criterion) {
    for (name, text) in DOCUMENTS {
        let theirs: serde_json::Value = serde_json::from_slice(text).unwrap();
        let ours = json::parse(text, &Limits::default()).unwrap();
        let mut group = c.benchmark_group(format!("write {name}"));
        group.bench_function("serde_json::to_vec", |b| {
            b.iter(|| serde_json::to_vec(black_box(&theirs)).unwrap())
        });
        group.bench_function("json::to_vec", |b| b.iter(|| json::to_vec(black_box(&ours))));
        group.finish();
    }
}

fn main() {
    let mut criterion = Criterion::default()
        .warm_up_time(Duration::from_millis(300))
        .measurement_time(Duration::from_secs(1))
        .configure_from_args();
    reading(&mut criterion);
    writing(&mut criterion);
    criterion.final_summary();
}
