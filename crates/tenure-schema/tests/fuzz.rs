//! Runs the fuzz target over its corpus and mutations of it, as an ordinary test.

#[allow(dead_code, reason = "tests of several crates include it")]
#[path = "../../tenure-value/tests/support/mutation.rs"]
mod mutation;
#[path = "fuzz_bodies/schema.rs"]
mod schema;

use mutation::{parts_of, replaced};
use proptest::{
    prelude::*,
    sample::select,
    test_runner::{RngAlgorithm, TestRng, TestRunner},
};
use tenure_value::{Limits, Value, json};

fn corpus() -> Vec<Vec<u8>> {
    mutation::corpus(env!("CARGO_MANIFEST_DIR"), "schema")
}

/// A deterministic runner: new cases are found by the fuzz target.
fn runner() -> TestRunner {
    let random = TestRng::deterministic_rng(RngAlgorithm::ChaCha);
    TestRunner::new_with_rng(
        ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(1500) },
        random,
    )
}

#[test]
fn corpus_files_never_panic() {
    let corpus = corpus();
    assert!(corpus.len() >= 10);
    corpus.iter().for_each(|bytes| schema::run(bytes));
}

#[test]
fn mutated_bytes_never_panic() {
    let change = (select(corpus()), any::<prop::sample::Index>(), any::<u8>(), any::<prop::sample::Index>());
    runner()
        .run(&change, |(mut bytes, at, byte, end)| {
            let (at, end) = (at.index(bytes.len()), end.index(bytes.len()));
            bytes[at] = byte;
            schema::run(&bytes);
            schema::run(&bytes[..end]);
            Ok(())
        })
        .unwrap();
}

/// Mutates the document rather than the text, so that most results are still JSON and keywords get values of other
/// keywords.
#[test]
fn mutated_documents_never_panic() {
    let trees: Vec<Value> =
        corpus().iter().filter_map(|bytes| json::parse(bytes, &Limits::TRUSTED).ok()).collect();
    let parts: Vec<Value> = trees.iter().flat_map(|tree| parts_of(tree, 9)).collect();
    let change = (select(trees), any::<u64>(), select(parts));
    runner()
        .run(&change, |(tree, seed, part)| {
            schema::compile(&replaced(&tree, seed, &part));
            Ok(())
        })
        .unwrap();
}
