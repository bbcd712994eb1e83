//! A bounded run of the fuzz target over its saved corpus and mutations of it, the same in every run.

mod fuzzed;

use std::path::Path;

/// How many mutations of each saved input are tried.
const MUTATIONS: u64 = 250;

/// Fragments that change one patch into another.
const LIKELY: [&str; 22] = [
    "{",
    "}",
    "[",
    "]",
    ",",
    ":",
    "null",
    "1",
    "\"a\"",
    "\"$patch\":\"delete\",",
    "\"$patch\":\"replace\",",
    "{\"$patch\":\"replace\"}",
    "\"$retainKeys\":[\"name\"],",
    "\"$setElementOrder/containers\":[{\"name\":\"a\"}],",
    "\"$setElementOrder/finalizers\":[\"b\",\"a\"],",
    "\"$deleteFromPrimitiveList/finalizers\":[\"a\"],",
    "\"$patchMergeKey\":[\"name\"],",
    "\"$patchMergeKey\":[\"port\",\"protocol\"],",
    "\"name\":\"a\",",
    "\"port\":53,",
    "{\"name\":\"b\"},",
    "\"$x\":{},",
];

#[test]
fn patching_accepts_or_refuses_any_bytes() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/corpus/patch");
    let mut files: Vec<_> = std::fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    assert!(!files.is_empty(), "{} is empty", folder.display());
    for (number, file) in (0..).zip(files) {
        let saved = std::fs::read(&file).unwrap();
        fuzzed::patch(&saved);
        for seed in 0..MUTATIONS {
            fuzzed::patch(&mutated(&saved, Random(seed ^ number << 32)));
        }
    }
}

/// Inserts likely fragments, removes, repeats or replaces a few bytes.
fn mutated(saved: &[u8], mut random: Random) -> Vec<u8> {
    let mut bytes = saved.to_vec();
    for _ in 0..=random.below(3) {
        let at = random.below(bytes.len() + 1);
        let end = (at + random.below(20)).min(bytes.len());
        let piece = LIKELY[random.below(LIKELY.len())].as_bytes();
        // Most fragments fit behind an opening bracket or a comma, and keep the text readable.
        let fitting = (at..bytes.len()).find(|at| matches!(bytes[*at], b'{' | b'[' | b','));
        match (random.below(6), fitting) {
            (0..=3, Some(place)) => drop(bytes.splice(place + 1..place + 1, piece.iter().copied())),
            (4, _) => drop(bytes.drain(at..end)),
            _ => {
                let repeated = bytes[at..end].to_vec();
                let place = random.below(bytes.len() + 1);
                bytes.splice(place..place, repeated);
            }
        }
    }
    bytes
}

/// A small random number generator, so that failures are reproducible.
struct Random(u64);

impl Random {
    fn below(&mut self, bound: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % bound.max(1)
    }
}
