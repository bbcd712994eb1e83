//! Finding the entries of a list by their keys. Short lists are looked through, long ones are hashed, so
//! that the cost of a patch never grows with the square of a list.

use std::{
    collections::HashMap,
    hash::{DefaultHasher, Hash, Hasher},
};
use tenure_value::Value;

/// The number of entries from which on hashing pays.
const LONG: usize = 32;

/// The keys of entries numbered from zero: `width` values for each.
pub(crate) struct Index<'v> {
    width: usize,
    keys: Vec<Option<&'v Value>>,
    buckets: Option<Buckets>,
}

#[derive(Default)]
struct Buckets {
    heads: HashMap<u64, u32>,
    /// For each entry the next one with the same hash, or itself.
    next: Vec<u32>,
}

impl<'v> Index<'v> {
    /// Makes an index for entries of `width` keys each, about that many.
    pub(crate) fn new(width: usize, expected: usize) -> Index<'v> {
        Index {
            width,
            keys: Vec::with_capacity(width * expected),
            buckets: (expected >= LONG).then(Buckets::default),
        }
    }

    /// Returns the keys, to which those of the next entry are appended before [`Index::seal`].
    pub(crate) fn keys_mut(&mut self) -> &mut Vec<Option<&'v Value>> {
        &mut self.keys
    }

    /// Numbers the entry whose keys were appended.
    pub(crate) fn seal(&mut self) {
        let number = (self.keys.len() / self.width) as u32 - 1;
        if let Some(buckets) = &mut self.buckets {
            buckets.next.push(number);
            let head =
                *buckets.heads.entry(hash(&self.keys[number as usize * self.width..])).or_insert(number);
            let mut at = head;
            while at != number {
                let next = buckets.next[at as usize];
                if next == at {
                    buckets.next[at as usize] = number;
                    break;
                }
                at = next;
            }
        }
    }

    /// Returns the keys of an entry.
    pub(crate) fn keys(&self, number: usize) -> &[Option<&'v Value>] {
        &self.keys[number * self.width..(number + 1) * self.width]
    }

    /// Returns the number of entries.
    pub(crate) fn len(&self) -> usize {
        self.keys.len() / self.width
    }

    /// Returns the first entry at or behind `from` that has these keys.
    pub(crate) fn find(&self, wanted: &[Option<&Value>], from: usize) -> Option<usize> {
        match &self.buckets {
            None => (from..self.len()).find(|number| self.keys(*number) == wanted),
            Some(buckets) => {
                let mut at = *buckets.heads.get(&hash(wanted))?;
                loop {
                    if at as usize >= from && self.keys(at as usize) == wanted {
                        return Some(at as usize);
                    }
                    let next = buckets.next[at as usize];
                    if next == at {
                        return None;
                    }
                    at = next;
                }
            }
        }
    }
}

fn hash(keys: &[Option<&Value>]) -> u64 {
    let mut hasher = DefaultHasher::new();
    keys.hash(&mut hasher);
    hasher.finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_are_found_in_order_in_short_and_long_lists() {
        for length in [6, 200] {
            let values: Vec<Value> = (0..length).map(|number| Value::from(number % (length / 2))).collect();
            let mut index = Index::new(1, values.len());
            for value in &values {
                index.keys_mut().push(Some(value));
                index.seal();
            }
            let half = values.len() / 2;
            assert_eq!(index.find(&[Some(&Value::Int(1))], 0), Some(1));
            assert_eq!(index.find(&[Some(&Value::Int(1))], 2), Some(half + 1));
            assert_eq!(index.find(&[Some(&Value::Int(1))], half + 2), None);
            assert_eq!(index.find(&[Some(&Value::from("1"))], 0), None);
            assert_eq!(index.find(&[None], 0), None);
        }
    }
}
