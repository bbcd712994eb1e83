//! A map that evicts the least recently used entry when it is full.

use std::{borrow::Borrow, collections::HashMap, hash::Hash};

/// A map with a bounded number of entries.
pub(super) struct BoundedMap<K, V> {
    entries: HashMap<K, (u64, V)>,
    capacity: usize,
    uses: u64,
}

impl<K: Clone + Eq + Hash, V: Clone> BoundedMap<K, V> {
    /// Creates an empty map.
    pub fn new(capacity: usize) -> BoundedMap<K, V> {
        BoundedMap { entries: HashMap::new(), capacity, uses: 0 }
    }

    /// Returns the value of a key and marks it as used.
    pub fn get<Q: Eq + Hash + ?Sized>(&mut self, key: &Q) -> Option<V>
    where
        K: Borrow<Q>,
    {
        self.uses += 1;
        let (used, value) = self.entries.get_mut(key)?;
        *used = self.uses;
        Some(value.clone())
    }

    /// Adds a value.
    pub fn insert(&mut self, key: K, value: V) {
        if self.entries.len() >= self.capacity && !self.entries.contains_key(&key) {
            let oldest = self.entries.iter().min_by_key(|(_, (used, _))| *used).map(|(key, _)| key.clone());
            oldest.and_then(|key| self.entries.remove(&key));
        }
        self.uses += 1;
        self.entries.insert(key, (self.uses, value));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_least_recently_used_entry_is_evicted() {
        let mut map = BoundedMap::new(2);
        map.insert("a", 1);
        map.insert("b", 2);
        assert_eq!(map.get("a"), Some(1));
        map.insert("c", 3);
        assert_eq!([map.get("a"), map.get("b"), map.get("c")], [Some(1), None, Some(3)]);
    }
}
