//! The last results at each depth of a traversal, to avoid recomputing them for equal levels. Field sets
//! repeat themselves (every container has the same fields) at the same depth.

/// The number of results kept for each depth; items have only a few fields with children.
const KEPT: usize = 4;

/// The last results at each depth, by their input.
pub(crate) struct Memo<K, R> {
    depths: Vec<[Option<(K, R)>; KEPT]>,
}

impl<K, R> Memo<K, R> {
    pub(crate) fn new() -> Memo<K, R> {
        Memo { depths: Vec::new() }
    }

    /// Returns the earlier result for the same input at this depth.
    pub(crate) fn find(&mut self, depth: usize, mut same: impl FnMut(&K) -> bool) -> Option<&(K, R)> {
        let kept = self.depths.get_mut(depth)?;
        let at = kept.iter().position(|entry| entry.as_ref().is_some_and(|(from, _)| same(from)))?;
        // Move the entry to the end, as the last to be evicted.
        kept[..=at].rotate_right(1);
        kept[0].as_ref()
    }

    /// Stores a result.
    pub(crate) fn keep(&mut self, depth: usize, from: K, result: R) {
        if self.depths.len() <= depth {
            self.depths.resize_with(depth + 1, || [const { None }; KEPT]);
        }
        let kept = &mut self.depths[depth];
        kept.rotate_right(1);
        kept[0] = Some((from, result));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn found_results_are_evicted_last() {
        let mut recent = Memo::new();
        for number in 0..KEPT {
            recent.keep(1, number, ());
            assert!(recent.find(1, |kept| *kept == 0).is_some());
        }
        recent.keep(1, KEPT, ());
        assert!(recent.find(1, |kept| *kept == 0).is_some());
        assert!(recent.find(1, |kept| *kept == 1).is_none());
        assert!(recent.find(0, |kept| *kept == 0).is_none());
        assert!(recent.find(2, |kept| *kept == 0).is_none());
    }
}
