//! Both local stores keep every promise of the trait.

use std::sync::Arc;
use tenure_store::{EmbeddedOptions, EmbeddedStore, MemoryStore, conformance};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_memory_store_keeps_every_promise() {
    conformance::run(async || Arc::new(MemoryStore::new())).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_memory_store_keeps_every_promise_in_turn() {
    let store = Arc::new(MemoryStore::new());
    conformance::run(async || store.clone()).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_embedded_store_keeps_every_promise() {
    let directory = tempfile::tempdir().unwrap();
    let mut number = 0;
    conformance::run(async || {
        number += 1;
        let path = directory.path().join(number.to_string());
        Arc::new(EmbeddedStore::open(path, EmbeddedOptions::default()).unwrap())
    })
    .await;
}
