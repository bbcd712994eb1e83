//! A list in which inserting and removing in the middle costs the same however long it is: chunks of bounded length.

/// The length up to which a chunk grows before it is split.
const LONGEST: usize = 1024;

/// A list of chunks, none of them empty.
pub(super) struct Sequence<T> {
    chunks: Vec<Vec<T>>,
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
        let (chunk, at) = self.locate(at);
        self.chunks.get_mut(chunk)?.get_mut(at)
    }

    /// Inserts an item at a position, which is at most the length.
    pub(super) fn insert(&mut self, at: usize, item: T) {
        let (mut chunk, mut at) = self.locate(at);
        if chunk == self.chunks.len() {
            // Behind the last item: it goes to the end of the last chunk.
            match self.chunks.last() {
                Some(last) => (chunk, at) = (chunk - 1, last.len()),
                None => self.chunks.push(Vec::new()),
            }
        }
        let items = &mut self.chunks[chunk];
        items.insert(at, item);
        if items.len() > LONGEST {
            let rest = items.split_off(LONGEST / 2);
            self.chunks.insert(chunk + 1, rest);
        }
        self.length += 1;
    }

    /// Removes the item at a position, if there is one.
    pub(super) fn remove(&mut self, at: usize) -> Option<T> {
        let (chunk, at) = self.locate(at);
        let items = self.chunks.get_mut(chunk).filter(|items| at < items.len())?;
        let item = items.remove(at);
        if items.is_empty() {
            self.chunks.remove(chunk);
        }
        self.length -= 1;
        Some(item)
    }

    /// Returns the chunk of a position and the position in it; the number of chunks for a position behind the end.
    fn locate(&self, mut at: usize) -> (usize, usize) {
        for (chunk, items) in self.chunks.iter().enumerate() {
            if at < items.len() {
                return (chunk, at);
            }
            at -= items.len();
        }
        (self.chunks.len(), at)
    }
}

impl<T> FromIterator<T> for Sequence<T> {
    fn from_iter<I: IntoIterator<Item = T>>(items: I) -> Sequence<T> {
        let mut items = items.into_iter();
        let mut sequence = Sequence { chunks: Vec::new(), length: 0 };
        loop {
            let chunk: Vec<T> = items.by_ref().take(LONGEST / 2).collect();
            if chunk.is_empty() {
                return sequence;
            }
            sequence.length += chunk.len();
            sequence.chunks.push(chunk);
        }
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
