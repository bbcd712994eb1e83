//! Runs the fuzz target over its corpus and mutations of it, as an ordinary test.

#[path = "fuzz_bodies/ownership.rs"]
mod ownership;

use proptest::{
    prelude::*,
    sample::select,
    test_runner::{RngAlgorithm, TestRng, TestRunner},
};
use std::{fs, path::Path};
use tenure_value::{Limits, Value, json};

fn corpus() -> Vec<Vec<u8>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/corpus/ownership");
    let mut files: Vec<_> =
        fs::read_dir(folder).expect("the corpus").map(|file| file.expect("a file").path()).collect();
    files.sort();
    files.iter().map(|file| fs::read(file).expect("a file")).collect()
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
        Value::Object(object) if !object.is_empty() && !pick.is_multiple_of(6) => {
            let (name, value) = &object.fields()[pick % object.len()];
            Value::Object(object.with(name.clone(), replaced(value, next, part)))
        }
        Value::Array(array) if !array.is_empty() && !pick.is_multiple_of(6) => {
            let mut items = array.to_vec();
            let at = pick % items.len();
            items[at] = replaced(&items[at], next, part);
            Value::array(items)
        }
        _ => part.clone(),
    }
}
