//! A fast hash of bytes, and a map from hashes to numbers that no input can slow down: a search looks at
//! a few places and then gives up, which costs a reference and never a result.

const MULTIPLIER: u64 = 0x9E37_79B9_7F4A_7C15;

/// Mixes a word into a hash.
#[inline]
pub(super) fn mix(hash: u64, word: u64) -> u64 {
    let product = u128::from(hash ^ word ^ MULTIPLIER) * u128::from(MULTIPLIER.rotate_left(17) | 1);
    (product as u64) ^ ((product >> 64) as u64)
}

/// Hashes a string.
#[inline]
pub(super) fn text(text: &str) -> u64 {
    let bytes = text.as_bytes();
    let length = bytes.len() as u64;
    // The first and the last bytes overlap where the string is shorter than both.
    if let (Some(first), Some(last)) = (bytes.first_chunk::<8>(), bytes.last_chunk::<8>()) {
        let mut hash = mix(length, u64::from_le_bytes(*first));
        let mut rest = &bytes[8..];
        while let Some((word, after)) = rest.split_first_chunk::<8>().filter(|(_, after)| !after.is_empty()) {
            hash = mix(hash, u64::from_le_bytes(*word));
            rest = after;
        }
        let last = u64::from_le_bytes(*last);
        return mix(hash, last);
    }
    if let (Some(first), Some(last)) = (bytes.first_chunk::<4>(), bytes.last_chunk::<4>()) {
        return mix(
            length,
            u64::from(u32::from_le_bytes(*first)) | u64::from(u32::from_le_bytes(*last)) << 32,
        );
    }
    match bytes {
        [first, .., last] => {
            let middle = bytes[bytes.len() / 2];
            mix(length, u64::from(*first) | u64::from(middle) << 8 | u64::from(*last) << 16)
        }
        [byte] => mix(length, u64::from(*byte)),
        [] => length,
    }
}

/// Hashes a file's content, to notice that it changed (FNV-1a with 128 bits).
pub fn content(text: &str) -> u128 {
    const OFFSET: u128 = 0x6C62_272E_07BB_0142_62B8_2175_6295_C58D;
    const PRIME: u128 = 0x0000_0000_0100_0000_0000_0000_0000_013B;
    text.bytes().fold(OFFSET, |hash, byte| (hash ^ u128::from(byte)).wrapping_mul(PRIME))
}

/// How many places a search looks at.
const PROBES: usize = 16;
/// Up to here numbers stand in a row: looking at all of them costs less than making places.
const FEW: usize = 16;

/// A map from hashes to numbers.
#[derive(Clone, Debug, Default)]
pub(super) struct Numbers {
    /// Hashes with numbers, while there are few.
    few: Vec<(u64, u32)>,
    /// Hashes with numbers plus one; a power of two of places, at most half of them taken.
    places: Vec<(u64, u32)>,
    taken: usize,
}

impl Numbers {
    /// Finds a number with this hash that `is` the one looked for.
    #[inline]
    pub(super) fn find(&self, hash: u64, mut is: impl FnMut(u32) -> bool) -> Option<u32> {
        if self.taken == 0 {
            return self
                .few
                .iter()
                .find(|(at, number)| *at == hash && is(*number))
                .map(|(_, number)| *number);
        }
        let mask = self.places.len() - 1;
        for probe in 0..PROBES {
            let (at, number) = self.places[(hash as usize).wrapping_add(probe) & mask];
            if number == 0 {
                return None;
            }
            if at == hash && is(number - 1) {
                return Some(number - 1);
            }
        }
        None
    }

    /// Forgets all numbers; keeps the memory unless it was for far more than usual.
    pub(super) fn clear(&mut self) {
        self.few.clear();
        if self.taken > 0 {
            self.places.truncate(256);
            self.places.fill((0, 0));
            self.taken = 0;
        }
    }

    /// Adds a number, unless its hash is among too many alike.
    #[inline]
    pub(super) fn insert(&mut self, hash: u64, number: u32) {
        if self.taken == 0 {
            if self.few.len() < FEW {
                self.few.reserve(FEW);
                return self.few.push((hash, number));
            }
            for (hash, number) in std::mem::take(&mut self.few) {
                self.insert_placed(hash, number);
            }
        }
        self.insert_placed(hash, number);
    }

    fn insert_placed(&mut self, hash: u64, number: u32) {
        if self.taken * 2 >= self.places.len() {
            self.grow();
        }
        // Chance fills a few places in a row, and more room parts them; only hashes made to be alike stay
        // together, and those are given up.
        while !self.place(hash, number + 1) && self.places.len() < self.taken * 16 {
            self.grow();
        }
    }

    /// Puts a number into the first free place that a search looks at, if there is one.
    fn place(&mut self, hash: u64, number: u32) -> bool {
        let mask = self.places.len() - 1;
        for probe in 0..PROBES {
            let place = &mut self.places[(hash as usize).wrapping_add(probe) & mask];
            if place.1 == 0 {
                *place = (hash, number);
                self.taken += 1;
                return true;
            }
        }
        false
    }

    #[cold]
    fn grow(&mut self) {
        let size = (self.places.len() * 2).max(32);
        let old = std::mem::replace(&mut self.places, vec![(0, 0); size]);
        self.taken = 0;
        for (hash, number) in old.into_iter().filter(|place| place.1 != 0) {
            self.place(hash, number);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strings_that_differ_hash_differently() {
        let long = "a".repeat(40);
        let texts: Vec<&str> =
            (0..=40).map(|length| &long[..length]).chain(["b", "ab", "ba", "abcdefghi"]).collect();
        let mut hashes: Vec<u64> = texts.iter().map(|each| text(each)).collect();
        hashes.sort_unstable();
        hashes.dedup();
        assert_eq!(hashes.len(), texts.len());
    }

    #[test]
    fn hashes_that_are_all_alike_cost_a_few_looks_each() {
        let mut numbers = Numbers::default();
        for number in 0..10_000 {
            numbers.insert(7, number);
        }
        assert_eq!(numbers.find(7, |number| number == 3), Some(3));
        let mut looks = 0;
        numbers.find(7, |_| {
            looks += 1;
            false
        });
        assert!(looks <= PROBES);
    }

    #[test]
    fn no_string_of_many_is_given_up() {
        let texts: Vec<String> = (0..5000).map(|number| format!("string {number}")).collect();
        let mut numbers = Numbers::default();
        for (number, each) in texts.iter().enumerate() {
            numbers.insert(text(each), number as u32);
        }
        for (number, each) in texts.iter().enumerate() {
            let found = numbers.find(text(each), |other| texts[other as usize] == *each);
            assert_eq!(found, Some(number as u32));
        }
    }

    #[test]
    fn the_content_hash_is_the_published_function() {
        assert_eq!(format!("{:032x}", content("")), "6c62272e07bb014262b821756295c58d");
        assert_eq!(format!("{:032x}", content("foobar")), "343e1662793c64bf6f0d3597ba446f18");
    }
}
