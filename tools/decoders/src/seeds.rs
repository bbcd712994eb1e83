//! The seeds: the saved corpora of the crates, the objects of the recorded conversations, and a few texts.

use std::{fs, path::PathBuf};
use tenure_value::{Limits, Value, json};

fn crates() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../crates")
}

/// Returns the saved corpus of a fuzz target.
pub(crate) fn corpus(name: &str, target: &str) -> Vec<Vec<u8>> {
    let folder = crates().join(name).join("tests/corpus").join(target);
    let mut files: Vec<PathBuf> =
        fs::read_dir(&folder).into_iter().flatten().flatten().map(|entry| entry.path()).collect();
    files.sort();
    files.iter().filter_map(|file| fs::read(file).ok()).collect()
}

/// Returns the objects that clients sent in the recorded conversations, each once.
pub(crate) fn objects() -> Vec<Value> {
    let folder = crates().join("../conformance/scenarios");
    let mut files: Vec<PathBuf> =
        fs::read_dir(&folder).into_iter().flatten().flatten().map(|entry| entry.path()).collect();
    files.sort();
    let mut objects = Vec::new();
    for file in files {
        let text = fs::read(&file).unwrap_or_default();
        let scenarios = json::parse(&text, &Limits::TRUSTED).unwrap_or_default();
        for scenario in scenarios.as_array().into_iter().flatten() {
            for step in scenario.get("steps").and_then(Value::as_array).into_iter().flatten() {
                let body = step.get("body").filter(|body| body.get("apiVersion").is_some());
                objects.extend(body.cloned());
            }
        }
    }
    objects.sort_by_cached_key(ToString::to_string);
    objects.dedup();
    // Long documents make the run slow, not better.
    objects.retain(|object| object.to_string().len() < 1 << 14);
    objects
}

/// Returns texts as bytes.
pub(crate) fn texts(texts: &[&str]) -> Vec<Vec<u8>> {
    texts.iter().map(|text| text.as_bytes().to_vec()).collect()
}

/// Returns every document twice, as two lines: one takes the place of the other.
pub(crate) fn pairs(documents: &[Value]) -> Vec<Vec<u8>> {
    documents.iter().map(|document| format!("{document}\n{document}").into_bytes()).collect()
}
