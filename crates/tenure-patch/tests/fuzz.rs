//! A bounded run of the fuzz target over its saved corpus and mutations of it, the same in every run.

mod fuzzed;
#[allow(dead_code, reason = "tests of several crates include it")]
#[path = "../../tenure-value/tests/support/mutation.rs"]
mod mutation;

use mutation::Random;

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
    let inputs = mutation::corpus(env!("CARGO_MANIFEST_DIR"), "patch");
    mutation::run(inputs, MUTATIONS, mutated, fuzzed::patch);
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
