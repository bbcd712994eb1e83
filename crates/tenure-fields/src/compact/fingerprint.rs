//! A fast hash of bytes, and an index from hashes to numbers that no input can slow down: a lookup makes a
//! few probes and then gives up, which loses some compression but never affects correctness.

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
    // The first and the last eight bytes overlap if the string is short.
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

/// Hashes the content of a file to detect changes (FNV-1a, 128 bits).
pub fn content(text: &str) -> u128 {
    const OFFSET: u128 = 0x6C62_272E_07BB_0142_62B8_2175_6295_C58D;
    const PRIME: u128 = 0x0000_0000_0100_0000_0000_0000_0000_013B;
    text.bytes().fold(OFFSET, |hash, byte| (hash ^ u128::from(byte)).wrapping_mul(PRIME))
}

/// The maximum number of probes of a lookup.
const PROBES: usize = 16;
/// Up to this length the index is a plain list, which is cheaper than a hash table.
const FEW: usize = 16;

/// An index from hashes to numbers.
#[derive(Clone, Debug, Default)]
pub(super) struct HashIndex {
    /// Pairs of hash and number, while there are few.
    few: Vec<(u64, u32)>,
    /// Pairs of hash and number plus one; the length is a power of two, at most half of the slots are used.
    places: Vec<(u64, u32)>,
    taken: usize,
}

impl HashIndex {
    /// Returns a number with this hash for which `is` returns true.
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

    /// Removes all numbers; keeps the memory unless it is unusually large.
    pub(super) fn clear(&mut self) {
        self.few.clear();
        if self.taken > 0 {
            self.places.truncate(256);
            self.places.fill((0, 0));
            self.taken = 0;
        }
    }

    /// Adds a number, unless there are too many equal hashes.
    #[inline]
    pub(super) fn insert(&mut self, hash: u64, number: u32) {
        if self.taken == 0 {
            if self.few.len() < FEW {
                self.few.reserve(FEW - self.few.len());
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
        // Random collisions disappear when the table grows; only crafted hashes continue to collide, and
        // those are dropped.
        while !self.place(hash, number + 1) && self.places.len() < self.taken * 16 {
            self.grow();
        }
    }

    /// Stores a number in the first free slot within the probe limit, if there is one.
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
    fn different_strings_have_different_hashes() {
        let long = "a".repeat(40);
        let texts: Vec<&str> =
            (0..=40).map(|length| &long[..length]).chain(["b", "ab", "ba", "abcdefghi"]).collect();
        let mut hashes: Vec<u64> = texts.iter().map(|each| text(each)).collect();
        hashes.sort_unstable();
        hashes.dedup();
        assert_eq!(hashes.len(), texts.len());
    }

    #[test]
    fn equal_hashes_cost_a_bounded_number_of_probes() {
        let mut numbers = HashIndex::default();
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
    fn ordinary_strings_are_never_dropped() {
        let texts: Vec<String> = (0..5000).map(|number| format!("string {number}")).collect();
        let mut numbers = HashIndex::default();
        for (number, each) in texts.iter().enumerate() {
            numbers.insert(text(each), number as u32);
        }
        for (number, each) in texts.iter().enumerate() {
            let found = numbers.find(text(each), |other| texts[other as usize] == *each);
            assert_eq!(found, Some(number as u32));
        }
    }

    #[test]
    fn the_content_hash_is_fnv_1a() {
        assert_eq!(format!("{:032x}", content("")), "6c62272e07bb014262b821756295c58d");
        assert_eq!(format!("{:032x}", content("foobar")), "343e1662793c64bf6f0d3597ba446f18");
    }
}
