//! Values in memory. One that was read from disk, has left the history, or is in it while little is written, is packed: it is kept
//! as a delta against another value of the same resource, since objects of one kind are mostly the same text.

use crate::delta::{self, Encoder};
use bytes::Bytes;
use parking_lot::Mutex;
use std::collections::HashMap;
use std::fmt;
use std::ops::RangeInclusive;
use std::sync::Arc;

/// The lengths of the values that are packed. The upper limit also bounds the memory of a base, which outlives its value.
const PACKED_LENGTHS: RangeInclusive<usize> = 128..=16 * 1024;
/// The longest delta of a value that is packed, in percent of the value.
const WORTHWHILE: usize = 60;
/// The longest delta that is short, in bytes or in percent of the value. If there is time, a value with a longer one is compared with
/// the other bases too.
const SHORT: (usize, usize) = (160, 15);
/// How many values in turn have no base, or too long a delta, until the last of them becomes the next base.
const MISSES: u8 = 8;
/// The most bases of a prefix: objects of one kind are of several sorts, and change as controllers report about them.
const BASES: usize = 4;
/// The most prefixes with a base. Beyond that all bases are dropped: some belong to resources that no longer exist.
const PREFIXES: usize = 1024;
/// How many segments of a key are the prefix that all objects of a resource share.
const PREFIX_SEGMENTS: usize = 3;

/// A value. Clones share its memory.
#[derive(Clone)]
pub struct StoredValue(Representation);

#[derive(Clone)]
enum Representation {
    Plain(Bytes),
    /// A pointer to a box, so that a value is not larger than `Bytes`.
    Packed {
        base: Arc<Box<[u8]>>,
        delta: Arc<[u8]>,
    },
}

impl StoredValue {
    /// Returns the bytes. Costs a reference count for a value that was written lately, and a copy for a packed one.
    pub fn bytes(&self) -> Bytes {
        match &self.0 {
            Representation::Plain(bytes) => bytes.clone(),
            Representation::Packed { base, delta } => delta::decode(base, delta).into(),
        }
    }

    /// Returns the number of bytes.
    pub fn len(&self) -> usize {
        match &self.0 {
            Representation::Plain(bytes) => bytes.len(),
            Representation::Packed { delta, .. } => delta::length(delta),
        }
    }

    /// Tells whether two values are one in memory, packed.
    #[cfg(test)]
    pub(crate) fn shares_packed(&self, other: &StoredValue) -> bool {
        match (&self.0, &other.0) {
            (Representation::Packed { delta, .. }, Representation::Packed { delta: other, .. }) => {
                Arc::ptr_eq(delta, other)
            }
            _ => false,
        }
    }

    /// Tells whether there are no bytes.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

impl<T: Into<Bytes>> From<T> for StoredValue {
    fn from(bytes: T) -> StoredValue {
        StoredValue(Representation::Plain(bytes.into()))
    }
}

impl PartialEq for StoredValue {
    fn eq(&self, other: &StoredValue) -> bool {
        self.len() == other.len() && self.bytes() == other.bytes()
    }
}

impl Eq for StoredValue {}

impl<T: AsRef<[u8]> + ?Sized> PartialEq<T> for StoredValue {
    fn eq(&self, bytes: &T) -> bool {
        self.bytes() == bytes.as_ref()
    }
}

impl fmt::Debug for StoredValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.bytes().fmt(f)
    }
}

/// The bases of packed values, one for each prefix of keys. Clones are the same.
#[derive(Clone, Debug, Default)]
pub(crate) struct Bases {
    by_prefix: Arc<Mutex<HashMap<Box<[u8]>, PrefixBases>>>,
}

/// The bases of a prefix.
#[derive(Debug, Default)]
struct PrefixBases {
    /// The one that was used last comes first.
    encoders: Vec<Encoder>,
    /// How many values in turn could not be packed.
    misses: u8,
    /// How many values in turn were compared with all bases and had no short delta.
    long: u8,
}

/// What a value is compared with.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Compared {
    /// The base that was used last.
    Last,
    /// All bases, until one makes it short.
    All,
}

impl PrefixBases {
    /// Returns a value packed against the best of the bases that it is compared with, if that is worthwhile.
    fn pack(&mut self, value: &[u8], compared: Compared) -> Option<StoredValue> {
        let short = SHORT.0.max(value.len() * SHORT.1 / 100);
        let (mut most, mut best) = (value.len() * WORTHWHILE / 100, None);
        let count = if compared == Compared::All { BASES } else { 1 };
        for (place, encoder) in self.encoders.iter().take(count).enumerate() {
            let Some(delta) = encoder.encode(value, most) else { continue };
            most = delta.len();
            best = Some((place, delta));
            if most <= short {
                break;
            }
        }
        self.misses = if best.is_some() { 0 } else { self.misses + 1 };
        let is_long = compared == Compared::All && (best.is_none() || most > short);
        self.long = if is_long { MISSES.min(self.long + 1) } else { 0 };
        let packed = best.map(|(place, delta)| {
            self.encoders[..=place].rotate_right(1);
            let base = self.encoders[0].base().clone();
            StoredValue(Representation::Packed { base, delta: delta.into() })
        });
        if self.misses == MISSES || self.long == MISSES && self.encoders.len() < BASES {
            (self.misses, self.long) = (0, 0);
            self.encoders.truncate(BASES - 1);
            self.encoders.insert(0, Encoder::new(value));
        }
        packed
    }
}

impl Bases {
    /// Packs a value at once, if that is worthwhile.
    pub(crate) fn pack(&self, key: &[u8], value: &mut StoredValue) {
        self.pack_compared(key, value, Compared::Last);
    }

    /// Packs a value as well as possible, if that is worthwhile, for when there is little to do.
    pub(crate) fn pack_well(&self, key: &[u8], value: &mut StoredValue) {
        self.pack_compared(key, value, Compared::All);
    }

    fn pack_compared(&self, key: &[u8], value: &mut StoredValue, compared: Compared) {
        let Representation::Plain(bytes) = &value.0 else { return };
        let Some(prefix) = prefix(key).filter(|_| PACKED_LENGTHS.contains(&bytes.len())) else { return };
        let mut by_prefix = self.by_prefix.lock();
        if !by_prefix.contains_key(prefix) {
            if by_prefix.len() == PREFIXES {
                by_prefix.clear();
            }
            by_prefix.insert(prefix.into(), PrefixBases::default());
        }
        if let Some(packed) = by_prefix.get_mut(prefix).and_then(|bases| bases.pack(bytes, compared)) {
            *value = packed;
        }
    }
}

/// Returns the prefix of a key that says what its value is, such as `objects/apps/deployments`.
fn prefix(key: &[u8]) -> Option<&[u8]> {
    let mut slashes = key.iter().enumerate().filter(|(_, byte)| **byte == b'/');
    let (end, _) = slashes.nth(PREFIX_SEGMENTS - 1)?;
    Some(&key[..end])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn object(name: usize) -> String {
        format!(r#"{{"kind":"Deployment","metadata":{{"name":"web-{name}"}},"spec":{}}}"#, "1".repeat(300))
    }

    fn pack(bases: &Bases, key: &str, value: impl AsRef<[u8]>) -> StoredValue {
        let mut value = StoredValue::from(Bytes::copy_from_slice(value.as_ref()));
        bases.pack(key.as_bytes(), &mut value);
        value
    }

    fn is_packed(value: &StoredValue) -> bool {
        matches!(value.0, Representation::Packed { .. })
    }

    #[test]
    fn values_of_a_resource_are_packed_once_there_are_some() {
        let bases = Bases::default();
        for number in 0..30 {
            let text = object(number);
            let value = pack(&bases, "objects/apps/deployments/default/web", &text);
            assert_eq!(is_packed(&value), number >= usize::from(MISSES), "{number}");
            assert_eq!((value.bytes(), value.len()), (text.clone().into(), text.len()));
            assert_eq!(value, StoredValue::from(text));
        }
    }

    #[test]
    fn a_value_is_as_small_as_its_bytes() {
        assert_eq!(size_of::<StoredValue>(), size_of::<Bytes>());
    }

    type MakeValue<'a> = &'a dyn Fn(usize) -> Vec<u8>;

    #[test]
    fn what_is_not_worthwhile_stays_as_it_is() {
        let random = |seed: u64| {
            let next =
                move |state: &u64| Some(state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(seed | 1));
            std::iter::successors(Some(seed), next).take(60).flat_map(u64::to_be_bytes).collect::<Vec<_>>()
        };
        let cases: [(&str, MakeValue<'_>); 4] = [
            ("objects/apps/deployments/web", &|number| random(number as u64)),
            ("objects/apps/deployments/web", &|number| format!("short {number}").into_bytes()),
            ("objects/apps/deployments/web", &|number| object(number).repeat(200).into_bytes()),
            ("two/segments", &|number| object(number).into_bytes()),
        ];
        for (key, value) in cases {
            let bases = Bases::default();
            for number in 0..30 {
                let bytes = value(number);
                let stored = pack(&bases, key, &bytes);
                assert!(!is_packed(&stored), "{key} {number}");
                assert_eq!(stored.bytes(), bytes);
            }
        }
    }

    #[test]
    fn prefixes_are_bounded_and_values_outlive_their_base() {
        let bases = Bases::default();
        let all = (0..10).map(|number| pack(&bases, "objects/apps/deployments/web", object(number)));
        let all: Vec<StoredValue> = all.collect();
        for number in 0..2 * PREFIXES {
            pack(&bases, &format!("objects/{number}/things/one"), object(number));
            assert!(bases.by_prefix.lock().len() <= PREFIXES);
        }
        assert!(is_packed(&all[9]));
        assert!(all.iter().enumerate().all(|(number, value)| *value == object(number)));
    }

    #[test]
    fn other_values_get_another_base() {
        let bases = Bases::default();
        let packed = |text: String| is_packed(&pack(&bases, "objects/apps/deployments/web", &text));
        let other = |number: usize| format!("{number}{}", "other text ".repeat(40));
        assert_eq!((0..20).filter(|number| packed(object(*number))).count(), 12);
        assert_eq!((0..20).filter(|number| packed(other(*number))).count(), 12);
        assert!(!packed(object(1)), "the value is compared with the base that was used last");
    }

    #[test]
    fn a_value_is_packed_well_against_one_of_several_bases() {
        let key: &[u8] = b"objects/apps/deployments/web";
        let bases = Bases::default();
        let packed = |text: String| {
            let mut value = StoredValue::from(text.clone());
            bases.pack_well(key, &mut value);
            assert_eq!(value, text);
            match value.0 {
                Representation::Packed { delta, .. } => delta.len(),
                Representation::Plain(bytes) => bytes.len(),
            }
        };
        let text = |sort: usize, number: usize| {
            let status: String = (0..40).map(|at| format!("{} of {sort}, ", at * (sort + 7))).collect();
            let shared: String = (0..100).map(|at| format!("shared {at}, ")).collect();
            format!("{number} {shared} {status}")
        };
        let round = |sort| (0..300).map(|number| packed(text(sort, number))).min().unwrap_or_default();
        let first: Vec<usize> = (0..BASES).map(round).collect();
        assert!(first.iter().all(|bytes| *bytes < 100), "{first:?}");
        // In turns, too.
        let mixed: Vec<usize> = (0..BASES).map(|sort| packed(text(sort, 100))).collect();
        assert!(mixed.iter().all(|bytes| *bytes < 100), "{mixed:?}");
        // A further sort gets no base of its own while its values are worth packing against the others.
        assert!(round(BASES) > 100);
        assert!(bases.by_prefix.lock().values().all(|bases| bases.encoders.len() == BASES));
    }
}
