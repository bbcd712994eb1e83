//! The binary form against `FieldsV1`, each to and from field sets: what a store saves on every read and
//! write by keeping it. `FieldsV1` is read two ways: as part of a document, which is what a store that kept
//! objects as JSON would do, and by the reader that takes its text alone and shares what repeats.

use criterion::{Criterion, Throughput};
use std::{hint::black_box, time::Duration};
use tenure_fields::{
    FieldSet,
    compact::{ManagerRecord, binary, nested_lists},
    fields_v1,
};
use tenure_value::{Limits, Value, json};

const DEPLOYMENT: &[u8] = include_bytes!("../../../bench/inputs/fieldpath/deployment-big.json");
const EXAMPLE: &[u8] = include_bytes!("../tests/compact/example.json");
const RECORDED: &str = include_str!("../tests/samples/recorded.jsonl");

fn example() -> FieldSet {
    let example = json::parse(EXAMPLE, &Limits::TRUSTED).expect("the example is JSON");
    let text = example.get("fieldsV1").and_then(Value::as_str).expect("the example has a set");
    fields_v1::parse(text.as_bytes()).expect("the example's set can be read")
}

/// The set of a Pod, that of a Deployment with many containers, and a mix of recorded ones.
fn inputs() -> [(&'static str, Vec<FieldSet>); 3] {
    let parse = |text: &[u8]| fields_v1::parse(text).expect("the set can be read");
    [
        ("pod", vec![example()]),
        ("deployment-big", vec![parse(DEPLOYMENT)]),
        ("recorded", RECORDED.lines().map(|line| parse(line.as_bytes())).collect()),
    ]
}

fn sets(criterion: &mut Criterion) {
    for (name, sets) in inputs() {
        let texts: Vec<Vec<u8>> = sets.iter().map(fields_v1::to_vec).collect();
        let bytes: Vec<Vec<u8>> = sets.iter().map(|set| binary::encode(set).expect("encodes")).collect();
        let lists: Vec<String> = sets.iter().map(nested_lists::to_text).collect();
        // A set as a server holds it: what came from the store or from a request, not what was shared.
        let sets: Vec<FieldSet> = texts.iter().map(|text| fields_v1::parse(text).expect("reads")).collect();
        let size = texts.iter().map(Vec::len).sum::<usize>() as u64;
        let mut group = criterion.benchmark_group(format!("decode/{name}"));
        group.throughput(Throughput::Bytes(size));
        group.bench_function("fields-v1", |bench| {
            bench.iter(|| texts.iter().for_each(|text| drop(black_box(fields_v1::parse(black_box(text))))));
        });
        group.bench_function("fields-v1-in-document", |bench| {
            let read =
                |text: &[u8]| fields_v1::from_value(&json::parse(text, &Limits::default()).expect("JSON"));
            bench.iter(|| texts.iter().for_each(|text| drop(black_box(read(black_box(text))))));
        });
        group.bench_function("nested-lists", |bench| {
            bench
                .iter(|| lists.iter().for_each(|text| drop(black_box(nested_lists::parse(black_box(text))))));
        });
        group.bench_function("binary", |bench| {
            let mut decoder = binary::Decoder::default();
            bench.iter(|| bytes.iter().for_each(|bytes| drop(black_box(decoder.decode(black_box(bytes))))));
        });
        group.finish();
        let mut group = criterion.benchmark_group(format!("encode/{name}"));
        group.throughput(Throughput::Bytes(size));
        group.bench_function("fields-v1", |bench| {
            bench.iter(|| sets.iter().for_each(|set| drop(black_box(fields_v1::to_vec(black_box(set))))));
        });
        group.bench_function("fields-v1-in-document", |bench| {
            let write = |set: &FieldSet| json::to_vec(&fields_v1::to_value(set));
            bench.iter(|| sets.iter().for_each(|set| drop(black_box(write(black_box(set))))));
        });
        group.bench_function("binary", |bench| {
            let mut encoder = binary::Encoder::default();
            bench.iter(|| sets.iter().for_each(|set| drop(black_box(encoder.encode(black_box(set))))));
        });
        group.finish();
    }
}

/// All managers of an object in one document against one text each.
fn objects(criterion: &mut Criterion) {
    let record = |(number, line): (usize, &str)| ManagerRecord {
        manager: format!("manager-{number}").into(),
        operation: "Apply".into(),
        api_version: "apps/v1".into(),
        time: format!("2026-01-02T03:04:{number:02}Z").into(),
        fields_type: "FieldsV1".into(),
        fields: fields_v1::parse(line.as_bytes()).ok(),
        ..ManagerRecord::default()
    };
    let lines: Vec<&str> = RECORDED.lines().filter(|line| line.contains("f:template")).collect();
    let objects: Vec<Vec<ManagerRecord>> =
        lines.chunks(3).map(|lines| lines.iter().copied().enumerate().map(record).collect()).collect();
    let bytes: Vec<Vec<u8>> =
        objects.iter().map(|records| binary::encode_object(records).expect("encodes")).collect();
    let mut group = criterion.benchmark_group("object");
    group.throughput(Throughput::Bytes(lines.iter().map(|line| line.len() as u64).sum()));
    group.bench_function("decode/fields-v1", |bench| {
        bench.iter(|| {
            lines.iter().for_each(|line| drop(black_box(fields_v1::parse(black_box(line.as_bytes())))))
        });
    });
    group.bench_function("decode/binary", |bench| {
        let mut decoder = binary::Decoder::default();
        bench
            .iter(|| bytes.iter().for_each(|bytes| drop(black_box(decoder.decode_object(black_box(bytes))))));
    });
    group.bench_function("encode/fields-v1", |bench| {
        bench.iter(|| {
            for record in objects.iter().flatten() {
                drop(black_box(record.fields.as_ref().map(fields_v1::to_vec)));
            }
        });
    });
    group.bench_function("encode/binary", |bench| {
        let mut encoder = binary::Encoder::default();
        bench.iter(|| {
            objects.iter().for_each(|records| drop(black_box(encoder.encode_object(black_box(records)))))
        });
    });
    group.finish();
}

fn main() {
    let criterion = Criterion::default().warm_up_time(Duration::from_millis(300));
    let mut criterion = criterion.measurement_time(Duration::from_secs(1)).configure_from_args();
    sets(&mut criterion);
    objects(&mut criterion);
    criterion.final_summary();
}
