//! Duplicate detection in lists. A few values are compared with each other, which is cheaper than hashing; many are hashed, so
//! that the time is linear in the length of the list.

use std::{collections::HashSet, hash::Hash};

/// Up to how many values are compared with each other.
const FEW: usize = 16;

/// The values that a walk over a list has met so far.
///
/// ```
/// use tenure_meta::Seen;
///
/// let mut seen = Seen::default();
/// assert!(seen.insert("a") && seen.insert("b"));
/// assert!(!seen.insert("a"));
/// ```
#[derive(Clone, Debug)]
pub struct Seen<T> {
    few: Vec<T>,
    many: HashSet<T>,
}

impl<T> Default for Seen<T> {
    fn default() -> Seen<T> {
        Seen { few: Vec::new(), many: HashSet::new() }
    }
}

impl<T: Eq + Hash> Seen<T> {
    /// Adds a value. Returns whether it is new.
    pub fn insert(&mut self, value: T) -> bool {
        if !self.many.is_empty() {
            return self.many.insert(value);
        }
        if self.few.contains(&value) {
            return false;
        }
        if self.few.is_empty() {
            self.few.reserve_exact(FEW / 2);
        }
        self.few.push(value);
        if self.few.len() > FEW {
            self.many = self.few.drain(..).collect();
        }
        true
    }

    /// Whether a value was added.
    pub fn contains(&self, value: &T) -> bool {
        if self.many.is_empty() { self.few.contains(value) } else { self.many.contains(value) }
    }
}

impl<T: Eq + Hash> Extend<T> for Seen<T> {
    fn extend<I: IntoIterator<Item = T>>(&mut self, values: I) {
        values.into_iter().for_each(|value| {
            self.insert(value);
        });
    }
}

impl<T: Eq + Hash> FromIterator<T> for Seen<T> {
    fn from_iter<I: IntoIterator<Item = T>>(values: I) -> Seen<T> {
        let mut seen = Seen::default();
        seen.extend(values);
        seen
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_new_once_however_many_there_are() {
        let mut seen = Seen::default();
        for value in 0..100 {
            assert!(!seen.contains(&value), "{value}");
            assert!(seen.insert(value), "{value}");
            assert!(!seen.insert(value / 2) && !seen.insert(value), "{value}");
        }
        assert!((0..100).all(|value| seen.contains(&value)));
    }
}
