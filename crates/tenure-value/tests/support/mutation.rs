//! Bounded, reproducible runs of fuzz targets: a saved corpus, and mutations of its bytes or of its documents. Tests of several crates
//! include this file.

use std::path::Path;
use tenure_value::Value;

/// A small random number generator, so that failures are reproducible.
pub struct Random(pub u64);

impl Random {
    pub fn below(&mut self, bound: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % bound.max(1)
    }
}

/// Returns the saved inputs of a target of a crate.
pub fn corpus(package: &str, target: &str) -> Vec<Vec<u8>> {
    let folder = Path::new(package).join("tests/corpus").join(target);
    let mut files: Vec<_> = std::fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    assert!(!files.is_empty(), "{} is empty", folder.display());
    files.into_iter().map(|file| std::fs::read(file).unwrap()).collect()
}

/// Passes every saved input and some mutations of each to the body of a target.
pub fn run(inputs: Vec<Vec<u8>>, mutations: u64, mutate: impl Fn(&[u8], Random) -> Vec<u8>, body: fn(&[u8])) {
    for (number, saved) in (0..).zip(inputs) {
        body(&saved);
        for seed in 0..mutations {
            body(&mutate(&saved, Random(seed ^ number << 32)));
        }
    }
}

/// Inserts, removes, repeats or replaces a few bytes.
pub fn mutated(saved: &[u8], likely: &[u8], mut random: Random) -> Vec<u8> {
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

/// Returns a document and what is in it, to a depth.
pub fn parts_of(tree: &Value, depth: usize) -> Vec<Value> {
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
pub fn replaced(tree: &Value, seed: u64, part: &Value) -> Value {
    let mut random = Random(seed);
    let goes_on = random.below(6) > 0;
    let (pick, next) = (random.below(usize::MAX), random.0);
    match tree {
        Value::Object(object) if !object.is_empty() && goes_on => {
            let (name, value) = &object.fields()[pick % object.len()];
            Value::Object(object.with(name.clone(), replaced(value, next, part)))
        }
        Value::Array(array) if !array.is_empty() && goes_on => {
            let mut items = array.to_vec();
            let at = pick % items.len();
            items[at] = replaced(&items[at], next, part);
            Value::array(items)
        }
        _ => part.clone(),
    }
}
