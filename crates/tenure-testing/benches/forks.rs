//! What test servers cost: starting one, forking one with 10,000 objects, and the first requests to a fork.

#![allow(missing_docs, reason = "what the macros of criterion make has no documentation")]

use criterion::{BatchSize, Criterion, criterion_group, criterion_main};
use serde_json::{Value, json};
use std::{
    hint::black_box,
    time::{Duration, Instant},
};
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

/// Returns the processor time of all threads. The system updates it a few hundred times in a second.
fn processor_time() -> Duration {
    let threads = std::fs::read_dir("/proc/self/task").into_iter().flatten().flatten();
    let nanoseconds = threads.filter_map(|thread| {
        let text = std::fs::read_to_string(thread.path().join("schedstat")).ok()?;
        text.split(' ').next()?.parse::<u64>().ok()
    });
    Duration::from_nanos(nanoseconds.sum())
}

/// Prints the least processor time and the least wall time of something that is done many times, in several rounds. Other work on the
/// machine changes the second more than the first.
fn least<T>(what: &str, count: u32, mut act: impl FnMut() -> T) {
    let rounds = (0..10).map(|_| {
        let (used, start) = (processor_time(), Instant::now());
        let made: Vec<T> = (0..count).map(|_| black_box(act())).collect();
        let times = ((processor_time() - used) / count, start.elapsed() / count);
        drop(made);
        times
    });
    let (processor, wall): (Vec<Duration>, Vec<Duration>) = rounds.unzip();
    let (processor, wall) = (processor.into_iter().min(), wall.into_iter().min());
    println!(
        "{what}: {:?} of processor time, {:?} of wall time",
        processor.unwrap_or_default(),
        wall.unwrap_or_default()
    );
}

/// Prints what forks occupy, and how long many of them take.
fn report(runtime: &Runtime, server: &TestServer) {
    let mut kept = Vec::with_capacity(1);
    let info = allocation_counter::measure(|| kept.push(server.fork()));
    println!(
        "a fork of {OBJECTS} objects: {} bytes in {} allocations",
        info.bytes_current, info.count_current
    );
    least("a later start", 500, || runtime.block_on(TestServer::start()).expect("a server"));
    least(&format!("a fork of {OBJECTS} objects"), 1_000, || server.fork());
    let (before, used, start) = (resident(), processor_time(), Instant::now());
    let forks: Vec<TestServer> = (0..1_000).map(|_| server.fork()).collect();
    println!(
        "1,000 forks alive: {:?} of processor time, {:?} of wall time, {} bytes each in memory",
        processor_time() - used,
        start.elapsed(),
        (resident() - before) / forks.len()
    );
    let (used, start) = (processor_time(), Instant::now());
    runtime.block_on(async {
        for fork in &forks {
            fork.create(map(OBJECTS)).await.expect("an object");
        }
    });
    println!(
        "a write to each of them: {:?} of processor time, {:?} of wall time, {} bytes each in memory",
        processor_time() - used,
        start.elapsed(),
        (resident() - before) / forks.len()
    );
    assert_eq!(server.writes().len(), OBJECTS, "the origin sees none of them");
    drop(forks);
    // The runtime ends with its tasks, so that those of one round do not run in the next.
    least(&format!("the first write to a fork of {OBJECTS} objects, with its controllers"), 50, || {
        let alone = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
        alone.block_on(async {
            let fork = server.fork();
            fork.create(map(OBJECTS)).await.expect("an object");
            fork.settle().await;
        });
    });
    let fork = server.fork();
    runtime.block_on(fork.create(map(OBJECTS))).expect("an object");
    let mut number = OBJECTS;
    least("a later write to it", 500, || {
        number += 1;
        runtime.block_on(fork.create(map(number))).expect("an object")
    });
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
