//! Finding list entries by their keys. Short lists are searched, long ones hashed with a random hash, and entries with
//! equal keys are linked, so that no lookup depends on how many entries share their keys.

use std::{
    collections::HashMap,
    hash::{BuildHasher, Hash, Hasher, RandomState},
};
use tenure_value::{Value, private::sort_prefix};

/// The number of entries from which hashing pays.
const LONG: usize = 128;
/// The number of entries up to which keys are compared without fingerprints.
const SHORT: usize = 8;
/// No entry.
const NONE: u32 = u32::MAX;

/// How numbers in keys are compared.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Numbers {
    /// `80` and `80.0` differ.
    Exact,
    /// `80` and `80.0` are the same key.
    ByAmount,
}

/// The keys of numbered entries: `width` values each.
pub(crate) struct KeyIndex<'v> {
    width: usize,
    length: usize,
    numbers: Numbers,
    keys: Vec<Option<&'v Value>>,
    /// The fingerprints of the keys; empty for a short list.
    fingerprints: Vec<u64>,
    /// Which fingerprints are there, so that most keys that are not are known without a search.
    filter: Filter,
    buckets: Option<Buckets>,
    /// The links between entries with equal keys; empty while all keys differ.
    links: Vec<Link>,
}

/// A set of fingerprints by eight of their bits: one that it does not contain is not there.
#[derive(Default)]
struct Filter([u64; 4]);

impl Filter {
    fn place(print: u64) -> (usize, u64) {
        (usize::from((print >> 62) as u8), 1 << (print >> 56 & 63))
    }

    fn add(&mut self, print: u64) {
        let (word, bit) = Filter::place(print);
        self.0[word] |= bit;
    }

    fn may_contain(&self, print: u64) -> bool {
        let (word, bit) = Filter::place(print);
        self.0[word] & bit != 0
    }
}

/// The entries with the same keys as one entry.
#[derive(Clone, Copy)]
struct Link {
    first: u32,
    next: u32,
    /// The last one; only valid for the first one.
    last: u32,
}

/// The first entry of every key, by hash.
#[derive(Default)]
struct Buckets {
    state: RandomState,
    heads: HashMap<u64, u32>,
    /// For each entry the next one with another key and the same hash.
    next: Vec<u32>,
}

impl<'v> KeyIndex<'v> {
    /// Creates an index for about `expected` entries of `width` keys each.
    pub(crate) fn new(width: usize, expected: usize, numbers: Numbers) -> KeyIndex<'v> {
        KeyIndex {
            width,
            length: 0,
            numbers,
            keys: Vec::with_capacity(width * expected),
            fingerprints: if expected > SHORT { Vec::with_capacity(expected) } else { Vec::new() },
            filter: Filter::default(),
            buckets: (expected >= LONG).then(Buckets::default),
            links: Vec::new(),
        }
    }

    /// Returns the keys, to which the caller appends those of the next entry before [`KeyIndex::seal`].
    pub(crate) fn keys_mut(&mut self) -> &mut Vec<Option<&'v Value>> {
        &mut self.keys
    }

    /// Adds the entry whose keys were appended.
    pub(crate) fn seal(&mut self) {
        let number = self.length;
        let keys = &self.keys[number * self.width..];
        let first = match &mut self.buckets {
            Some(buckets) => {
                let (all, width, numbers) = (&self.keys, self.width, self.numbers);
                buckets.add(keys, number as u32, |other| {
                    let at = other as usize * width;
                    same(&all[at..at + width], keys, numbers)
                })
            }
            None if self.fingerprints.capacity() > 0 => {
                let print = fingerprint(keys);
                let first = self.search(keys, print);
                self.fingerprints.push(print);
                self.filter.add(print);
                first
            }
            None => self.scan(keys),
        };
        self.length += 1;
        if let Some(first) = first {
            self.link(first, number);
        } else if !self.links.is_empty() {
            self.links.push(Link { first: number as u32, next: NONE, last: number as u32 });
        }
    }

    #[cold]
    fn link(&mut self, first: usize, number: usize) {
        let from = self.links.len() as u32;
        self.links.extend((from..=number as u32).map(|at| Link { first: at, next: NONE, last: at }));
        let last = std::mem::replace(&mut self.links[first].last, number as u32);
        self.links[last as usize].next = number as u32;
        self.links[number].first = first as u32;
    }

    /// Adds an entry with one key.
    pub(crate) fn push(&mut self, key: &'v Value) {
        self.keys.push(Some(key));
        self.seal();
    }

    /// Returns the keys of an entry.
    pub(crate) fn keys(&self, number: usize) -> &[Option<&'v Value>] {
        &self.keys[number * self.width..(number + 1) * self.width]
    }

    /// Returns the number of entries.
    pub(crate) fn len(&self) -> usize {
        self.length
    }

    /// Whether two entries have equal keys.
    pub(crate) fn repeats(&self) -> bool {
        !self.links.is_empty()
    }

    /// Returns the first entry with these keys.
    pub(crate) fn find(&self, wanted: &[Option<&Value>]) -> Option<usize> {
        match &self.buckets {
            Some(buckets) => {
                buckets.find(wanted, |other| same(self.keys(other as usize), wanted, self.numbers))
            }
            None if self.fingerprints.is_empty() => self.scan(wanted),
            None => self.search(wanted, fingerprint(wanted)),
        }
    }

    /// Returns the first entry with the keys of an entry of another list. Looks at one position first, since lists
    /// that are compared are mostly alike.
    pub(crate) fn find_like(&self, other: &KeyIndex<'_>, number: usize, near: usize) -> Option<usize> {
        let wanted = other.keys(number);
        if near < self.length && same(self.keys(near), wanted, self.numbers) {
            return Some(self.first_like(near));
        }
        self.find(wanted)
    }

    /// Returns the first entry with the keys of this one; mostly this one.
    pub(crate) fn first_like(&self, number: usize) -> usize {
        self.links.get(number).map_or(number, |link| link.first as usize)
    }

    /// Returns the next entry with the keys of this one.
    pub(crate) fn next_like(&self, number: usize) -> Option<usize> {
        self.links.get(number).filter(|link| link.next != NONE).map(|link| link.next as usize)
    }

    /// Returns all entries with the keys of a first one.
    pub(crate) fn all_like(&self, first: usize) -> impl Iterator<Item = usize> {
        std::iter::successors(Some(first), |number| self.next_like(*number))
    }

    fn scan(&self, wanted: &[Option<&Value>]) -> Option<usize> {
        (0..self.length).find(|number| same(self.keys(*number), wanted, self.numbers))
    }

    fn search(&self, wanted: &[Option<&Value>], print: u64) -> Option<usize> {
        if !self.filter.may_contain(print) {
            return None;
        }
        let prints = self.fingerprints.iter().enumerate().filter(|(_, other)| **other == print);
        prints.map(|(at, _)| at).find(|number| same(self.keys(*number), wanted, self.numbers))
    }
}

/// Finds the keys of one list in another, in order: each search starts behind the last find. Every entry is passed
/// once, however many share their keys.
pub(crate) struct InOrder<'i, 'v> {
    index: &'i KeyIndex<'v>,
    /// The position behind the last find.
    at: usize,
    /// By the first entry of a key, the entry to look at next; empty while all keys differ.
    next: Vec<u32>,
}

impl<'i, 'v> InOrder<'i, 'v> {
    pub(crate) fn new(index: &'i KeyIndex<'v>) -> InOrder<'i, 'v> {
        let next = if index.repeats() { (0..index.len() as u32).collect() } else { Vec::new() };
        InOrder { index, at: 0, next }
    }

    /// Returns the position behind the last find.
    pub(crate) fn position(&self) -> usize {
        self.at
    }

    /// Whether an entry with these keys stands at or behind the current position; moves behind it.
    pub(crate) fn advance(&mut self, wanted: &[Option<&Value>]) -> bool {
        let Some(first) = self.index.find(wanted) else { return false };
        let mut number = self.next.get(first).map_or(first, |next| *next as usize);
        while number < self.at {
            match self.index.next_like(number) {
                Some(next) => number = next,
                None => return false,
            }
        }
        if let Some(next) = self.next.get_mut(first) {
            *next = number as u32;
        }
        self.at = number + 1;
        true
    }
}

impl Buckets {
    /// Adds an entry, or returns the first one with its keys.
    fn add(&mut self, keys: &[Option<&Value>], number: u32, matches: impl Fn(u32) -> bool) -> Option<usize> {
        self.next.push(NONE);
        let head = *self.heads.entry(self.state.hash_one(Hashed(keys))).or_insert(number);
        if head == number {
            return None;
        }
        let mut at = head;
        loop {
            if matches(at) {
                return Some(at as usize);
            }
            match self.next[at as usize] {
                NONE => break,
                next => at = next,
            }
        }
        self.next[at as usize] = number;
        None
    }

    fn find(&self, wanted: &[Option<&Value>], matches: impl Fn(u32) -> bool) -> Option<usize> {
        let mut at = *self.heads.get(&self.state.hash_one(Hashed(wanted)))?;
        while at != NONE {
            if matches(at) {
                return Some(at as usize);
            }
            at = self.next[at as usize];
        }
        None
    }
}

/// Whether two entries have the same keys.
fn same(left: &[Option<&Value>], right: &[Option<&Value>], numbers: Numbers) -> bool {
    if numbers == Numbers::Exact {
        return left == right;
    }
    left.len() == right.len()
        && left.iter().zip(right).all(|pair| match pair {
            (Some(left), Some(right)) => left.same(right),
            (left, right) => left.is_none() && right.is_none(),
        })
}

/// Returns the integer that a number is equal to, if it is one.
fn whole(number: f64) -> Option<i64> {
    (number.fract() == 0.0 && number.abs() < i64::MAX as f64).then_some(number as i64)
}

/// Keys to be hashed; equal amounts have equal hashes.
struct Hashed<'k, 'v>(&'k [Option<&'v Value>]);

impl Hash for Hashed<'_, '_> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        for key in self.0 {
            match key {
                Some(Value::Float(number)) => match whole(number.get()) {
                    Some(number) => Some(&Value::Int(number)).hash(state),
                    None => key.hash(state),
                },
                key => key.hash(state),
            }
        }
    }
}

/// Returns a number that is the same for equal keys and mostly differs for others.
pub(crate) fn fingerprint(keys: &[Option<&Value>]) -> u64 {
    keys.iter().fold(0, |print, key| mix(print, key.map_or(1, scalar_fingerprint)))
}

fn scalar_fingerprint(value: &Value) -> u64 {
    match value {
        Value::String(text) => text_fingerprint(text),
        Value::Int(number) => mix(2, *number as u64),
        Value::UInt(number) => mix(3, number.get()),
        Value::Float(number) => match whole(number.get()) {
            Some(number) => mix(2, number as u64),
            None => mix(4, number.get().to_bits()),
        },
        Value::Bool(flag) => 5 + u64::from(*flag),
        _ => 7,
    }
}

fn text_fingerprint(text: &str) -> u64 {
    let bytes = text.as_bytes();
    // The last eight bytes may overlap with the word before them.
    let last = bytes.last_chunk().map_or_else(|| sort_prefix(text), |eight| u64::from_le_bytes(*eight));
    let words = bytes.as_chunks::<8>().0.iter().map(|word| u64::from_le_bytes(*word));
    mix(words.fold(bytes.len() as u64, mix), last)
}

fn mix(print: u64, word: u64) -> u64 {
    (print.rotate_left(5) ^ word).wrapping_mul(0x517c_c1b7_2722_0a95)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn index(values: &[Value], numbers: Numbers) -> KeyIndex<'_> {
        let mut index = KeyIndex::new(1, values.len(), numbers);
        values.iter().for_each(|value| index.push(value));
        index
    }

    #[test]
    fn finds_the_first_of_equal_entries_in_short_and_long_lists() {
        for length in [6, 20, 200] {
            let half = length / 2;
            let values: Vec<Value> = (0..length).map(|number| Value::from(number % half)).collect();
            let half = half as usize;
            let index = index(&values, Numbers::Exact);
            assert_eq!(index.find(&[Some(&Value::Int(1))]), Some(1));
            assert_eq!(index.find(&[Some(&Value::from("1"))]), None);
            assert_eq!(index.find(&[None]), None);
            assert_eq!(index.first_like(half + 1), 1);
            assert_eq!(index.all_like(1).collect::<Vec<_>>(), [1, half + 1]);
            assert_eq!(index.find_like(&index, half + 1, half + 1), Some(1));
            assert!(index.repeats());
        }
    }

    #[test]
    fn finds_keys_in_order() {
        let values = [1, 2, 1, 3, 2].map(Value::from);
        for (wanted, expected) in [
            (&[1, 2, 1, 3, 2][..], true),
            (&[1, 1, 2], true),
            (&[2, 1, 2], true),
            (&[3, 1], false),
            (&[1, 1, 1], false),
            (&[4], false),
        ] {
            let index = index(&values, Numbers::Exact);
            let mut search = InOrder::new(&index);
            let found = wanted.iter().all(|key| search.advance(&[Some(&Value::from(*key))]));
            assert_eq!(found, expected, "{wanted:?}");
        }
    }

    #[test]
    fn numbers_match_exactly_or_by_amount() {
        for length in [1, 20, 200] {
            let values: Vec<Value> = (0..length).map(Value::from).collect();
            let float = Value::float(0.0).unwrap();
            assert_eq!(index(&values, Numbers::Exact).find(&[Some(&float)]), None);
            assert_eq!(index(&values, Numbers::ByAmount).find(&[Some(&float)]), Some(0));
        }
    }

    #[test]
    fn strings_of_any_length_are_distinguished() {
        let values: Vec<Value> = (0..40).map(|length| Value::from("x".repeat(length))).collect();
        let index = index(&values, Numbers::Exact);
        for (number, value) in values.iter().enumerate() {
            assert_eq!(index.find(&[Some(value)]), Some(number));
        }
    }
}
