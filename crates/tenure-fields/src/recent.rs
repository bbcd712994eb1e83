//! What was done last at each depth of a walk, so that it is not done again for a level that is the same.
//! Field sets repeat themselves (every container has the same fields), and they do so at one depth.

/// How many results are kept for each depth; a few, as items have a few fields with something below.
const KEPT: usize = 4;

/// The last results of each depth, by what they were made from.
pub(crate) struct Recent<K, R> {
    depths: Vec<[Option<(K, R)>; KEPT]>,
}

impl<K, R> Recent<K, R> {
    pub(crate) fn new() -> Recent<K, R> {
        Recent { depths: Vec::new() }
    }

    /// Returns what was made from the same before, at this depth.
    pub(crate) fn find(&mut self, depth: usize, mut same: impl FnMut(&K) -> bool) -> Option<&(K, R)> {
        let kept = self.depths.get_mut(depth)?;
        let at = kept.iter().position(|entry| entry.as_ref().is_some_and(|(from, _)| same(from)))?;
        // What was useful now goes last.
        kept[..=at].rotate_right(1);
        kept[0].as_ref()
    }

    /// Keeps a result.
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
    fn what_is_found_stays_longer() {
        let mut recent = Recent::new();
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
