//! Finding the entries of a list by their keys. Keys are compared by a cheap fingerprint first; short lists
//! are looked through, long ones are hashed with a hash that nobody can foresee, so that the cost of a
//! patch never grows with the square of a list.

use std::{
    collections::HashMap,
    hash::{BuildHasher, Hash, RandomState},
};
use tenure_value::Value;

/// The number of entries from which on hashing pays.
const LONG: usize = 128;
/// The number of entries up to which keys are compared as they are.
const SHORT: usize = 8;

/// The keys of entries numbered from zero: `width` values for each.
pub(crate) struct Index<'v> {
    width: usize,
    length: usize,
    keys: Vec<Option<&'v Value>>,
    /// The fingerprints of the keys; none in a short list.
    prints: Vec<u64>,
    buckets: Option<Buckets>,
}

#[derive(Default)]
struct Buckets {
    state: RandomState,
    heads: HashMap<u64, u32>,
    /// For each entry the next one with the same hash, or itself.
    next: Vec<u32>,
}

impl<'v> Index<'v> {
    /// Makes an index for entries of `width` keys each, about that many.
    pub(crate) fn new(width: usize, expected: usize) -> Index<'v> {
        Index {
            width,
            length: 0,
            keys: Vec::with_capacity(width * expected),
            prints: if expected > SHORT { Vec::with_capacity(expected) } else { Vec::new() },
            buckets: (expected >= LONG).then(Buckets::default),
        }
    }

    /// Returns the keys, to which those of the next entry are appended before [`Index::seal`].
    pub(crate) fn keys_mut(&mut self) -> &mut Vec<Option<&'v Value>> {
        &mut self.keys
    }

    /// Numbers the entry whose keys were appended.
    pub(crate) fn seal(&mut self) {
        let number = self.length;
        self.length += 1;
        if self.prints.capacity() == 0 {
            return;
        }
        let keys = &self.keys[number * self.width..];
        self.prints.push(fingerprint(keys));
        if let Some(buckets) = &mut self.buckets {
            buckets.add(keys, number as u32);
        }
    }

    /// Returns the keys of an entry.
    pub(crate) fn keys(&self, number: usize) -> &[Option<&'v Value>] {
        &self.keys[number * self.width..(number + 1) * self.width]
    }

    /// Returns the number of entries.
    pub(crate) fn len(&self) -> usize {
        self.length
    }

    /// Returns the first entry at or behind `from` that has these keys.
    pub(crate) fn find(&self, wanted: &[Option<&Value>], from: usize) -> Option<usize> {
        match &self.buckets {
            None => self.look(wanted, from),
            Some(buckets) => {
                let fits = |number: u32| number as usize >= from && self.keys(number as usize) == wanted;
                buckets.find(wanted, fits)
            }
        }
    }

    /// Returns the first entry that has the keys of an entry of another list; looks at one place before all
    /// others, since lists that are compared are mostly alike.
    pub(crate) fn find_like(&self, other: &Index<'_>, number: usize, near: usize) -> Option<usize> {
        let wanted = other.keys(number);
        if near < self.length && self.keys(near) == wanted {
            return Some(near);
        }
        self.find(wanted, 0)
    }

    /// Returns the first entry that has the keys of this one; most often that is this one.
    pub(crate) fn first_like(&self, number: usize) -> usize {
        let found = match (self.prints.get(number), &self.buckets) {
            (Some(print), None) => self.look_printed(self.keys(number), *print, 0),
            _ => self.find(self.keys(number), 0),
        };
        found.unwrap_or(number)
    }

    fn look(&self, wanted: &[Option<&Value>], from: usize) -> Option<usize> {
        if self.prints.is_empty() {
            return (from..self.length).find(|number| self.keys(*number) == wanted);
        }
        self.look_printed(wanted, fingerprint(wanted), from)
    }

    fn look_printed(&self, wanted: &[Option<&Value>], print: u64, from: usize) -> Option<usize> {
        let prints = self.prints.get(from..)?;
        let places = prints.iter().enumerate().filter(|(_, other)| **other == print);
        places.map(|(at, _)| from + at).find(|number| self.keys(*number) == wanted)
    }
}

impl Buckets {
    fn add(&mut self, keys: &[Option<&Value>], number: u32) {
        self.next.push(number);
        let mut at = *self.heads.entry(self.state.hash_one(Keys(keys))).or_insert(number);
        while at != number {
            let next = self.next[at as usize];
            if next == at {
                self.next[at as usize] = number;
                break;
            }
            at = next;
        }
    }

    fn find(&self, wanted: &[Option<&Value>], fits: impl Fn(u32) -> bool) -> Option<usize> {
        let mut at = *self.heads.get(&self.state.hash_one(Keys(wanted)))?;
        loop {
            if fits(at) {
                return Some(at as usize);
            }
            let next = self.next[at as usize];
            if next == at {
                return None;
            }
            at = next;
        }
    }
}

#[derive(Hash)]
struct Keys<'k, 'v>(&'k [Option<&'v Value>]);

/// Returns a number that is the same for equal keys and mostly another for others.
pub(crate) fn fingerprint(keys: &[Option<&Value>]) -> u64 {
    keys.iter().fold(0, |print, key| mix(print, key.map_or(1, scalar_print)))
}

fn scalar_print(value: &Value) -> u64 {
    match value {
        Value::String(text) => text_print(text.as_bytes()),
        Value::Int(number) => mix(2, *number as u64),
        Value::UInt(number) => mix(3, number.get()),
        Value::Float(number) => mix(4, number.get().to_bits()),
        Value::Bool(flag) => 5 + u64::from(*flag),
        _ => 7,
    }
}

fn text_print(bytes: &[u8]) -> u64 {
    let word = |part: &[u8]| part.iter().fold(0, |word, byte| word << 8 | u64::from(*byte));
    let chunks = bytes.chunks_exact(8);
    let rest = word(chunks.remainder());
    let whole = chunks.fold(bytes.len() as u64, |print, chunk| match chunk.try_into() {
        Ok(eight) => mix(print, u64::from_le_bytes(eight)),
        Err(_) => print,
    });
    mix(whole, rest)
}

fn mix(print: u64, word: u64) -> u64 {
    (print.rotate_left(5) ^ word).wrapping_mul(0x517c_c1b7_2722_0a95)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn index(values: &[Value]) -> Index<'_> {
        let mut index = Index::new(1, values.len());
        for value in values {
            index.keys_mut().push(Some(value));
            index.seal();
        }
        index
    }

    #[test]
    fn entries_are_found_in_order_in_short_and_long_lists() {
        for length in [6, 200] {
            let values: Vec<Value> = (0..length).map(|number| Value::from(number % (length / 2))).collect();
            let index = index(&values);
            let half = values.len() / 2;
            assert_eq!(index.find(&[Some(&Value::Int(1))], 0), Some(1));
            assert_eq!(index.find(&[Some(&Value::Int(1))], 2), Some(half + 1));
            assert_eq!(index.find(&[Some(&Value::Int(1))], half + 2), None);
            assert_eq!(index.find(&[Some(&Value::from("1"))], 0), None);
            assert_eq!(index.find(&[None], 0), None);
            assert_eq!(index.first_like(half + 1), 1);
            assert_eq!(index.find_like(&index, half + 1, half + 1), Some(half + 1));
            assert_eq!(index.find_like(&index, half + 1, 0), Some(1));
        }
    }

    #[test]
    fn texts_of_any_length_are_told_apart() {
        let values: Vec<Value> = (0..40).map(|length| Value::from("x".repeat(length))).collect();
        let index = index(&values);
        for (number, value) in values.iter().enumerate() {
            assert_eq!(index.find(&[Some(value)], 0), Some(number));
        }
    }
}
