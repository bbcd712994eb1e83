//! The binary encoding compared with `FieldsV1`: the time that a store saves on every read and write.
//! `FieldsV1` is parsed in three ways: as part of a document, as a store of JSON objects would do, the same
//! with `serde_json`, and by the parser of `FieldsV1`, which shares repeated levels.
//!
//! `cargo bench -p tenure-fields --bench compact -- least` prints the minimum time of each variant and its
//! ratio, which other load on the machine hardly affects; `-- count "decode pod binary"` runs one variant a
//! thousand times and nothing else, for tools that count instructions.

use criterion::{Criterion, Throughput};
use std::{
    hint::black_box,
    time::{Duration, Instant},
};
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

/// The set of a Pod, the set of a Deployment with many containers, and a mix of recorded sets.
fn inputs() -> [(&'static str, Vec<FieldSet>); 3] {
    let parse = |text: &[u8]| fields_v1::parse(text).expect("the set can be read");
    [
        ("pod", vec![example()]),
        ("deployment-big", vec![parse(DEPLOYMENT)]),
        ("recorded", RECORDED.lines().map(|line| parse(line.as_bytes())).collect()),
    ]
}

/// A variant of an operation.
type Way<'a> = (&'static str, Box<dyn FnMut() + 'a>);

/// The same sets as text, as bytes and in memory.
struct Prepared {
    texts: Vec<Vec<u8>>,
    bytes: Vec<Vec<u8>>,
    lists: Vec<String>,
    sets: Vec<FieldSet>,
}

impl Prepared {
    fn new(sets: &[FieldSet]) -> Prepared {
        let texts: Vec<Vec<u8>> = sets.iter().map(fields_v1::to_vec).collect();
        Prepared {
            bytes: sets.iter().map(|set| binary::encode(set).expect("encodes")).collect(),
            lists: sets.iter().map(nested_lists::to_text).collect(),
            // A set as a server has it, from the store or from a request, without additional sharing.
            sets: texts.iter().map(|text| fields_v1::parse(text).expect("reads")).collect(),
            texts,
        }
    }

    fn decode(&self) -> Vec<Way<'_>> {
        let in_document =
            |text: &[u8]| fields_v1::from_value(&json::parse(text, &Limits::default()).expect("JSON"));
        let serde_json =
            |text: &[u8]| fields_v1::from_value(&serde_json::from_slice::<Value>(text).expect("JSON"));
        let mut decoder = binary::Decoder::default();
        vec![
            ("fields-v1", each(&self.texts, |text| fields_v1::parse(text))),
            ("fields-v1-in-document", each(&self.texts, move |text| in_document(text))),
            ("fields-v1-by-serde-json", each(&self.texts, move |text| serde_json(text))),
            ("nested-lists", each(&self.lists, |text| nested_lists::parse(text))),
            ("binary", each(&self.bytes, move |bytes| decoder.decode(bytes))),
        ]
    }

    fn encode(&self) -> Vec<Way<'_>> {
        let mut encoder = binary::Encoder::default();
        vec![
            ("fields-v1", each(&self.sets, fields_v1::to_vec)),
            ("fields-v1-in-document", each(&self.sets, |set| json::to_vec(&fields_v1::to_value(set)))),
            (
                "fields-v1-by-serde-json",
                each(&self.sets, |set| serde_json::to_vec(&fields_v1::to_value(set))),
            ),
            ("binary", each(&self.sets, move |set| encoder.encode(set))),
        ]
    }
}

/// Applies an operation to each item and drops the results.
fn each<'a, T, R>(all: &'a [T], mut operation: impl FnMut(&'a T) -> R + 'a) -> Box<dyn FnMut() + 'a> {
    Box::new(move || all.iter().for_each(|one| drop(black_box(operation(black_box(one))))))
}

fn sets(criterion: &mut Criterion) {
    for (name, sets) in inputs() {
        let prepared = Prepared::new(&sets);
        let size = prepared.texts.iter().map(Vec::len).sum::<usize>() as u64;
        for (operation, ways) in [("decode", prepared.decode()), ("encode", prepared.encode())] {
            let mut group = criterion.benchmark_group(format!("{operation}/{name}"));
            group.throughput(Throughput::Bytes(size));
            for (way, mut run) in ways {
                group.bench_function(way, |bench| bench.iter(&mut run));
            }
            group.finish();
        }
    }
}

/// Prints the minimum time of each variant and the speedup of the binary encoding; the variants take turns,
/// so a slow moment affects all of them.
fn least() {
    for (name, sets) in inputs() {
        let prepared = Prepared::new(&sets);
        for (operation, mut ways) in [("decode", prepared.decode()), ("encode", prepared.encode())] {
            let mut times = vec![Duration::MAX; ways.len()];
            for _ in 0..1_000 {
                for ((_, run), time) in ways.iter_mut().zip(&mut times) {
                    let start = Instant::now();
                    run();
                    *time = start.elapsed().min(*time);
                }
            }
            let binary = times.last().copied().unwrap_or_default().as_secs_f64();
            for ((way, _), time) in ways.iter().zip(times) {
                let time = time.as_secs_f64();
                println!("{operation} {name} {way}: {:.2} µs, {:.2} times binary", time * 1e6, time / binary);
            }
        }
    }
}

/// Runs one variant a thousand times and nothing else, for tools that count instructions.
fn count(wanted: &str) {
    for (name, sets) in inputs() {
        let prepared = Prepared::new(&sets);
        for (operation, ways) in [("decode", prepared.decode()), ("encode", prepared.encode())] {
            for (way, mut run) in ways {
                if wanted == format!("{operation} {name} {way}") {
                    (0..1_000).for_each(|_| run());
                }
            }
        }
    }
}

/// All managers of an object in one document compared with one text each.
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
    let arguments: Vec<String> = std::env::args().collect();
    if let Some(at) = arguments.iter().position(|argument| argument == "count") {
        return count(arguments.get(at + 1).map_or("", String::as_str));
    }
    if arguments.iter().any(|argument| argument == "least") {
        return least();
    }
    let criterion = Criterion::default().warm_up_time(Duration::from_millis(300));
    let mut criterion = criterion.measurement_time(Duration::from_secs(1)).configure_from_args();
    sets(&mut criterion);
    objects(&mut criterion);
    criterion.final_summary();
}
