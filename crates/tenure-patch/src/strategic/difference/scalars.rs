//! The patch of a list that is a set of scalars: what joins, what leaves, and the order of the whole. A set
//! has each item once; where the live list repeats one, the patch names it, since merging sets unites them.

use super::{
    fields::{ListPatch, Sides, Walk},
    key_text,
};
use crate::{PatchError, strategic::set::check_scalars};
use tenure_value::{Array, Value};

impl Walk<'_> {
    pub(super) fn scalars(
        &mut self,
        sides: Sides<'_, Array>,
        modified: &Array,
    ) -> Result<ListPatch, PatchError> {
        let original = sides.original.map_or(&[][..], Array::items);
        let live = sides.live.map_or(&[][..], Array::items);
        let modified = modified.items();
        let mut patch = ListPatch { new: sides.live.is_none(), ..ListPatch::default() };
        if !original.is_empty() {
            check_scalars(original, modified)?;
            let kept = Counts::of(modified);
            patch.deletions = original.iter().filter(|item| kept.count(item) == 0).cloned().collect();
            patch.deletions.sort_by(key_text::compare);
            patch.deletions.dedup();
        }
        if live.is_empty() {
            patch.items = modified.to_vec();
        } else {
            check_scalars(live, modified)?;
            let there = Counts::of(live);
            let wanted = Counts::of(modified);
            let repeats = |item: &Value| there.count(item) > wanted.count(item);
            patch.items = Counts::numbered(modified)
                .filter(|(item, number)| *number >= there.count(item) || *number == 0 && repeats(item))
                .map(|(item, _)| item.clone())
                .collect();
        }
        self.removals += patch.deletions.len();
        // A list that stays as it is, but is not sorted as text, carries its order too: that is how clients
        // have always written it.
        let unsorted = || !modified.is_sorted_by(|left, right| key_text::compare(left, right).is_le());
        let moved = || live != modified || unsorted();
        if !patch.deletions.is_empty() || !live.is_empty() && (!patch.items.is_empty() || moved()) {
            patch.order = modified.to_vec();
        }
        Ok(patch)
    }
}

/// How often each item occurs in a list.
struct Counts<'v>(Vec<&'v Value>);

impl<'v> Counts<'v> {
    fn of(list: &'v [Value]) -> Counts<'v> {
        let mut sorted: Vec<&Value> = list.iter().collect();
        sorted.sort_unstable();
        Counts(sorted)
    }

    fn count(&self, item: &Value) -> usize {
        let from = self.0.partition_point(|other| *other < item);
        self.0[from..].partition_point(|other| *other == item)
    }

    /// Walks the items, each with how often it occurred before.
    fn numbered(list: &'v [Value]) -> impl Iterator<Item = (&'v Value, usize)> {
        let mut places: Vec<usize> = (0..list.len()).collect();
        places.sort_by_key(|place| &list[*place]);
        let mut numbers = vec![0; list.len()];
        for pair in places.windows(2) {
            if list[pair[0]] == list[pair[1]] {
                numbers[pair[1]] = numbers[pair[0]] + 1;
            }
        }
        list.iter().zip(numbers)
    }
}
