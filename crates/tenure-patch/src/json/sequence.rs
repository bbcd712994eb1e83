//! A list with fast access, insertion and removal at any index: chunks of bounded length, found through a tree of their
//! lengths.

/// The length up to which a chunk grows before it is split.
const LONGEST: usize = 1024;

/// A list in chunks.
pub(super) struct Sequence<T> {
    chunks: Vec<Vec<T>>,
    lengths: PrefixSums,
    length: usize,
}

impl<T> Sequence<T> {
    pub(super) fn len(&self) -> usize {
        self.length
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &T> {
        self.chunks.iter().flatten()
    }

    pub(super) fn get_mut(&mut self, at: usize) -> Option<&mut T> {
        if at >= self.length {
            return None;
        }
        let (chunk, at) = self.lengths.locate(at);
        self.chunks.get_mut(chunk)?.get_mut(at)
    }

    /// Inserts an item at an index, which is at most the length.
    pub(super) fn insert(&mut self, at: usize, item: T) {
        let (chunk, at) = match at.checked_sub(1) {
            // Behind the item before it.
            Some(before) => {
                let (chunk, at) = self.lengths.locate(before);
                (chunk, at + 1)
            }
            None => (0, 0),
        };
        if self.chunks.is_empty() {
            self.chunks.push(Vec::new());
            self.lengths = PrefixSums::new(&self.chunks);
        }
        let items = &mut self.chunks[chunk];
        items.insert(at, item);
        self.length += 1;
        if items.len() > LONGEST {
            let rest = items.split_off(LONGEST / 2);
            self.chunks.insert(chunk + 1, rest);
            self.lengths = PrefixSums::new(&self.chunks);
        } else {
            self.lengths.change(chunk, 1);
        }
    }

    /// Removes the item at an index, if there is one.
    pub(super) fn remove(&mut self, at: usize) -> Option<T> {
        if at >= self.length {
            return None;
        }
        let (chunk, at) = self.lengths.locate(at);
        let item = self.chunks[chunk].remove(at);
        self.length -= 1;
        self.lengths.change(chunk, -1);
        Some(item)
    }
}

impl<T> FromIterator<T> for Sequence<T> {
    fn from_iter<I: IntoIterator<Item = T>>(items: I) -> Sequence<T> {
        let mut items = items.into_iter();
        let (mut chunks, mut length) = (Vec::new(), 0);
        loop {
            let chunk: Vec<T> = items.by_ref().take(LONGEST / 2).collect();
            if chunk.is_empty() {
                let lengths = PrefixSums::new(&chunks);
                return Sequence { chunks, lengths, length };
            }
            length += chunk.len();
            chunks.push(chunk);
        }
    }
}

/// The lengths of chunks as a binary indexed tree: element `n` is the sum of the lengths of as many chunks up to `n` as
/// the lowest bit of `n` says.
struct PrefixSums(Vec<usize>);

impl PrefixSums {
    fn new<T>(chunks: &[Vec<T>]) -> PrefixSums {
        let mut sums = vec![0; chunks.len() + 1];
        for (at, chunk) in chunks.iter().enumerate() {
            let node = at + 1;
            sums[node] += chunk.len();
            let parent = node + (node & node.wrapping_neg());
            if parent < sums.len() {
                sums[parent] += sums[node];
            }
        }
        PrefixSums(sums)
    }

    /// Changes the length of a chunk.
    fn change(&mut self, chunk: usize, by: isize) {
        let mut node = chunk + 1;
        while let Some(sum) = self.0.get_mut(node) {
            *sum = sum.saturating_add_signed(by);
            node += node & node.wrapping_neg();
        }
    }

    /// Returns the chunk of an index and the index in it.
    fn locate(&self, mut at: usize) -> (usize, usize) {
        let (mut chunk, mut step) = (0, self.0.len().next_power_of_two());
        while step > 0 {
            if let Some(sum) = self.0.get(chunk + step).filter(|sum| **sum <= at) {
                at -= sum;
                chunk += step;
            }
            step /= 2;
        }
        (chunk, at)
    }
}

impl<T> IntoIterator for Sequence<T> {
    type Item = T;
    type IntoIter = std::iter::Flatten<std::vec::IntoIter<Vec<T>>>;

    fn into_iter(self) -> Self::IntoIter {
        self.chunks.into_iter().flatten()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn behaves_like_a_vector(
            length in 0usize..3000,
            steps in proptest::collection::vec((any::<bool>(), any::<u16>()), 0..200),
        ) {
            let mut vector: Vec<usize> = (0..length).collect();
            let mut sequence: Sequence<usize> = (0..length).collect();
            for (number, (insert, at)) in steps.into_iter().enumerate() {
                let at = usize::from(at) % (vector.len() + 1);
                if insert {
                    vector.insert(at, number);
                    sequence.insert(at, number);
                } else if at < vector.len() {
                    prop_assert_eq!(sequence.remove(at), Some(vector.remove(at)));
                } else {
                    prop_assert_eq!(sequence.remove(at), None);
                }
                prop_assert_eq!(sequence.get_mut(at).map(|item| *item), vector.get(at).copied());
            }
            prop_assert_eq!(sequence.len(), vector.len());
            prop_assert!(sequence.iter().eq(&vector));
            prop_assert!(sequence.into_iter().eq(vector));
        }
    }
}
