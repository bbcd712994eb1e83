//! A bounded, reproducible run of each fuzz target over its corpus and mutations of it.

mod fuzzed;
#[allow(dead_code, reason = "tests of several crates include it")]
#[path = "support/mutation.rs"]
mod mutation;

/// The number of mutations of each input.
const MUTATIONS: u64 = 400;

fn run(target: &str, likely: &[u8], body: fn(&[u8])) {
    let inputs = mutation::corpus(env!("CARGO_MANIFEST_DIR"), target);
    mutation::run(inputs, MUTATIONS, |saved, random| mutation::mutated(saved, likely, random), body);
}

#[test]
fn json_parser_survives_arbitrary_bytes() {
    run("json", b"{}[]\":,.\\u0189eE+-tfn \n\x00\x1f\x7f\xc3\xe2\xff<&", fuzzed::json);
}

#[test]
fn yaml_parser_survives_arbitrary_bytes() {
    run("yaml", b"{}[]\"':,.-? \n\t#&*!|>%@`~<=0x1_ey\\u\r\x00\xc3\xa9\xff", fuzzed::yaml);
}
