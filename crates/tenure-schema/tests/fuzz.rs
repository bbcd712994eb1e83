//! Runs the fuzz target over its corpus and mutations of it, as an ordinary test.

#[path = "fuzz_bodies/schema.rs"]
mod schema;

use proptest::{
    prelude::*,
    sample::select,
    test_runner::{RngAlgorithm, TestRng, TestRunner},
};
use std::{fs, path::Path};
use tenure_value::{Limits, Object, Value, json};

fn corpus() -> Vec<Vec<u8>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/corpus/schema");
    let files = fs::read_dir(folder).unwrap().map(|file| fs::read(file.unwrap().path()).unwrap());
    files.collect()
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

fn parts_of(tree: &Value, depth: usize) -> Vec<Value> {
    let below: Vec<&Value> = match tree {
        _ if depth == 0 => Vec::new(),
        Value::Object(object) => object.iter().map(|(_, value)| value).collect(),
        Value::Array(array) => array.iter().collect(),
        _ => Vec::new(),
    };
    let inner = below.into_iter().flat_map(|value| parts_of(value, depth - 1));
    std::iter::once(tree.clone()).chain(inner).collect()
}

/// Replaces a value of the document, selected by the seed.
fn replaced(tree: &Value, seed: u64, part: &Value) -> Value {
    let next = seed.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
    let pick = (seed >> 33) as usize;
    match tree {
        Value::Object(object) if !object.is_empty() && !pick.is_multiple_of(5) => {
            let (name, value) = &object.fields()[pick % object.len()];
            Object::with(object, name.clone(), replaced(value, next, part)).into()
        }
        Value::Array(array) if !array.is_empty() && !pick.is_multiple_of(5) => {
            let mut items = array.to_vec();
            let at = pick % items.len();
            items[at] = replaced(&items[at], next, part);
            Value::array(items)
        }
        _ => part.clone(),
    }
}
