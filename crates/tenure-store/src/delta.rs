//! Bytes as a delta against similar bytes, the base: stretches that are copied from it, and the literals between them.
//!
//! A delta is its bytes' length, then alternately a literal and a copy. A literal is its length and its bytes. A copy is its
//! length and where it begins in the base, relative to the end of the copy before. All numbers are of variable length.

use std::sync::Arc;

/// How many bytes have to be equal before a stretch is copied.
const WORD: usize = 8;
/// After this many literal bytes without a copy, every second position is tried, then every third.
const PATIENCE: usize = 64;
/// The longest part of a base that is used.
const MAX_BASE: usize = u16::MAX as usize;

/// A base, and where its words are.
#[derive(Debug)]
pub(crate) struct Encoder {
    base: Arc<Box<[u8]>>,
    /// A position for each hash of a word. It may be that of another word, so that what is there has to be compared.
    positions: Box<[u16]>,
}

impl Encoder {
    /// Prepares a base, of which at most 64 KiB are used.
    pub(crate) fn new(base: &[u8]) -> Encoder {
        let base = &base[..base.len().min(MAX_BASE)];
        let size = base.len().next_power_of_two().max(WORD);
        let mut positions = vec![0; size].into_boxed_slice();
        for (position, word) in (0..).zip(base.windows(WORD)) {
            positions[slot(word_at(word, 0), size)] = position;
        }
        Encoder { base: Arc::new(base.into()), positions }
    }

    /// Returns the base, which [`decode`] needs.
    pub(crate) fn base(&self) -> &Arc<Box<[u8]>> {
        &self.base
    }

    /// Returns the delta that makes bytes of the base, unless it is longer than `most`, or seems to be: literals that a later
    /// copy would take over count, too.
    pub(crate) fn encode(&self, bytes: &[u8], most: usize) -> Option<Vec<u8>> {
        let mut delta = Vec::with_capacity(most.min(256));
        put_number(&mut delta, bytes.len());
        let (mut at, mut literal, mut expected) = (0, 0, 0);
        while at + WORD <= bytes.len() {
            let Some(found) = self.find(bytes, at, expected + (at - literal)) else {
                at += 1 + (at - literal) / PATIENCE;
                if delta.len() + (at - literal) > most {
                    return None;
                }
                continue;
            };
            let before = common_suffix(&self.base[..found], &bytes[literal..at]);
            let after = common_prefix(&self.base[found..], &bytes[at..]);
            put_bytes(&mut delta, &bytes[literal..at - before]);
            put_number(&mut delta, before + after);
            put_number(&mut delta, zigzag(found - before, expected));
            (at, expected) = (at + after, found + after);
            literal = at;
        }
        put_bytes(&mut delta, &bytes[literal..]);
        (delta.len() <= most).then_some(delta)
    }

    /// Finds the word at a position of the bytes in the base, at the expected place or anywhere.
    fn find(&self, bytes: &[u8], at: usize, expected: usize) -> Option<usize> {
        let word = word_at(bytes, at);
        let is_at = |place: usize| self.base.get(place..place + WORD) == Some(&word.to_le_bytes());
        if is_at(expected) {
            return Some(expected);
        }
        let hashed = usize::from(self.positions[slot(word, self.positions.len())]);
        is_at(hashed).then_some(hashed)
    }
}

/// Returns the length of the bytes that a delta makes.
pub(crate) fn length(mut delta: &[u8]) -> usize {
    take_number(&mut delta)
}

/// Returns the bytes that a delta makes of its base.
pub(crate) fn decode(base: &[u8], mut delta: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(take_number(&mut delta));
    let mut expected = 0;
    loop {
        let length = take_number(&mut delta);
        bytes.extend_from_slice(&delta[..length]);
        delta = &delta[length..];
        if delta.is_empty() {
            return bytes;
        }
        let length = take_number(&mut delta);
        let start = unzigzag(take_number(&mut delta), expected);
        expected = start + length;
        bytes.extend_from_slice(&base[start..expected]);
    }
}

fn word_at(bytes: &[u8], at: usize) -> u64 {
    bytes[at..].first_chunk().map_or(0, |word| u64::from_le_bytes(*word))
}

/// Returns the place of a word in a table, whose size is a power of two, by its hash.
fn slot(word: u64, size: usize) -> usize {
    let hash = word.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> (u64::BITS - size.trailing_zeros());
    usize::try_from(hash).unwrap_or(0)
}

fn common_prefix(a: &[u8], b: &[u8]) -> usize {
    let words = a.chunks_exact(WORD).zip(b.chunks_exact(WORD)).take_while(|(a, b)| a == b).count() * WORD;
    let rest = a[words..].iter().zip(&b[words..]).take_while(|(a, b)| a == b).count();
    words + rest
}

fn common_suffix(a: &[u8], b: &[u8]) -> usize {
    a.iter().rev().zip(b.iter().rev()).take_while(|(a, b)| a == b).count()
}

/// Returns the distance from the expected place as a number that is small if the distance is.
fn zigzag(place: usize, expected: usize) -> usize {
    if place >= expected { (place - expected) << 1 } else { ((expected - place) << 1) - 1 }
}

fn unzigzag(number: usize, expected: usize) -> usize {
    if number & 1 == 0 { expected + (number >> 1) } else { expected - number.div_ceil(2) }
}

fn put_bytes(delta: &mut Vec<u8>, bytes: &[u8]) {
    put_number(delta, bytes.len());
    delta.extend_from_slice(bytes);
}

/// Appends seven bits at a time, the lowest first; the eighth says that more follow.
fn put_number(delta: &mut Vec<u8>, mut number: usize) {
    while number >= 0x80 {
        delta.push((number & 0x7f) as u8 | 0x80);
        number >>= 7;
    }
    delta.push(number as u8);
}

fn take_number(delta: &mut &[u8]) -> usize {
    let (mut number, mut shift) = (0, 0);
    while let Some((byte, rest)) = delta.split_first() {
        *delta = rest;
        number |= usize::from(byte & 0x7f) << shift;
        if byte & 0x80 == 0 {
            break;
        }
        shift += 7;
    }
    number
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::collection::vec;
    use proptest::prelude::*;
    use proptest::sample::select;

    fn round_trip(base: &[u8], bytes: &[u8]) -> usize {
        let encoder = Encoder::new(base);
        let delta = encoder.encode(bytes, usize::MAX).unwrap();
        assert_eq!(length(&delta), bytes.len());
        assert_eq!(decode(encoder.base(), &delta), bytes);
        assert_eq!(encoder.encode(bytes, delta.len() - 1), None, "it is too long by one");
        delta.len()
    }

    #[test]
    fn similar_bytes_have_short_deltas() {
        let object = |name: &str, replicas: u32| {
            format!(
                r#"{{"kind":"Deployment","metadata":{{"labels":{{"app":"{name}"}},"name":"{name}","namespace":"default"}},
                "spec":{{"replicas":{replicas},"selector":{{"matchLabels":{{"app":"{name}"}}}},"template":{{}}}}}}"#
            )
        };
        let base = object("web", 3);
        let cases = [
            ("the same", base.clone(), 7),
            ("another number", object("web", 4), 11),
            ("a longer number", object("web", 400), 13),
            ("another name", object("database", 3), 42),
            ("nothing", String::new(), 2),
            ("shorter than a word", "web".to_owned(), 5),
            ("nothing in common", "z".repeat(300), 304),
            ("a part", base[50..].to_owned(), 8),
            ("twice", base.repeat(2), 12),
        ];
        for (what, bytes, most) in cases {
            let length = round_trip(base.as_bytes(), bytes.as_bytes());
            assert!(length <= most, "{what}: {length} bytes");
        }
    }

    #[test]
    fn bases_may_be_empty_or_longer_than_what_is_used() {
        round_trip(b"", b"something that is longer than a word");
        let long: Vec<u8> = (0..100_000u32).flat_map(u32::to_le_bytes).collect();
        assert_eq!(Encoder::new(&long).base().len(), MAX_BASE);
        assert!(round_trip(&long, &long[..MAX_BASE]) < 20);
        round_trip(&long, &long[MAX_BASE - 10..MAX_BASE + 10]);
    }

    proptest! {
        #[test]
        fn a_delta_makes_the_bytes_again(
            parts in vec(vec(any::<u8>(), 0..40), 1..6),
            base in vec(0usize..6, 0..20),
            bytes in vec(0usize..6, 0..20),
        ) {
            let join = |order: &[usize]| order.iter().flat_map(|part| parts[part % parts.len()].clone()).collect::<Vec<_>>();
            round_trip(&join(&base), &join(&bytes));
        }

        #[test]
        fn bytes_with_few_values_do_too(
            base in vec(select(&b"ab"[..]), 0..200),
            bytes in vec(select(&b"ab"[..]), 0..200),
        ) {
            round_trip(&base, &bytes);
        }
    }
}
