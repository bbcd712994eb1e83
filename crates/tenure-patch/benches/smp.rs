//! Strategic merge patch on the documents in `bench/inputs/smp`: apply, two-way and three-way, from bytes to
//! bytes and from tree to tree, compared with the cost of reading the original as `serde_json::Value` in the same
//! run, which is the unit of the limits.
//!
//! `cargo bench -p tenure-patch --bench smp -- count "NAME OPERATION"` runs one operation a thousand times and
//! nothing else, for tools that count instructions; `-- least` prints the least time of each operation from
//! bytes to bytes and its ratio to the unit, which is nearly independent of other load on the machine.

use criterion::Criterion;
use std::{
    hint::black_box,
    time::{Duration, Instant},
};
use tenure_patch::strategic::{self, ApplyOptions, DiffOptions, LiveChanges, text};
use tenure_schema::{Schema, TypeRef};
use tenure_value::{Limits, Value, json};

/// The texts of one case.
struct Case {
    name: &'static str,
    ty: TypeRef<'static>,
    original: &'static [u8],
    modified: &'static [u8],
    current: &'static [u8],
    patch: &'static [u8],
}

macro_rules! case {
    ($name:literal, $version:literal, $kind:literal) => {
        Case {
            name: $name,
            ty: Schema::builtin().kind($version, $kind).unwrap(),
            original: include_bytes!(concat!("../../../bench/inputs/smp/", $name, ".original.json")),
            modified: include_bytes!(concat!("../../../bench/inputs/smp/", $name, ".modified.json")),
            current: include_bytes!(concat!("../../../bench/inputs/smp/", $name, ".current.json")),
            patch: include_bytes!(concat!("../../../bench/inputs/smp/", $name, ".patch.json")),
        }
    };
}

fn cases() -> [Case; 4] {
    [
        case!("deployment-small", "apps/v1", "Deployment"),
        case!("deployment-big", "apps/v1", "Deployment"),
        case!("service", "v1", "Service"),
        case!("node", "v1", "Node"),
    ]
}

fn read(text: &[u8]) -> Value {
    json::parse(black_box(text), &Limits::default()).unwrap()
}

impl Case {
    fn apply(&self, original: &Value, patch: &Value) -> Value {
        strategic::apply(original, patch, self.ty, &ApplyOptions::default()).unwrap()
    }

    fn two_way(&self, original: &Value, modified: &Value) -> Value {
        strategic::two_way(original, modified, self.ty, &DiffOptions::default()).unwrap()
    }

    fn three_way(&self, original: &Value, modified: &Value, current: &Value) -> Value {
        let options = DiffOptions::default();
        strategic::three_way(original, modified, current, self.ty, LiveChanges::Overwrite, &options).unwrap()
    }

    /// The operations from bytes to bytes, by name.
    fn run_bytes(&self, operation: &str) -> Vec<u8> {
        let (original, limits) = (black_box(self.original), Limits::default());
        let options = DiffOptions::default();
        match operation {
            "apply" => {
                text::apply(original, black_box(self.patch), self.ty, &ApplyOptions::default(), &limits)
            }
            "two-way" => text::two_way(original, black_box(self.modified), self.ty, &options, &limits),
            "three-way" => {
                let (modified, current) = (black_box(self.modified), black_box(self.current));
                let overwrite = LiveChanges::Overwrite;
                text::three_way(original, modified, current, self.ty, overwrite, &options, &limits)
            }
            _ => {
                let value: serde_json::Value = serde_json::from_slice(original).unwrap();
                drop(black_box(value));
                Ok(Vec::new())
            }
        }
        .unwrap()
    }
}

const OPERATIONS: [&str; 4] = ["P", "apply", "two-way", "three-way"];

fn bytes_to_bytes(criterion: &mut Criterion) {
    for case in cases() {
        let mut group = criterion.benchmark_group(format!("{}, bytes to bytes", case.name));
        for operation in OPERATIONS {
            group.bench_function(operation, |bencher| bencher.iter(|| case.run_bytes(operation)));
        }
        group.finish();
    }
}

fn tree_to_tree(criterion: &mut Criterion) {
    for case in cases() {
        let [original, modified, current, patch] =
            [case.original, case.modified, case.current, case.patch].map(read);
        let mut group = criterion.benchmark_group(format!("{}, tree to tree", case.name));
        group.bench_function("apply", |bencher| bencher.iter(|| case.apply(&original, &patch)));
        group.bench_function("two-way", |bencher| bencher.iter(|| case.two_way(&original, &modified)));
        group.bench_function("three-way", |bencher| {
            bencher.iter(|| case.three_way(&original, &modified, &current))
        });
        group.finish();
    }
}

/// Prints the least time of each operation and its ratio to the unit.
fn least() {
    for case in cases() {
        let mut times = [Duration::MAX; OPERATIONS.len()];
        // The operations take turns, so that a slow moment hits all of them.
        for _ in 0..2_000 {
            for (operation, time) in OPERATIONS.iter().zip(&mut times) {
                let start = Instant::now();
                drop(black_box(case.run_bytes(operation)));
                *time = start.elapsed().min(*time);
            }
        }
        for (operation, time) in OPERATIONS.iter().zip(times) {
            let ratio = time.as_secs_f64() / times[0].as_secs_f64();
            println!("{} {operation}: {:.1} µs, {ratio:.2} P", case.name, time.as_secs_f64() * 1e6);
        }
    }
}

fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    if let Some(at) = arguments.iter().position(|argument| argument == "count") {
        let wanted = arguments.get(at + 1).map_or("deployment-big apply", String::as_str);
        for case in cases() {
            for operation in
                OPERATIONS.into_iter().filter(|operation| wanted == format!("{} {operation}", case.name))
            {
                (0..1_000).for_each(|_| drop(black_box(case.run_bytes(operation))));
            }
        }
        return;
    }
    if arguments.iter().any(|argument| argument == "least") {
        return least();
    }
    let mut criterion = Criterion::default()
        .warm_up_time(Duration::from_millis(300))
        .measurement_time(Duration::from_secs(1))
        .configure_from_args();
    bytes_to_bytes(&mut criterion);
    tree_to_tree(&mut criterion);
    criterion.final_summary();
}
