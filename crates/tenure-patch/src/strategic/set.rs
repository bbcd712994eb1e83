//! Lists of scalars: those that merge are sets, and every list of scalars can be put in order and have
//! items deleted from it, whatever its strategy.

use super::{
    fields::{Merger, Outcome},
    index::Index,
    order::{NONE, Standing, arrange},
    plan,
    trace::{OrderSource, Recorder, Rule},
};
use crate::{Fault, PatchError};
use std::mem::discriminant;
use tenure_schema::TypeRef;
use tenure_value::{Array, Kind, Text, Value};

impl<R: Recorder> Merger<'_, R> {
    /// Merges two lists of scalars as sets, each item once.
    pub(super) fn set(
        &mut self,
        live: &Array,
        patched: Option<&Array>,
        order: Option<&Array>,
    ) -> Result<Outcome, PatchError> {
        let patch = patched.map_or(&[][..], Array::items);
        if live.is_empty() && patch.is_empty() {
            return Ok(Outcome::Same);
        }
        check_scalars(live, patch)?;
        if let Some(order) = order {
            check_order(patch, order)?;
        }
        // An order on its own leaves the items alone, repeated ones included.
        let dedup = patched.is_some();
        let mut index = Index::new(1, live.len() + patch.len());
        let mut standings = Vec::with_capacity(live.len() + patch.len());
        let mut items: Vec<&Value> = Vec::with_capacity(live.len() + patch.len());
        for (place, item) in live.iter().enumerate() {
            if dedup && index.find(&[Some(item)], 0).is_some() {
                continue;
            }
            add(&mut index, item);
            items.push(item);
            standings.push(Standing { rank: NONE, place: place as u32 });
        }
        for (rank, item) in patch.iter().enumerate() {
            match index.find(&[Some(item)], 0) {
                Some(number) => standings[number].rank = standings[number].rank.min(rank as u32),
                None => {
                    add(&mut index, item);
                    items.push(item);
                    standings.push(Standing { rank: rank as u32, place: NONE });
                }
            }
        }
        self.recorder.note(|| Rule::MergedAsSet);
        self.finish(live, items, &index, standings, order)
    }

    /// Puts a list that is replaced, or is not in the patch at all, in order.
    pub(super) fn replaced_in_order(
        &mut self,
        live: &Array,
        patched: Option<&Array>,
        order: &Array,
    ) -> Result<Outcome, PatchError> {
        let (patch, base) = (patched.map_or(&[][..], Array::items), patched.unwrap_or(live));
        check_scalars(live, patch)?;
        check_order(patch, order)?;
        let mut index = Index::new(1, base.len());
        for item in base {
            add(&mut index, item);
        }
        let standings = vec![Standing { rank: NONE, place: NONE }; base.len()];
        self.recorder.note(|| Rule::ReplacedByStrategy);
        self.finish(live, base.iter().collect(), &index, standings, Some(order))
    }

    fn finish(
        &mut self,
        live: &Array,
        items: Vec<&Value>,
        index: &Index<'_>,
        mut standings: Vec<Standing>,
        order: Option<&Array>,
    ) -> Result<Outcome, PatchError> {
        if let Some(order) = order.filter(|order| !order.is_empty()) {
            for (number, standing) in standings.iter_mut().enumerate() {
                standing.rank = NONE;
                standing.place = if number < live.len() { number as u32 } else { NONE };
            }
            for (rank, item) in order.iter().enumerate() {
                let mut from = 0;
                while let Some(number) = index.find(&[Some(item)], from) {
                    standings[number].rank = standings[number].rank.min(rank as u32);
                    from = number + 1;
                }
            }
        }
        let arranged = arrange(standings.into_iter().map(Some), self.options.live_only);
        if !arranged.iter().enumerate().all(|(at, number)| at == *number as usize) {
            let source = if order.is_some() { OrderSource::Directive } else { OrderSource::PatchList };
            self.recorder.note(|| Rule::Ordered(source));
        }
        let same = arranged.len() == live.len()
            && arranged.iter().zip(live).all(|(number, value)| items[*number as usize] == value);
        if same {
            return Ok(Outcome::Same);
        }
        let items: Array = arranged.iter().map(|number| items[*number as usize].clone()).collect();
        Ok(Outcome::New(items.into()))
    }

    /// Deletes the items that a `$deleteFromPrimitiveList` lists.
    pub(super) fn delete_from(
        &mut self,
        live: Option<&Value>,
        deletions: &Value,
        name: &str,
        ty: TypeRef<'_>,
    ) -> Result<Outcome, PatchError> {
        match (live, deletions) {
            (Some(_), Value::Null) => {
                self.recorder.note_field(name, || Rule::RemovedByNull);
                Ok(Outcome::Gone)
            }
            (Some(Value::Array(live)), Value::Array(listed)) => {
                let position = plan::position(ty, name, deletions)?;
                if live.is_empty() && listed.is_empty() {
                    return Ok(Outcome::Same);
                }
                if live.iter().chain(listed).all(|item| matches!(item, Value::Object(_))) {
                    return match position.plan(self.options.unmarked_lists) {
                        plan::Plan::Keyed(_) => self.list(live, Some(listed), None, position),
                        _ => Err(without_key(listed.first().or(live.first()))),
                    };
                }
                check_scalars(live, listed)?;
                let mut index = Index::new(1, listed.len());
                for item in listed {
                    add(&mut index, item);
                }
                let is_listed = |item: &&Value| index.find(&[Some(item)], 0).is_some();
                if !live.iter().any(|item| is_listed(&item)) {
                    return Ok(Outcome::Same);
                }
                self.recorder.note_field(name, || Rule::RemovedFromSet);
                let kept: Vec<Value> = live.iter().filter(|item| !is_listed(item)).cloned().collect();
                Ok(Outcome::New(Array::from(kept).into()))
            }
            _ => Ok(Outcome::Same),
        }
    }
}

fn add<'v>(index: &mut Index<'v>, item: &'v Value) {
    index.keys_mut().push(Some(item));
    index.seal();
}

/// Checks that the items of both lists are scalars of one kind.
pub(super) fn check_scalars(live: &[Value], patch: &[Value]) -> Result<(), PatchError> {
    let Some(first) = live.first().or(patch.first()) else { return Ok(()) };
    let mixed = || Fault::MixedItems { live: Array::from(live.to_vec()), patch: Array::from(patch.to_vec()) };
    let is_alike = |item: &Value| discriminant(item) == discriminant(first);
    match first {
        _ if !live.iter().chain(patch).all(is_alike) => Err(mixed().into()),
        Value::Null => Err(mixed().into()),
        Value::Array(_) => Err(Fault::ListOfLists { item: first.clone() }.into()),
        Value::Object(_) => Err(without_key(Some(first))),
        _ => Ok(()),
    }
}

/// Checks that an order covers the items of a patch and has them in the same order.
pub(super) fn check_order(patch: &[Value], order: &Array) -> Result<(), PatchError> {
    if let Some(found) = order.iter().find(|item| !item.is_scalar())
        && !patch.first().is_some_and(Value::is_scalar)
    {
        let what = Text::new_static("an item of $setElementOrder");
        return Err(Fault::WrongKind { what, expected: Kind::String, found: found.clone() }.into());
    }
    if order.is_empty() {
        return Ok(());
    }
    let mut index = Index::new(1, order.len());
    for item in order {
        add(&mut index, item);
    }
    let mismatch = |entry: &Value| Fault::OrderMismatch {
        patch: Array::from(patch.to_vec()),
        order: order.clone(),
        entry: entry.clone(),
    };
    let mut at = 0;
    for item in patch {
        match index.find(&[Some(item)], at) {
            Some(found) => at = found + 1,
            // An item that repeats counts once, where it is first.
            None if index.find(&[Some(item)], 0).is_some()
                && patch.iter().filter(|other| *other == item).count() > 1 => {}
            None => return Err(mismatch(item).into()),
        }
    }
    Ok(())
}

#[cold]
fn without_key(entry: Option<&Value>) -> PatchError {
    Fault::ListWithoutKey { entry: entry.cloned().unwrap_or_default() }.into()
}
