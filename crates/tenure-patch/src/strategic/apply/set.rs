//! Lists of scalars: those that merge are sets, and every list of scalars can be ordered and have items deleted from
//! it, with any strategy.

use super::{Merged, Merger};
use crate::{
    ErrorKind, PatchError,
    strategic::{
        key_index::{InOrder, KeyIndex, Numbers},
        order::{ItemPosition, NONE, arrange},
        scalars::check_scalars,
        trace::{OrderSource, PatchRule, Recorder},
    },
};
use tenure_value::{Array, Kind, Text, Value};

impl<R: Recorder> Merger<'_, R> {
    /// Merges two lists of scalars as sets: each item once.
    pub(super) fn set(
        &mut self,
        live: &Array,
        patched: Option<&Array>,
        order: Option<&Array>,
    ) -> Result<Merged, PatchError> {
        let patch = patched.map_or(&[][..], Array::items);
        if live.is_empty() && patch.is_empty() {
            return Ok(Merged::Same);
        }
        check_scalars(live, patch)?;
        if let Some(order) = order {
            check_order(patch, order)?;
        }
        // An order alone leaves the items as they are, repeated ones included.
        let dedup = patched.is_some();
        let mut index = KeyIndex::new(1, live.len() + patch.len(), Numbers::Exact);
        let mut standings = Vec::with_capacity(live.len() + patch.len());
        let mut items: Vec<&Value> = Vec::with_capacity(live.len() + patch.len());
        for (place, item) in live.iter().enumerate() {
            if dedup && index.find(&[Some(item)]).is_some() {
                continue;
            }
            index.push(item);
            items.push(item);
            standings.push(ItemPosition { rank: NONE, place: place as u32 });
        }
        for (rank, item) in patch.iter().enumerate() {
            match index.find(&[Some(item)]) {
                Some(number) => standings[number].rank = standings[number].rank.min(rank as u32),
                None => {
                    index.push(item);
                    items.push(item);
                    standings.push(ItemPosition { rank: rank as u32, place: NONE });
                }
            }
        }
        self.recorder.note(|| PatchRule::MergedAsSet);
        self.finish_scalars(live, items, standings, order)
    }

    /// Orders a list that is replaced, or that the patch does not contain.
    pub(super) fn replaced_in_order(
        &mut self,
        live: &Array,
        patched: Option<&Array>,
        order: &Array,
    ) -> Result<Merged, PatchError> {
        let (patch, base) = (patched.map_or(&[][..], Array::items), patched.unwrap_or(live));
        check_scalars(live, patch)?;
        check_order(patch, order)?;
        let standings = vec![ItemPosition { rank: NONE, place: NONE }; base.len()];
        self.recorder.note(|| PatchRule::ReplacedByStrategy);
        self.finish_scalars(live, base.iter().collect(), standings, Some(order))
    }

    fn finish_scalars(
        &mut self,
        live: &Array,
        items: Vec<&Value>,
        mut standings: Vec<ItemPosition>,
        order: Option<&Array>,
    ) -> Result<Merged, PatchError> {
        if let Some(order) = order.filter(|order| !order.is_empty()) {
            let ranks = index_of(order);
            for (number, standing) in standings.iter_mut().enumerate() {
                standing.rank = ranks.find(&[Some(items[number])]).map_or(NONE, |rank| rank as u32);
                standing.place = if number < live.len() { number as u32 } else { NONE };
            }
        }
        let arranged = arrange(standings.into_iter().map(Some), self.options.live_only);
        if !arranged.iter().enumerate().all(|(at, number)| at == *number as usize) {
            let source = if order.is_some() { OrderSource::Directive } else { OrderSource::PatchList };
            self.recorder.note(|| PatchRule::Ordered(source));
        }
        let same = arranged.len() == live.len()
            && arranged.iter().zip(live).all(|(number, value)| items[*number as usize] == value);
        if same {
            return Ok(Merged::Same);
        }
        let items: Array = arranged.iter().map(|number| items[*number as usize].clone()).collect();
        Ok(Merged::New(items.into()))
    }
}

/// Returns a list without the items that another lists, or `None` if it has none of them.
pub(super) fn without(live: &Array, listed: &Array) -> Result<Option<Array>, PatchError> {
    check_scalars(live, listed)?;
    let index = index_of(listed);
    let is_listed = |item: &&Value| index.find(&[Some(item)]).is_some();
    if !live.iter().any(|item| is_listed(&item)) {
        return Ok(None);
    }
    Ok(Some(live.iter().filter(|item| !is_listed(item)).cloned().collect()))
}

fn index_of(items: &[Value]) -> KeyIndex<'_> {
    let mut index = KeyIndex::new(1, items.len(), Numbers::Exact);
    items.iter().for_each(|item| index.push(item));
    index
}

/// Checks that an order covers the items of a patch and has them in the same order.
pub(super) fn check_order(patch: &[Value], order: &Array) -> Result<(), PatchError> {
    if let Some(found) = order.iter().find(|item| !item.is_scalar())
        && !patch.first().is_some_and(Value::is_scalar)
    {
        let what = Text::new_static("an item of $setElementOrder");
        return Err(ErrorKind::WrongKind { what, expected: Kind::String, found: found.clone() }.into());
    }
    if order.is_empty() || patch.is_empty() {
        return Ok(());
    }
    let ordered = index_of(order);
    let patched = index_of(patch);
    let mut search = InOrder::new(&ordered);
    for (at, item) in patch.iter().enumerate() {
        let key = [Some(item)];
        // An item that repeats counts once.
        let repeats = || patched.next_like(patched.first_like(at)).is_some();
        if !search.advance(&key) && (ordered.find(&key).is_none() || !repeats()) {
            return Err(ErrorKind::OrderMismatch {
                patch: Array::from(patch.to_vec()),
                order: order.clone(),
                entry: item.clone(),
            }
            .into());
        }
    }
    Ok(())
}

#[cold]
pub(super) fn no_key(entry: Option<&Value>) -> PatchError {
    ErrorKind::ListWithoutKey { entry: entry.cloned().unwrap_or_default() }.into()
}
