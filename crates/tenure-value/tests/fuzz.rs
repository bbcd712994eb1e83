//! A bounded, reproducible run of each fuzz target over its corpus and mutations of it.

mod fuzzed;

use std::path::Path;

/// The number of mutations of each input.
const MUTATIONS: u64 = 400;

fn run(target: &str, likely: &[u8], body: fn(&[u8])) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/corpus").join(target);
    let mut files: Vec<_> = std::fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    assert!(!files.is_empty(), "{} is empty", folder.display());
    for (number, file) in (0..).zip(files) {
        let saved = std::fs::read(&file).unwrap();
        body(&saved);
        for seed in 0..MUTATIONS {
            body(&mutated(&saved, likely, Random(seed ^ number << 32)));
        }
    }
}

/// Inserts, removes, repeats or replaces a few bytes.
fn mutated(saved: &[u8], likely: &[u8], mut random: Random) -> Vec<u8> {
    let mut bytes = saved.to_vec();
    for _ in 0..=random.below(5) {
        let at = random.below(bytes.len() + 1);
        let end = (at + random.below(12)).min(bytes.len());
        let byte = likely[random.below(likely.len())];
        match random.below(4) {
            0 => bytes.insert(at, byte),
            1 => drop(bytes.drain(at..end)),
            2 => {
                let repeated = bytes[at..end].to_vec();
                let place = random.below(bytes.len() + 1);
                bytes.splice(place..place, repeated);
            }
            _ if at < bytes.len() => bytes[at] = byte,
            _ => bytes.truncate(at / 2),
        }
    }
    bytes
}

/// A small deterministic random number generator.
struct Random(u64);

impl Random {
    fn below(&mut self, bound: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % bound.max(1)
    }
}

#[test]
fn json_parser_survives_arbitrary_bytes() {
    run("json", b"{}[]\":,.\\u0189eE+-tfn \n\x00\x1f\x7f\xc3\xe2\xff<&", fuzzed::json);
}

#[test]
fn yaml_parser_survives_arbitrary_bytes() {
    run("yaml", b"{}[]\"':,.-? \n\t#&*!|>%@`~<=0x1_ey\\u\r\x00\xc3\xa9\xff", fuzzed::yaml);
}
