//! Runs the fuzz target over its corpus and mutations of it, as an ordinary test.

#[allow(dead_code, reason = "tests of several crates include it")]
#[path = "../../tenure-value/tests/support/mutation.rs"]
mod mutation;
#[path = "fuzz_bodies/ownership.rs"]
mod ownership;

use mutation::{parts_of, replaced};
use proptest::{
    prelude::*,
    sample::select,
    test_runner::{RngAlgorithm, TestRng, TestRunner},
};
use tenure_value::{Limits, Value, json};

fn corpus() -> Vec<Vec<u8>> {
    mutation::corpus(env!("CARGO_MANIFEST_DIR"), "ownership")
}

fn trees() -> Vec<Value> {
    corpus().iter().filter_map(|bytes| json::parse(bytes, &Limits::TRUSTED).ok()).collect()
}

/// A deterministic runner: new cases are found by the fuzz target.
fn runner(cases: u32) -> TestRunner {
    let random = TestRng::deterministic_rng(RngAlgorithm::ChaCha);
    TestRunner::new_with_rng(
        ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(cases) },
        random,
    )
}

#[test]
fn corpus_files_never_panic() {
    let corpus = corpus();
    assert!(corpus.len() >= 6);
    corpus.iter().for_each(|bytes| ownership::run(bytes));
}

#[test]
fn mutated_bytes_never_panic() {
    let change = (select(corpus()), any::<prop::sample::Index>(), any::<u8>());
    runner(400)
        .run(&change, |(mut bytes, at, byte)| {
            let at = at.index(bytes.len());
            bytes[at] = byte;
            ownership::run(&bytes);
            Ok(())
        })
        .expect("an answer");
}

/// Mutates the document rather than the text, so that most results are still JSON.
#[test]
fn mutated_documents_never_panic() {
    let trees = trees();
    let parts: Vec<Value> = trees.iter().flat_map(|tree| parts_of(tree, 9)).collect();
    runner(1200)
        .run(&(select(trees), any::<u64>(), select(parts)), |(tree, seed, part)| {
            ownership::check(&replaced(&tree, seed, &part));
            Ok(())
        })
        .expect("an answer");
}

/// Replaces members of an input with those of another, so that objects meet foreign types.
#[test]
fn mixed_inputs_never_panic() {
    let trees = trees();
    let members = select(vec!["schema", "former", "live", "managers", "config", "new"]);
    runner(400)
        .run(&(select(trees.clone()), members, select(trees)), |(tree, member, other)| {
            let object = tree.as_object().cloned().unwrap_or_default();
            let value = other.get(member).cloned().unwrap_or_default();
            ownership::check(&Value::Object(object.with(member, value)));
            Ok(())
        })
        .expect("an answer");
}
