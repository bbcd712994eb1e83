//! The patch of a list that is a set of scalars: what is added and deleted, and the order of the whole. A set contains
//! each item once; if the live list repeats one, the patch names it, since merging sets unites them.

use super::{Calculator, ListPatch, Sides};
use crate::{
    PatchError,
    strategic::{diff::key_text, scalars::check_scalars},
};
use tenure_profile::Improvement;
use tenure_value::{Array, Value};

impl Calculator<'_> {
    pub(super) fn set(&mut self, sides: Sides<'_, Array>, modified: &Array) -> Result<ListPatch, PatchError> {
        let profile = self.options.profile;
        let original = sides.original.map_or(&[][..], Array::items);
        let live = sides.live.map_or(&[][..], Array::items);
        let modified = modified.items();
        let mut patch = ListPatch { new: sides.live.is_none(), ..ListPatch::default() };
        if !original.is_empty() {
            check_scalars(original, modified)?;
            patch.deletions = match profile.has(Improvement::UniteRepeatedSetItems) {
                true => absent_items(original, modified),
                false => surplus_items(original, modified),
            };
        }
        if live.is_empty() {
            patch.items = modified.to_vec();
        } else {
            check_scalars(live, modified)?;
            let there = Counts::of(live);
            let wanted = Counts::of(modified);
            let repeats = |item: &Value| {
                profile.has(Improvement::UniteRepeatedSetItems) && there.count(item) > wanted.count(item)
            };
            patch.items = Counts::numbered(modified)
                .filter(|(item, number)| *number >= there.count(item) || *number == 0 && repeats(item))
                .map(|(item, _)| item.clone())
                .collect();
        }
        self.removals += patch.deletions.len();
        // As recorded, a set that is not sorted as text is written with its order even if it does not change.
        let unsorted = || !modified.is_sorted_by(|left, right| key_text::compare(left, right).is_le());
        let moved = || match profile.has(Improvement::WriteSetReorders) {
            true => live != modified || unsorted(),
            false => sorted_as_text(live) != modified,
        };
        if !patch.deletions.is_empty() || !live.is_empty() && (!patch.items.is_empty() || moved()) {
            patch.order = modified.to_vec();
        }
        Ok(patch)
    }
}

fn sorted_as_text(list: &[Value]) -> Vec<Value> {
    let mut items = list.to_vec();
    items.sort_by(key_text::compare);
    items
}

/// Returns the items of one list that another does not contain, sorted as text, each once.
fn absent_items(original: &[Value], modified: &[Value]) -> Vec<Value> {
    let kept = Counts::of(modified);
    let absent: Vec<Value> = original.iter().filter(|item| kept.count(item) == 0).cloned().collect();
    let mut items = sorted_as_text(&absent);
    items.dedup();
    items
}

/// Returns the items that occur more often in one list than in another, sorted as text, each as often as it does.
fn surplus_items(original: &[Value], modified: &[Value]) -> Vec<Value> {
    let kept = Counts::of(modified);
    let surplus = Counts::numbered(original).filter(|(item, number)| *number >= kept.count(item));
    let items: Vec<Value> = surplus.map(|(item, _)| item.clone()).collect();
    sorted_as_text(&items)
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

    /// Returns the items, each with the number of its earlier occurrences.
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
