//! A sorted map whose clones share memory until one of them writes: a B+ tree of reference-counted nodes. A clone costs one
//! reference count; a write to a shared map copies the nodes on its path, a write to an unshared one copies nothing. Every branch
//! knows how many entries are below each of its children, so that the entries of a range are counted without visiting them.

use std::borrow::Borrow;
use std::ops::Bound;
use std::sync::Arc;

/// The most entries of a leaf and children of a branch; a node that exceeds it is split in two.
const MAX_NODE: usize = 32;
/// A node below this size is merged with its neighbour, if both fit into one.
const MIN_NODE: usize = MAX_NODE / 4;
/// How many items a node grows by: doubling would leave half of its memory unused.
const GROWTH: usize = MAX_NODE / 4;

/// A sorted map whose clones share memory until one of them writes.
///
/// ```
/// # use tenure_store::CowMap;
/// let mut map = CowMap::default();
/// map.insert("a", 1);
/// let clone = map.clone();
/// map.insert("b", 2);
/// assert_eq!((map.len(), clone.len()), (2, 1));
/// ```
#[derive(Clone, Debug)]
pub struct CowMap<K, V> {
    root: Arc<Node<K, V>>,
    length: usize,
}

#[derive(Clone, Debug)]
enum Node<K, V> {
    Leaf(Vec<(K, V)>),
    Branch(Vec<Child<K, V>>),
}

/// A subtree, the number of its entries, and a lower bound of its keys: not above its first key, and above all keys of the
/// child before.
#[derive(Clone, Debug)]
struct Child<K, V> {
    low: K,
    node: Arc<Node<K, V>>,
    entries: usize,
}

impl<K, V> Child<K, V> {
    fn new(low: K, node: Arc<Node<K, V>>) -> Child<K, V> {
        Child { low, entries: node.entries(), node }
    }
}

impl<K, V> Default for CowMap<K, V> {
    fn default() -> CowMap<K, V> {
        CowMap { root: Arc::new(Node::Leaf(Vec::new())), length: 0 }
    }
}

impl<K, V> Node<K, V> {
    fn size(&self) -> usize {
        match self {
            Node::Leaf(entries) => entries.len(),
            Node::Branch(children) => children.len(),
        }
    }

    /// Returns the number of entries below.
    fn entries(&self) -> usize {
        match self {
            Node::Leaf(entries) => entries.len(),
            Node::Branch(children) => children.iter().map(|child| child.entries).sum(),
        }
    }
}

/// Returns the position of the child that holds a key if any does.
fn child_of<K: Borrow<Q>, V, Q: Ord + ?Sized>(children: &[Child<K, V>], key: &Q) -> usize {
    children.partition_point(|child| child.low.borrow() <= key).saturating_sub(1)
}

fn find<K: Borrow<Q>, V, Q: Ord + ?Sized>(entries: &[(K, V)], key: &Q) -> Result<usize, usize> {
    entries.binary_search_by(|(own, _)| own.borrow().cmp(key))
}

impl<K, V> CowMap<K, V> {
    /// Returns the number of entries.
    pub fn len(&self) -> usize {
        self.length
    }

    /// Returns whether there is no entry.
    pub fn is_empty(&self) -> bool {
        self.length == 0
    }

    /// Returns the value under a key.
    pub fn get<Q: Ord + ?Sized>(&self, key: &Q) -> Option<&V>
    where
        K: Borrow<Q>,
    {
        let mut node = &*self.root;
        loop {
            match node {
                Node::Branch(children) => node = &children[child_of(children, key)].node,
                Node::Leaf(entries) => {
                    return find(entries, key).ok().map(|place| &entries[place].1);
                }
            }
        }
    }

    /// Returns the number of entries whose keys are below a key.
    pub fn rank<Q: Ord + ?Sized>(&self, key: &Q) -> usize
    where
        K: Borrow<Q>,
    {
        let (mut node, mut below) = (&*self.root, 0);
        loop {
            match node {
                Node::Branch(children) => {
                    let place = child_of(children, key);
                    below += children[..place].iter().map(|child| child.entries).sum::<usize>();
                    node = &children[place].node;
                }
                Node::Leaf(entries) => {
                    return below + find(entries, key).unwrap_or_else(|place| place);
                }
            }
        }
    }

    /// Returns the entry with the smallest key.
    pub fn first(&self) -> Option<(&K, &V)> {
        let mut node = &*self.root;
        loop {
            match node {
                Node::Leaf(entries) => return entries.first().map(|(key, value)| (key, value)),
                Node::Branch(children) => node = &children.first()?.node,
            }
        }
    }

    /// Iterates over all entries in the order of their keys.
    pub fn iter(&self) -> Range<'_, K, V>
    where
        K: Ord,
    {
        let mut range = Range { stack: Vec::new(), leaf: [].iter(), end: None };
        range.descend_first(&self.root);
        range
    }

    /// Iterates over the entries from a lower bound on, up to a key that is not included.
    pub fn range<Q: Ord + ?Sized>(&self, from: Bound<&Q>, end: Option<K>) -> Range<'_, K, V>
    where
        K: Borrow<Q> + Ord,
    {
        let mut range = Range { stack: Vec::new(), leaf: [].iter(), end };
        let (key, past) = match from {
            Bound::Unbounded => {
                range.descend_first(&self.root);
                return range;
            }
            Bound::Included(key) => (key, false),
            Bound::Excluded(key) => (key, true),
        };
        let mut node = &*self.root;
        loop {
            match node {
                Node::Branch(children) => {
                    let place = child_of(children, key);
                    range.stack.push(children[place + 1..].iter());
                    node = &children[place].node;
                }
                Node::Leaf(entries) => {
                    let place = match find(entries, key) {
                        Ok(place) => place + usize::from(past),
                        Err(place) => place,
                    };
                    range.enter(&entries[place..]);
                    return range;
                }
            }
        }
    }

    /// Iterates in descending order over the entries below an upper bound.
    pub fn descending_from<Q: Ord + ?Sized>(&self, from: Bound<&Q>) -> Descending<'_, K, V>
    where
        K: Borrow<Q>,
    {
        let mut range = Descending { stack: Vec::new(), leaf: [].iter() };
        let (key, included) = match from {
            Bound::Unbounded => {
                range.descend_last(&self.root);
                return range;
            }
            Bound::Included(key) => (key, true),
            Bound::Excluded(key) => (key, false),
        };
        let mut node = &*self.root;
        loop {
            match node {
                Node::Branch(children) => {
                    let place = child_of(children, key);
                    range.stack.push(children[..place].iter());
                    node = &children[place].node;
                }
                Node::Leaf(entries) => {
                    let end = match find(entries, key) {
                        Ok(place) => place + usize::from(included),
                        Err(place) => place,
                    };
                    range.leaf = entries[..end].iter();
                    return range;
                }
            }
        }
    }
}

impl<K: Ord + Clone, V: Clone> CowMap<K, V> {
    /// Returns the value under a key, to change it. Copies the nodes on the path that are shared, also if there is none: most
    /// callers then insert one.
    pub fn get_mut<Q: Ord + ?Sized>(&mut self, key: &Q) -> Option<&mut V>
    where
        K: Borrow<Q>,
    {
        self.get_key_value_mut(key).map(|(_, value)| value)
    }

    /// Returns the entry under a key, to change its value; see [`get_mut`](CowMap::get_mut).
    pub fn get_key_value_mut<Q: Ord + ?Sized>(&mut self, key: &Q) -> Option<(&K, &mut V)>
    where
        K: Borrow<Q>,
    {
        let mut node = Arc::make_mut(&mut self.root);
        loop {
            match node {
                Node::Branch(children) => {
                    let place = child_of(children, key);
                    node = Arc::make_mut(&mut children[place].node);
                }
                Node::Leaf(entries) => {
                    let place = find(entries, key).ok()?;
                    let (key, value) = &mut entries[place];
                    return Some((key, value));
                }
            }
        }
    }

    /// Puts a value under a key and returns the one it replaces.
    pub fn insert(&mut self, key: K, value: V) -> Option<V> {
        let (replaced, split) = insert(Arc::make_mut(&mut self.root), key, value);
        if let Some(right) = split
            && let Some(low) = first_key(&self.root)
        {
            let left = Child::new(low, self.root.clone());
            self.root = Arc::new(Node::Branch(vec![left, right]));
        }
        self.length += usize::from(replaced.is_none());
        replaced
    }

    /// Removes a key and returns its value.
    pub fn remove<Q: Ord + ?Sized>(&mut self, key: &Q) -> Option<V>
    where
        K: Borrow<Q>,
    {
        let removed = remove(Arc::make_mut(&mut self.root), key)?;
        self.length -= 1;
        // A root with one child is replaced by it, one without any by an empty leaf.
        while let Node::Branch(children) = &*self.root
            && children.len() < 2
        {
            let only = children.first().map(|child| child.node.clone());
            self.root = only.unwrap_or_else(|| Arc::new(Node::Leaf(Vec::new())));
        }
        Some(removed)
    }
}

fn first_key<K: Clone, V>(node: &Node<K, V>) -> Option<K> {
    match node {
        Node::Leaf(entries) => entries.first().map(|(key, _)| key.clone()),
        Node::Branch(children) => children.first().map(|child| child.low.clone()),
    }
}

/// Inserts an item into those of a node, and returns the upper half if they exceed the size of a node. Ascending insertions leave
/// full nodes behind.
fn insert_or_split<T>(items: &mut Vec<T>, at: usize, item: T) -> Option<Vec<T>> {
    if items.len() == items.capacity() {
        items.reserve_exact(GROWTH);
    }
    items.insert(at, item);
    if items.len() <= MAX_NODE {
        return None;
    }
    let is_last = at + 1 == items.len();
    let right = items.split_off(if is_last { MAX_NODE } else { items.len() / 2 });
    items.shrink_to(MAX_NODE);
    Some(right)
}

fn insert<K: Ord + Clone, V: Clone>(
    node: &mut Node<K, V>,
    key: K,
    value: V,
) -> (Option<V>, Option<Child<K, V>>) {
    match node {
        Node::Leaf(entries) => match find(entries, &key) {
            Ok(place) => (Some(std::mem::replace(&mut entries[place].1, value)), None),
            Err(place) => {
                let right = insert_or_split(entries, place, (key, value))
                    .map(|right| Child::new(right[0].0.clone(), Arc::new(Node::Leaf(right))));
                (None, right)
            }
        },
        Node::Branch(children) => {
            let place = child_of(children, &key);
            let child = &mut children[place];
            if key < child.low {
                child.low = key.clone();
            }
            let (replaced, split) = insert(Arc::make_mut(&mut child.node), key, value);
            child.entries += usize::from(replaced.is_none());
            let Some(split) = split else { return (replaced, None) };
            child.entries -= split.entries;
            let right = insert_or_split(children, place + 1, split)
                .map(|right| Child::new(right[0].low.clone(), Arc::new(Node::Branch(right))));
            (replaced, right)
        }
    }
}

fn remove<K: Borrow<Q> + Ord + Clone, V: Clone, Q: Ord + ?Sized>(
    node: &mut Node<K, V>,
    key: &Q,
) -> Option<V> {
    match node {
        Node::Leaf(entries) => find(entries, key).ok().map(|place| entries.remove(place).1),
        Node::Branch(children) => {
            let place = child_of(children, key);
            let child = children.get_mut(place)?;
            let removed = remove(Arc::make_mut(&mut child.node), key)?;
            child.entries -= 1;
            if children[place].node.size() < MIN_NODE {
                merge(children, place);
            }
            Some(removed)
        }
    }
}

/// Merges a child that has become small with the one beside it, if both fit into one node, and drops it if it is empty.
fn merge<K: Clone, V: Clone>(children: &mut Vec<Child<K, V>>, place: usize) {
    if children[place].node.size() == 0 {
        children.remove(place);
        return;
    }
    let left = if place + 1 < children.len() { place } else { place.saturating_sub(1) };
    let Some(right) = children.get(left + 1) else { return };
    if children[left].node.size() + right.node.size() > MAX_NODE {
        return;
    }
    let right = children.remove(left + 1);
    children[left].entries += right.entries;
    match (Arc::make_mut(&mut children[left].node), Arc::unwrap_or_clone(right.node)) {
        (Node::Leaf(into), Node::Leaf(from)) => into.extend(from),
        (Node::Branch(into), Node::Branch(from)) => into.extend(from),
        // All leaves of the tree have the same depth.
        (Node::Leaf(_), Node::Branch(_)) | (Node::Branch(_), Node::Leaf(_)) => {}
    }
}

/// An iterator over entries in the order of their keys.
pub struct Range<'a, K, V> {
    stack: Vec<std::slice::Iter<'a, Child<K, V>>>,
    leaf: std::slice::Iter<'a, (K, V)>,
    end: Option<K>,
}

impl<'a, K: Ord, V> Range<'a, K, V> {
    /// Begins a leaf. The end is compared once per leaf: the bytes of the keys lie elsewhere in memory.
    fn enter(&mut self, mut entries: &'a [(K, V)]) {
        if let Some(end) = &self.end
            && entries.last().is_some_and(|(last, _)| last >= end)
        {
            entries = &entries[..entries.partition_point(|(key, _)| key < end)];
            self.stack.clear();
        }
        self.leaf = entries.iter();
    }

    fn descend_first(&mut self, mut node: &'a Node<K, V>) {
        loop {
            match node {
                Node::Leaf(entries) => {
                    self.enter(entries);
                    return;
                }
                Node::Branch(children) => {
                    let mut children = children.iter();
                    let Some(first) = children.next() else { return };
                    self.stack.push(children);
                    node = &first.node;
                }
            }
        }
    }
}

impl<'a, K: Ord, V> Iterator for Range<'a, K, V> {
    type Item = (&'a K, &'a V);

    fn next(&mut self) -> Option<(&'a K, &'a V)> {
        loop {
            if let Some((key, value)) = self.leaf.next() {
                return Some((key, value));
            }
            match self.stack.last_mut()?.next() {
                Some(child) => self.descend_first(&child.node),
                None => {
                    self.stack.pop();
                }
            }
        }
    }
}

/// An iterator over entries in the opposite order of their keys.
pub struct Descending<'a, K, V> {
    stack: Vec<std::slice::Iter<'a, Child<K, V>>>,
    leaf: std::slice::Iter<'a, (K, V)>,
}

impl<'a, K, V> Descending<'a, K, V> {
    fn descend_last(&mut self, mut node: &'a Node<K, V>) {
        loop {
            match node {
                Node::Leaf(entries) => {
                    self.leaf = entries.iter();
                    return;
                }
                Node::Branch(children) => {
                    let mut children = children.iter();
                    let Some(last) = children.next_back() else { return };
                    self.stack.push(children);
                    node = &last.node;
                }
            }
        }
    }
}

impl<'a, K, V> Iterator for Descending<'a, K, V> {
    type Item = (&'a K, &'a V);

    fn next(&mut self) -> Option<(&'a K, &'a V)> {
        loop {
            if let Some((key, value)) = self.leaf.next_back() {
                return Some((key, value));
            }
            match self.stack.last_mut()?.next_back() {
                Some(child) => self.descend_last(&child.node),
                None => {
                    self.stack.pop();
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::collection::vec;
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    /// Checks that all leaves are equally deep, that no node is empty or too large, and that the lower bounds hold.
    fn check(node: &Node<u16, u32>, low: Option<u16>, root: bool) -> usize {
        assert!(root || (1..=MAX_NODE).contains(&node.size()), "a node of {}", node.size());
        match node {
            Node::Leaf(entries) => {
                assert!(entries.first().is_none_or(|(key, _)| low.is_none_or(|low| low <= *key)));
                1
            }
            Node::Branch(children) => {
                assert!(children.is_sorted_by(|a, b| a.low < b.low));
                assert!(children.iter().all(|child| child.entries == child.node.entries()));
                let depths: Vec<_> =
                    children.iter().map(|child| check(&child.node, Some(child.low), false)).collect();
                assert!(depths.iter().all(|depth| *depth == depths[0]), "{depths:?}");
                1 + depths[0]
            }
        }
    }

    #[test]
    fn ascending_insertions_leave_full_nodes_without_spare_memory() {
        let mut map = CowMap::default();
        for key in 0..1000u16 {
            map.insert(key, 0u32);
        }
        let Node::Branch(children) = &*map.root else { panic!("a leaf") };
        let sizes = children.iter().map(|child| match &*child.node {
            Node::Leaf(entries) => (entries.len(), entries.capacity()),
            Node::Branch(_) => panic!("a branch"),
        });
        let sizes: Vec<_> = sizes.collect();
        assert_eq!(sizes.len(), 32);
        assert!(sizes[..31].iter().all(|size| *size == (MAX_NODE, MAX_NODE)), "{sizes:?}");
    }

    fn pairs<'a>(entries: impl Iterator<Item = (&'a u16, &'a u32)>) -> Vec<(u16, u32)> {
        entries.map(|(key, value)| (*key, *value)).collect()
    }

    proptest! {
        /// A map and its clone each equal a `BTreeMap` that received the same operations.
        #[test]
        fn a_map_and_its_clone_equal_two_sorted_maps(
            steps in vec((any::<bool>(), 0..600u16, 0..5u8), 0..1500),
            from in 0..700u16,
        ) {
            let mut maps = [CowMap::default(), CowMap::default()];
            let mut models = [BTreeMap::new(), BTreeMap::new()];
            for (number, (second, key, action)) in (0u32..).zip(steps) {
                let which = usize::from(second);
                let (map, model) = (&mut maps[which], &mut models[which]);
                match action {
                    0 | 1 => prop_assert_eq!(map.remove(&key), model.remove(&key)),
                    2 if number % 50 == 0 => {
                        maps[which] = maps[1 - which].clone();
                        models[which] = models[1 - which].clone();
                    }
                    3 => {
                        if let Some(value) = map.get_mut(&key) {
                            *value += 1;
                        }
                        model.entry(key).and_modify(|value| *value += 1);
                    }
                    _ => prop_assert_eq!(map.insert(key, number), model.insert(key, number)),
                }
            }
            for (map, model) in maps.iter().zip(&models) {
                check(&map.root, None, true);
                prop_assert_eq!(map.len(), model.len());
                prop_assert_eq!(pairs(map.iter()), pairs(model.iter()));
                prop_assert_eq!(pairs(map.range(Bound::Included(&from), None)), pairs(model.range(from..)));
                let after = model.range((Bound::Excluded(from), Bound::Unbounded));
                prop_assert_eq!(pairs(map.range(Bound::Excluded(&from), None)), pairs(after));
                prop_assert_eq!(map.get(&from), model.get(&from));
                prop_assert_eq!(map.rank(&from), model.range(..from).count());
                let between = map.range(Bound::Included(&from), Some(from + 90));
                prop_assert_eq!(pairs(between), pairs(model.range(from..from + 90)));
                prop_assert_eq!(pairs(map.descending_from::<u16>(Bound::Unbounded)), pairs(model.iter().rev()));
                let below = map.descending_from(Bound::Excluded(&from));
                prop_assert_eq!(pairs(below), pairs(model.range(..from).rev()));
                let to = map.descending_from(Bound::Included(&from));
                prop_assert_eq!(pairs(to), pairs(model.range(..=from).rev()));
            }
        }
    }

    #[test]
    fn a_queue_stays_as_small_as_its_content() {
        let mut map = CowMap::default();
        for number in 0..20_000u16 {
            map.insert(number, 0);
            if number >= 100 {
                map.remove(&(number - 100));
            }
        }
        assert_eq!((map.len(), map.first()), (100, Some((&19_900, &0))));
        assert!(check(&map.root, None, true) <= 3);
    }
}
