//! Field sets of a big deployment: parsing, formatting and set operations, compared with parsing the same
//! text as `serde_json::Value` in the same run.
//!
//! Parsed sets share levels with equal text, which makes set operations cheaper than a full traversal;
//! "unshared" sets are built path by path and show the full cost.

use criterion::Criterion;
use std::{hint::black_box, time::Duration};
use tenure_fields::{FieldSet, fields_v1};

const FULL: &[u8] = include_bytes!("../../../bench/inputs/fieldpath/deployment-big.json");
const EVEN: &[u8] = include_bytes!("../../../bench/inputs/fieldpath/deployment-big-even.json");
const ODD: &[u8] = include_bytes!("../../../bench/inputs/fieldpath/deployment-big-odd.json");

fn read(text: &[u8]) -> FieldSet {
    fields_v1::parse(text).unwrap()
}

/// Gives each level its own memory.
fn unshared(set: &FieldSet) -> FieldSet {
    set.iter().collect()
}

fn texts(c: &mut Criterion) {
    let mut group = c.benchmark_group("FieldsV1 of deployment-big");
    group.bench_function("read as serde_json::Value", |b| {
        b.iter(|| serde_json::from_slice::<serde_json::Value>(black_box(FULL)).unwrap())
    });
    group.bench_function("read", |b| b.iter(|| read(black_box(FULL))));
    group.bench_function("read half", |b| b.iter(|| read(black_box(EVEN))));
    let set = read(FULL);
    let with_serde: serde_json::Value = serde_json::from_slice(FULL).unwrap();
    group.bench_function("write serde_json::Value", |b| {
        b.iter(|| serde_json::to_vec(black_box(&with_serde)).unwrap())
    });
    group.bench_function("write", |b| b.iter(|| fields_v1::to_vec(black_box(&set))));
    group.finish();
}

fn algebra(c: &mut Criterion) {
    let sets = [read(FULL), read(EVEN), read(ODD)];
    for (name, [full, even, odd]) in [("as read", sets.clone()), ("unshared", sets.map(|set| unshared(&set)))]
    {
        assert_eq!(even.union(&odd), full);
        assert_eq!(full.difference(&even), odd);
        let mut group = c.benchmark_group(format!("halves of deployment-big, {name}"));
        group.bench_function("union", |b| b.iter(|| black_box(&even).union(black_box(&odd))));
        group.bench_function("difference", |b| b.iter(|| black_box(&even).difference(black_box(&odd))));
        group.bench_function("full - even", |b| b.iter(|| black_box(&full).difference(black_box(&even))));
        group.bench_function("intersection", |b| b.iter(|| black_box(&full).intersection(black_box(&even))));
        group.finish();
    }
}

fn main() {
    let mut criterion = Criterion::default()
        .warm_up_time(Duration::from_millis(300))
        .measurement_time(Duration::from_secs(1))
        .configure_from_args();
    texts(&mut criterion);
    algebra(&mut criterion);
    criterion.final_summary();
}
