//! A bounded, reproducible run of each fuzz target over its corpus and mutations of it.

mod fuzzed;
#[allow(dead_code, reason = "tests of several crates include it")]
#[path = "../../tenure-value/tests/support/mutation.rs"]
mod mutation;

const LIKELY: &[u8] = b"{}[]\":,.=\\fkvi0-e\x00\xff<";
/// The number of mutations of each input.
const MUTATIONS: u64 = 300;

fn run(target: &str, body: fn(&[u8])) {
    let inputs = mutation::corpus(env!("CARGO_MANIFEST_DIR"), target);
    mutation::run(inputs, MUTATIONS, |saved, random| mutation::mutated(saved, LIKELY, random), body);
}

#[test]
fn fields_v1_parser_survives_arbitrary_bytes() {
    run("fields_v1", fuzzed::fields_v1);
}

#[test]
fn path_parser_survives_arbitrary_bytes() {
    run("path", fuzzed::path);
}
