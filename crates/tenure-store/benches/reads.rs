//! Reading and watching: listing 100,000 entries, pages of them, a get, packed values, and one change that reaches 10,000
//! watchers, each compared with the simplest implementation of the same.

#![allow(missing_docs, reason = "criterion's macro makes a public function")]

use bytes::Bytes;
use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use std::collections::BTreeMap;
use std::hint::black_box;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};
use tenure_store::{Compaction, Expected, ListRequest, MemoryStore, Store, Transaction, WatchRequest};
use tokio::runtime::Runtime;

const ENTRIES: usize = 100_000;
const WATCHERS: usize = 10_000;

fn key(number: usize) -> String {
    format!("/registry/pods/namespace-{:03}/pod-{number:06}", number % 500)
}

fn filled(runtime: &Runtime) -> MemoryStore {
    let store = MemoryStore::new();
    for number in 0..ENTRIES {
        let put = Transaction::new().put(key(number), Expected::Absent, vec![7; 300]);
        runtime.block_on(store.commit(put)).expect("a write");
    }
    store
}

fn listing(criterion: &mut Criterion) {
    let runtime = runtime();
    let store = filled(&runtime);
    let plain: BTreeMap<Bytes, Bytes> =
        (0..ENTRIES).map(|number| (key(number).into(), vec![7; 300].into())).collect();
    let mut group = criterion.benchmark_group("list of 100,000 entries");
    group.throughput(Throughput::Elements(ENTRIES as u64)).sample_size(20);
    let all = ListRequest::prefix("/registry/pods/");
    group.bench_function("store", |bench| {
        bench.iter(|| runtime.block_on(store.list(all.clone())).expect("a listing"));
    });
    group.bench_function("clones from a BTreeMap", |bench| {
        bench.iter(|| plain.iter().map(|(key, value)| (key.clone(), value.clone())).collect::<Vec<_>>());
    });
    group.bench_function("store, first page of 500 and count of the rest", |bench| {
        bench.iter(|| runtime.block_on(store.list(all.clone().limit(500))).expect("a listing"));
    });
    group.bench_function("store, one namespace of 200", |bench| {
        let one = ListRequest::prefix("/registry/pods/namespace-077/");
        bench.iter(|| runtime.block_on(store.list(one.clone())).expect("a listing"));
    });
    group.finish();
    criterion.bench_function("get", |bench| {
        bench.iter(|| runtime.block_on(store.get(black_box(key(4_711)).as_bytes())).expect("a get"));
    });
}

/// An object of 2 KB, most of which it has in common with the others.
fn object(number: usize) -> String {
    let variables: Vec<String> =
        (0..40).map(|at| format!(r#"{{"name":"VARIABLE_{at}","value":"value of {at}"}}"#)).collect();
    format!(
        r#"{{"metadata":{{"name":"web-{number}","uid":"{:016x}"}},"spec":{{"env":[{}]}}}}"#,
        number.wrapping_mul(0x9e37_79b9_7f4a_7c15),
        variables.join(",")
    )
}

/// Reading values that have left the history, compared with a copy of their bytes.
fn packed(criterion: &mut Criterion) {
    let runtime = runtime();
    let store = MemoryStore::new();
    for number in 0..1000 {
        let put = Transaction::new().put(key(number), Expected::Absent, object(number));
        runtime.block_on(store.commit(put)).expect("a write");
    }
    let lately = runtime.block_on(store.get(key(77).as_bytes())).expect("a get").expect("an entry");
    runtime.block_on(store.compact(Compaction::KeepCount(0))).expect("a compaction");
    let packed = runtime.block_on(store.get(key(77).as_bytes())).expect("a get").expect("an entry");
    let mut group = criterion.benchmark_group("the bytes of a value of 2 KB");
    group.bench_function("packed", |bench| bench.iter(|| packed.value.bytes()));
    group.bench_function("written lately", |bench| bench.iter(|| lately.value.bytes()));
    let bytes = lately.value.bytes();
    group.bench_function("a copy", |bench| bench.iter(|| Bytes::copy_from_slice(black_box(&bytes))));
}

/// The time from a write until the last of the watchers has its change.
fn fan_out(criterion: &mut Criterion) {
    let runtime = runtime();
    let mut group = criterion.benchmark_group("one change to 10,000 watchers");
    group.throughput(Throughput::Elements(WATCHERS as u64)).sample_size(20);
    group.measurement_time(Duration::from_secs(4));

    let store = Arc::new(MemoryStore::new());
    let seen = Arc::new(AtomicUsize::new(0));
    for _ in 0..WATCHERS {
        let (store, seen) = (store.clone(), seen.clone());
        runtime.spawn(async move {
            let mut watch = store.watch(WatchRequest::prefix("/registry/pods/")).await.expect("a watch");
            seen.fetch_add(1, Ordering::SeqCst);
            while watch.next().await.is_ok() {
                seen.fetch_add(1, Ordering::SeqCst);
            }
        });
    }
    wait_for(&seen, WATCHERS);
    group.bench_function("store", |bench| {
        bench.iter_custom(|rounds| {
            let start = Instant::now();
            for _ in 0..rounds {
                seen.store(0, Ordering::SeqCst);
                let put = Transaction::new().put("/registry/pods/a", Expected::Anything, "x");
                runtime.block_on(store.commit(put)).expect("a write");
                wait_for(&seen, WATCHERS);
            }
            start.elapsed()
        });
    });

    let (sender, _) = tokio::sync::broadcast::channel::<Bytes>(16);
    let seen = Arc::new(AtomicUsize::new(0));
    for _ in 0..WATCHERS {
        let (mut receiver, seen) = (sender.subscribe(), seen.clone());
        runtime.spawn(async move {
            while receiver.recv().await.is_ok() {
                seen.fetch_add(1, Ordering::SeqCst);
            }
        });
    }
    group.bench_function("broadcast channel, no revisions", |bench| {
        bench.iter_custom(|rounds| {
            let start = Instant::now();
            for _ in 0..rounds {
                seen.store(0, Ordering::SeqCst);
                sender.send("x".into()).expect("a receiver exists");
                wait_for(&seen, WATCHERS);
            }
            start.elapsed()
        });
    });
    group.finish();
}

/// A write while 10,000 watchers watch other prefixes.
fn uninterested(criterion: &mut Criterion) {
    let runtime = runtime();
    let store = MemoryStore::new();
    let put = || Transaction::new().put("/registry/pods/a", Expected::Anything, "x");
    criterion.bench_function("write without watchers", |bench| {
        bench.iter(|| runtime.block_on(store.commit(put())).expect("a write"));
    });
    let watches: Vec<_> = (0..WATCHERS)
        .map(|number| {
            let request = WatchRequest::prefix(format!("/registry/secrets/namespace-{number}/"));
            runtime.block_on(store.watch(request)).expect("a watch")
        })
        .collect();
    criterion.bench_function("write beside 10,000 watchers of other prefixes", |bench| {
        bench.iter(|| runtime.block_on(store.commit(put())).expect("a write"));
    });
    drop(watches);
}

fn wait_for(seen: &AtomicUsize, count: usize) {
    while seen.load(Ordering::SeqCst) < count {
        std::thread::yield_now();
    }
}

fn runtime() -> Runtime {
    tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_time().build().expect("a runtime")
}

criterion_group!(benches, listing, packed, fan_out, uninterested);
criterion_main!(benches);
