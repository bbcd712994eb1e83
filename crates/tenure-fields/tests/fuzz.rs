//! A bounded, reproducible run of each fuzz target over its corpus and mutations of it.

mod fuzzed;

use std::path::Path;

/// The number of mutations of each input.
const MUTATIONS: u64 = 300;

fn run(target: &str, body: fn(&[u8])) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/corpus").join(target);
    let mut inputs = 0;
    let mut files: Vec<_> = std::fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    for file in files {
        let saved = std::fs::read(&file).unwrap();
        body(&saved);
        for seed in 0..MUTATIONS {
            body(&mutated(&saved, Random(seed ^ inputs << 32)));
        }
        inputs += 1;
    }
    assert!(inputs > 0, "{} is empty", folder.display());
}

/// Changes, removes, repeats or moves a few bytes.
fn mutated(saved: &[u8], mut random: Random) -> Vec<u8> {
    const LIKELY: &[u8] = b"{}[]\":,.=\\fkvi0-e\x00\xff<";
    let mut bytes = saved.to_vec();
    for _ in 0..=random.below(4) {
        let at = random.below(bytes.len() + 1);
        let end = (at + random.below(8)).min(bytes.len());
        match random.below(4) {
            0 => bytes.insert(at, LIKELY[random.below(LIKELY.len())]),
            1 => drop(bytes.drain(at..end)),
            2 => bytes.extend_from_within(at..end),
            _ if at < bytes.len() => bytes[at] = LIKELY[random.below(LIKELY.len())],
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
fn fields_v1_parser_survives_arbitrary_bytes() {
    run("fields_v1", fuzzed::fields_v1);
}

#[test]
fn path_parser_survives_arbitrary_bytes() {
    run("path", fuzzed::path);
}
