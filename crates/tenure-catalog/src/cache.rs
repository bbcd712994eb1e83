//! The one cache of the server: bounded by weight, evicting in second-chance order. A slot that was read since it was last
//! considered for eviction gets another round; all others are evicted in the order of insertion.

use foldhash::quality::RandomState;
use parking_lot::Mutex;
use std::{
    borrow::Borrow,
    collections::{HashMap, VecDeque, hash_map::Entry},
    hash::Hash,
};

/// A cache whose values together weigh at most its capacity.
pub struct Cache<K, V> {
    capacity: usize,
    weigh: fn(&V) -> usize,
    slots: Mutex<Slots<K, V>>,
}

struct Slots<K, V> {
    by_key: HashMap<K, Slot<V>, RandomState>,
    /// The keys of all slots; the first is the next candidate for eviction.
    queue: VecDeque<K>,
    weight: usize,
}

struct Slot<V> {
    value: V,
    weight: usize,
    was_read: bool,
}

impl<K: Clone + Eq + Hash, V> Cache<K, V> {
    /// Creates a cache that holds values up to a total weight.
    pub fn new(capacity: usize, weigh: fn(&V) -> usize) -> Cache<K, V> {
        let slots = Slots { by_key: HashMap::default(), queue: VecDeque::new(), weight: 0 };
        Cache { capacity, weigh, slots: Mutex::new(slots) }
    }

    /// Calls `look` with a value in place and returns its result.
    pub fn look<Q, R>(&self, key: &Q, look: impl FnOnce(&V) -> Option<R>) -> Option<R>
    where
        K: Borrow<Q>,
        Q: Eq + Hash + ?Sized,
    {
        let mut slots = self.slots.lock();
        let slot = slots.by_key.get_mut(key)?;
        let found = look(&slot.value);
        slot.was_read |= found.is_some();
        found
    }

    /// Returns a copy of a value.
    pub fn get<Q>(&self, key: &Q) -> Option<V>
    where
        K: Borrow<Q>,
        Q: Eq + Hash + ?Sized,
        V: Clone,
    {
        self.look(key, |value| Some(value.clone()))
    }

    /// Stores a value and replaces the one under the same key.
    pub fn insert(&self, key: &K, value: V) {
        self.update(key, |old| match old {
            Some(old) => {
                *old = value;
                None
            }
            None => Some(value),
        });
    }

    /// Changes the value under a key, or stores the one that `change` returns if there is none.
    pub fn update(&self, key: &K, change: impl FnOnce(Option<&mut V>) -> Option<V>) {
        let mut slots = self.slots.lock();
        let slots = &mut *slots;
        if let Some(slot) = slots.by_key.get_mut(key) {
            change(Some(&mut slot.value));
            let weight = (self.weigh)(&slot.value);
            slots.weight = slots.weight - slot.weight + weight;
            slot.weight = weight;
        } else if let Some(value) = change(None) {
            slots.add(key.clone(), value, self.weigh);
        }
        while slots.weight > self.capacity && slots.evict_one() {}
    }

    /// Stores a value unless that would fill the last quarter of the cache, so that it never evicts another. A value under the
    /// same key is kept unless it is `outdated`.
    pub fn insert_if_room(&self, key: &K, value: V, outdated: impl FnOnce(&V) -> bool) {
        let mut slots = self.slots.lock();
        let slots = &mut *slots;
        let weight = (self.weigh)(&value);
        if slots.weight + weight > self.capacity / 4 * 3 {
            return;
        }
        match slots.by_key.get_mut(key) {
            Some(slot) if outdated(&slot.value) => {
                slots.weight = slots.weight - slot.weight + weight;
                *slot = Slot { value, weight, was_read: false };
            }
            Some(_) => {}
            None => slots.add(key.clone(), value, self.weigh),
        }
    }

    /// Drops the values that were not read since the last call, so that an idle server keeps none.
    pub fn drop_unread(&self) {
        let mut slots = self.slots.lock();
        let slots = &mut *slots;
        slots.by_key.retain(|_, slot| std::mem::replace(&mut slot.was_read, false));
        slots.queue.retain(|key| slots.by_key.contains_key(key));
        slots.weight = slots.by_key.values().map(|slot| slot.weight).sum();
        slots.by_key.shrink_to_fit();
        slots.queue.shrink_to_fit();
    }

    /// Returns the number of values and their total weight.
    pub fn size(&self) -> (usize, usize) {
        let slots = self.slots.lock();
        debug_assert_eq!(slots.queue.len(), slots.by_key.len());
        debug_assert_eq!(
            slots.by_key.values().map(|slot| (self.weigh)(&slot.value)).sum::<usize>(),
            slots.weight
        );
        (slots.by_key.len(), slots.weight)
    }
}

impl<K: Clone + Eq + Hash, V> Slots<K, V> {
    fn add(&mut self, key: K, value: V, weigh: fn(&V) -> usize) {
        let weight = weigh(&value);
        self.weight += weight;
        self.queue.push_back(key.clone());
        self.by_key.insert(key, Slot { value, weight, was_read: false });
    }

    /// Evicts the first value that was not read since it was last considered; returns whether there was any value.
    fn evict_one(&mut self) -> bool {
        while let Some(key) = self.queue.pop_front() {
            match self.by_key.entry(key) {
                Entry::Occupied(mut slot) if slot.get().was_read => {
                    slot.get_mut().was_read = false;
                    self.queue.push_back(slot.key().clone());
                }
                Entry::Occupied(slot) => {
                    self.weight -= slot.remove().weight;
                    return true;
                }
                Entry::Vacant(_) => {}
            }
        }
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cache(capacity: usize) -> Cache<usize, Vec<u8>> {
        Cache::new(capacity, Vec::len)
    }

    #[test]
    fn weight_is_bounded_and_values_that_are_read_stay() {
        let cache = cache(1000);
        for key in 0..100 {
            cache.insert(&key, vec![0; 50]);
            assert!(cache.get(&0).is_some(), "the first value is read in every round");
        }
        let (count, weight) = cache.size();
        assert!(count == 20 && weight == 1000, "{count} values of {weight} bytes");
        assert!(cache.get(&1).is_none() && cache.get(&99).is_some());
    }

    #[test]
    fn a_value_that_is_too_heavy_is_not_kept() {
        let cache = cache(100);
        cache.insert(&1, vec![0; 101]);
        assert_eq!(cache.size(), (0, 0));
        cache.insert(&1, vec![0; 50]);
        cache.update(&1, |value| {
            value.unwrap().resize(200, 0);
            None
        });
        assert_eq!(cache.size(), (0, 0));
    }

    #[test]
    fn values_are_replaced_and_changed_in_place() {
        let cache = cache(100);
        cache.insert(&1, vec![1; 10]);
        cache.insert(&1, vec![2; 20]);
        assert_eq!(cache.size(), (1, 20));
        cache.update(&1, |value| {
            value.unwrap().push(3);
            None
        });
        assert_eq!((cache.get(&1).unwrap()[20], cache.size()), (3, (1, 21)));
        assert_eq!(cache.look(&1, |value| value.get(50).copied()), None);
    }

    #[test]
    fn inserting_if_room_evicts_nothing() {
        let cache = cache(100);
        cache.insert_if_room(&1, vec![0; 75], |_| false);
        cache.insert_if_room(&2, vec![0; 1], |_| false);
        assert_eq!(cache.size(), (1, 75));
    }

    #[test]
    fn values_that_are_not_read_are_dropped() {
        let cache = cache(100);
        for key in 0..5 {
            cache.insert(&key, vec![0; 10]);
        }
        cache.get(&3);
        cache.drop_unread();
        assert_eq!(cache.size(), (1, 10));
        cache.drop_unread();
        assert_eq!(cache.size(), (0, 0));
    }
}
