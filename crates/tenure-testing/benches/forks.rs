//! What test servers cost: starting one, forking one with 10,000 objects, and the first requests to a fork.

#![allow(missing_docs, reason = "what the macros of criterion make has no documentation")]

use criterion::{BatchSize, Criterion, criterion_group, criterion_main};
use serde_json::{Value, json};
use std::time::Instant;
use tenure_testing::TestServer;
use tokio::runtime::Runtime;

const OBJECTS: usize = 10_000;

fn map(number: usize) -> Value {
    json!({
        "apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": format!("map-{number}"), "namespace": "default"},
        "data": {"text": "x".repeat(500)},
    })
}

async fn filled() -> TestServer {
    let server = TestServer::start().await.expect("a server");
    for number in 0..OBJECTS {
        server.create(map(number)).await.expect("an object");
    }
    server.settle().await;
    server
}

/// Returns the bytes of this process in memory.
fn resident() -> usize {
    let text = std::fs::read_to_string("/proc/self/statm").unwrap_or_default();
    let pages = text.split(' ').nth(1).and_then(|pages| pages.parse::<usize>().ok());
    pages.unwrap_or(0) * 4096
}

/// Prints what forks occupy, and how long many of them take.
fn report(runtime: &Runtime, server: &TestServer) {
    let mut kept = Vec::with_capacity(1);
    let info = allocation_counter::measure(|| kept.push(server.fork()));
    println!(
        "a fork of {OBJECTS} objects: {} bytes in {} allocations",
        info.bytes_current, info.count_current
    );
    let (before, start) = (resident(), Instant::now());
    let forks: Vec<TestServer> = (0..1_000).map(|_| server.fork()).collect();
    let time = start.elapsed();
    println!("1,000 forks alive: {time:?}, {} bytes each in memory", (resident() - before) / forks.len());
    let start = Instant::now();
    runtime.block_on(async {
        for fork in &forks {
            fork.create(map(OBJECTS)).await.expect("an object");
        }
    });
    println!(
        "a write to each of them: {:?}, {} bytes each in memory",
        start.elapsed(),
        (resident() - before) / forks.len()
    );
    let count = server.writes().len();
    assert_eq!(count, OBJECTS, "the origin sees none of them");
}

fn forks(criterion: &mut Criterion) {
    let runtime = Runtime::new().expect("a runtime");
    let start = Instant::now();
    let empty = runtime.block_on(TestServer::start()).expect("a server");
    println!("the first start of the process: {:?}", start.elapsed());
    let server = runtime.block_on(filled());
    report(&runtime, &server);
    criterion.bench_function("start", |bencher| {
        bencher.iter(|| runtime.block_on(TestServer::start()).expect("a server"));
    });
    criterion.bench_function("fork of 10,000 objects", |bencher| {
        bencher.iter_with_large_drop(|| server.fork());
    });
    criterion.bench_function("start, create and read an object, and stop", |bencher| {
        bencher.iter(|| {
            runtime.block_on(async {
                let server = TestServer::start().await.expect("a server");
                server.create(map(0)).await.expect("an object");
                server.object("ConfigMap", "default", "map-0").get().await.expect("a read")
            })
        });
    });
    criterion.bench_function("create in a fork of 10,000 objects", |bencher| {
        let object = map(OBJECTS);
        bencher.iter_batched(
            || (server.fork(), object.clone()),
            |(fork, object)| {
                runtime.block_on(fork.create(object)).expect("an object");
                fork
            },
            BatchSize::SmallInput,
        );
    });
    criterion.bench_function("snapshot and restore", |bencher| {
        bencher.iter(|| empty.restore(&empty.snapshot()));
    });
}

criterion_group!(benches, forks);
criterion_main!(benches);
