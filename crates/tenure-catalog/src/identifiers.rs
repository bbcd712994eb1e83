//! The source of uids, of generated names and of other random choices that a client can see: random, or derived from a seed so that
//! a test sees the same ones each time.

use parking_lot::Mutex;
use std::{collections::HashMap, sync::Arc};

/// A source of identifiers; random by default.
#[derive(Clone, Default)]
pub struct Identifiers(Option<Arc<Seeded>>);

/// Identifiers that depend on the seed, on what they are for, and on how often one was drawn for that; not on what else is drawn in
/// between, so that concurrent requests do not change each other's.
struct Seeded {
    seed: u64,
    drawn: Mutex<Drawn>,
}

/// How many identifiers were drawn, by the hash of what they are for.
#[derive(Default)]
struct Drawn {
    counts: HashMap<u64, u64>,
    /// What the origin of a fork had drawn.
    origin: Option<Arc<Drawn>>,
}

impl Drawn {
    fn count(&self, number: u64) -> u64 {
        let mut layer = Some(self);
        while let Some(drawn) = layer {
            if let Some(count) = drawn.counts.get(&number) {
                return *count;
            }
            layer = drawn.origin.as_deref();
        }
        0
    }
}

impl Identifiers {
    /// Returns the identifiers of a seed.
    pub fn seeded(seed: u64) -> Identifiers {
        Identifiers(Some(Arc::new(Seeded { seed, drawn: Mutex::default() })))
    }

    /// Returns an independent source that continues from here. The cost does not depend on how much was drawn.
    pub fn fork(&self) -> Identifiers {
        let Some(seeded) = &self.0 else { return Identifiers::default() };
        let mut drawn = seeded.drawn.lock();
        if !drawn.counts.is_empty() {
            let shared = Arc::new(std::mem::take(&mut *drawn));
            drawn.origin = Some(shared);
        }
        let origin = drawn.origin.clone();
        let drawn = Mutex::new(Drawn { counts: HashMap::new(), origin });
        Identifiers(Some(Arc::new(Seeded { seed: seeded.seed, drawn })))
    }

    /// Returns 128 bits for a purpose, such as a uid for the object of some key.
    pub fn draw(&self, purpose: &[&str]) -> u128 {
        let Some(seeded) = &self.0 else { return uuid::Uuid::new_v4().as_u128() };
        let digest = hash(seeded.seed, purpose);
        let mut drawn = seeded.drawn.lock();
        let count = drawn.count(digest);
        drawn.counts.insert(digest, count + 1);
        let half = |part: u64| u128::from(mix(digest ^ mix(2 * count + part)));
        half(0) << 64 | half(1)
    }

    /// Returns a random UUID for a purpose.
    pub fn uuid(&self, purpose: &[&str]) -> String {
        uuid::Builder::from_random_bytes(self.draw(purpose).to_be_bytes()).into_uuid().to_string()
    }
}

/// Hashes a purpose. The result must stay the same: recorded objects of tests depend on it.
fn hash(seed: u64, purpose: &[&str]) -> u64 {
    let bytes = purpose.iter().flat_map(|part| part.bytes().chain([0]));
    let fnv = bytes.fold(0xcbf2_9ce4_8422_2325, |hash: u64, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
    });
    mix(fnv ^ mix(seed))
}

/// Spreads the bits of a number (splitmix64).
fn mix(number: u64) -> u64 {
    let number = number.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let number = (number ^ (number >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let number = (number ^ (number >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    number ^ (number >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seed_repeats_whatever_is_drawn_in_between() {
        let (one, other) = (Identifiers::seeded(7), Identifiers::seeded(7));
        let first = one.uuid(&["uid", "a"]);
        other.draw(&["uid", "b"]);
        assert_eq!(other.uuid(&["uid", "a"]), first);
        assert_ne!(one.uuid(&["uid", "a"]), first, "the second object of a key has another uid");
        assert_ne!(Identifiers::seeded(8).uuid(&["uid", "a"]), first);
        assert_ne!(Identifiers::default().draw(&[]), Identifiers::default().draw(&[]));
    }

    #[test]
    fn a_fork_is_independent() {
        let origin = Identifiers::seeded(1);
        let first = origin.draw(&["a"]);
        let (left, right) = (origin.fork(), origin.fork());
        let next = left.draw(&["a"]);
        assert!(next != first && next == right.draw(&["a"]) && next == origin.draw(&["a"]));
        assert_eq!(left.fork().draw(&["a"]), left.draw(&["a"]));
    }
}
