//! Merging lists whose entries are matched by key. Deletions come first, whatever their place in the
//! patch; then each entry merges into the live entry that has its keys, or joins the list; then the whole
//! is put in order.

use super::{
    clean::{Taken, clean},
    directive::{PatchValue, patch_value},
    fields::{Merger, Outcome},
    index::Index,
    order::{NONE, Standing, arrange},
    plan::{self, Keys, Plan, Position},
    sent_keys::{ambiguous, named_keys, named_target, single, telling_keys},
    trace::{KeySource, OrderSource, Recorder, Rule},
};
use crate::{Fault, PatchError};
use tenure_fields::PathElement;
use tenure_schema::TypeRef;
use tenure_value::{Array, Kind, Object, Text, Value};

/// One entry of the list being made.
pub(super) struct Slot<'v> {
    content: Content<'v>,
    standing: Standing,
}

impl Slot<'_> {
    /// Whether the entry is in the list still.
    pub(super) fn is_there(&self) -> bool {
        !matches!(self.content, Content::Gone)
    }

    /// Returns its place in the order that the patch gives.
    pub(super) fn rank(&self) -> u32 {
        self.standing.rank
    }
}

enum Content<'v> {
    Live(&'v Value),
    Made(Value),
    Gone,
}

/// An entry of the patch that is merged or joins; the others are deletions.
struct Entry<'v> {
    map: &'v Object,
    keys: usize,
}

/// The list of the patch, sorted out.
struct Entries<'v> {
    merging: Vec<Entry<'v>>,
    deleting: Vec<Entry<'v>>,
    /// The values of the keys of all of them, by [`Entry::keys`].
    keys: Vec<Option<&'v Value>>,
    /// How many merging entries stand before the one that says that the list replaces the live one.
    replace: Option<usize>,
}

impl<R: Recorder> Merger<'_, R> {
    /// Merges or replaces a list, and puts it in order.
    pub(super) fn list(
        &mut self,
        live: &Array,
        patched: Option<&Array>,
        order: Option<&Array>,
        position: Position<'_>,
    ) -> Result<Outcome, PatchError> {
        let patch = patched.map_or(&[][..], Array::items);
        if order.is_some() && live.is_empty() && patch.is_empty() {
            // Nothing is there to be ordered, as after a patch that deleted the last item.
            return Ok(Outcome::Same);
        }
        if let Some(names) = named_keys(patch, position)? {
            return self.keyed(live, patch, order, &Keys::Named(names), position);
        }
        match position.plan(self.options.unmarked_lists) {
            Plan::Keyed(keys) => {
                let keys = match order {
                    Some(order) if patch.is_empty() => telling_keys(order, live, keys, position),
                    _ => keys,
                };
                self.keyed(live, patch, order, &keys, position)
            }
            Plan::Set => self.set(live, patched, order),
            Plan::Replace => match order {
                None => {
                    self.recorder.note(|| Rule::ReplacedByStrategy);
                    let patched = patched.cloned().unwrap_or_default();
                    self.literal(&live.clone().into(), &patched.into(), position.ty)
                }
                Some(order) => self.replaced_in_order(live, patched, order),
            },
        }
    }

    /// Takes a list where none is live, checking it against its order.
    pub(super) fn ordered_anew(
        &mut self,
        patch: &Array,
        order: &Array,
        position: Position<'_>,
    ) -> Result<Outcome, PatchError> {
        if patch.is_empty() {
            return Err(Fault::NothingToOrder { order: order.clone() }.into());
        }
        if let Some(names) = named_keys(patch, position)? {
            return self.keyed(&[], patch, Some(order), &Keys::Named(names), position);
        }
        match position.plan(self.options.unmarked_lists) {
            Plan::Keyed(keys) => {
                // Nothing is there to be deleted, so it does not matter what a deletion names.
                let kept: Vec<Value> = patch.iter().filter(|entry| !deletes(entry)).cloned().collect();
                let entries = Entries::read(&kept, &keys, &[])?;
                entries.check_order(patch, order, &keys)?;
            }
            _ => super::set::check_order(patch, order)?,
        }
        self.recorder.note(|| Rule::Added);
        Ok(match clean(&patch.clone().into(), position.ty, Taken::New, self.options.unknown_words)? {
            Some(value) => Outcome::New(value),
            None => Outcome::Gone,
        })
    }

    fn keyed(
        &mut self,
        live: &[Value],
        patch: &[Value],
        order: Option<&Array>,
        keys: &Keys<'_>,
        position: Position<'_>,
    ) -> Result<Outcome, PatchError> {
        let item = plan::item(position.ty);
        let entries = Entries::read(patch, keys, live)?;
        let order = order.filter(|order| !order.is_empty());
        let order = match order {
            Some(order) => Some(entries.check_order(patch, order, keys)?),
            None => None,
        };
        let mut index = Index::new(keys.len(), live.len() + entries.merging.len());
        let mut slots = Vec::with_capacity(live.len() + entries.merging.len());
        if entries.replace.is_some() {
            self.recorder.note(|| Rule::ReplacedByDirective);
            for entry in &entries.merging {
                let value =
                    clean(&entry.map.clone().into(), item, Taken::Literally, self.options.unknown_words)?;
                let content = value.map_or(Content::Gone, Content::Made);
                slots.push(Slot { content, standing: Standing { rank: NONE, place: NONE } });
                index.keys_mut().extend_from_slice(entries.keys_of(entry, keys));
                index.seal();
            }
        } else {
            for (place, value) in live.iter().enumerate() {
                let Value::Object(entry) = value else { return Err(mixed(live, patch)) };
                keys.read(entry, index.keys_mut())
                    .map_err(|error| error.under(PathElement::Index(place as i64)))?;
                index.seal();
                let standing = Standing { rank: NONE, place: place as u32 };
                slots.push(Slot { content: Content::Live(value), standing });
            }
            self.delete(&entries, keys, &index, &mut slots)?;
            self.merge(&entries, keys, &mut index, &mut slots, item)?;
        }
        if let Some(order) = &order {
            rank_by(order, &index, &mut slots, live.len());
        }
        if entries.replace.is_none() {
            share_places(&index, &mut slots);
        }
        let changed = |slot: &Slot<'_>| !matches!(slot.content, Content::Live(_));
        let standings = slots.iter().map(|slot| match slot.content {
            Content::Gone => None,
            _ => Some(slot.standing),
        });
        let arranged = arrange(standings, self.options.live_only);
        let moved = !arranged.iter().enumerate().all(|(at, number)| at == *number as usize);
        if moved {
            let source = if order.is_some() { OrderSource::Directive } else { OrderSource::PatchList };
            self.recorder.note(|| Rule::Ordered(source));
        }
        if !moved && slots.len() == live.len() && !slots.iter().any(changed) {
            return Ok(Outcome::Same);
        }
        let items: Array = arranged
            .iter()
            .map(|number| match std::mem::replace(&mut slots[*number as usize].content, Content::Gone) {
                Content::Live(value) => value.clone(),
                Content::Made(value) => value,
                Content::Gone => Value::Null,
            })
            .collect();
        Ok(Outcome::New(items.into()))
    }

    /// Takes out every live entry that a deletion matches.
    fn delete(
        &mut self,
        entries: &Entries<'_>,
        keys: &Keys<'_>,
        index: &Index<'_>,
        slots: &mut [Slot<'_>],
    ) -> Result<(), PatchError> {
        for entry in &entries.deleting {
            let wanted = entries.keys_of(entry, keys);
            if let Keys::Named(_) = keys {
                let (_, matches) = single(index, slots, wanted);
                if matches > 1 {
                    return Err(ambiguous(entry.map, keys, matches));
                }
            }
            let mut from = 0;
            while let Some(number) = index.find(wanted, from) {
                slots[number].content = Content::Gone;
                from = number + 1;
            }
            if from > 0 {
                self.recorder.enter(|| PathElement::Key(keys.of(entry.map)));
                self.recorder.note(|| Rule::RemovedByDirective);
                self.recorder.leave();
            }
        }
        Ok(())
    }

    /// Merges each entry into the first live one that has its keys, or lets it join the list.
    fn merge<'v>(
        &mut self,
        entries: &Entries<'v>,
        keys: &Keys<'_>,
        index: &mut Index<'v>,
        slots: &mut Vec<Slot<'v>>,
        item: TypeRef<'_>,
    ) -> Result<(), PatchError> {
        for (rank, entry) in entries.merging.iter().enumerate() {
            let wanted = entries.keys_of(entry, keys);
            let target = match keys {
                Keys::Named(_) => named_target(index, slots, wanted, entry.map, keys)?,
                _ => first(index, slots, wanted, rank as u32),
            };
            let Some(number) = target else {
                self.recorder.enter(|| PathElement::Key(keys.of(entry.map)));
                self.recorder.note(|| Rule::Added);
                self.recorder.leave();
                let value =
                    clean(&entry.map.clone().into(), item, Taken::Joining, self.options.unknown_words)
                        .map_err(|error| error.under(PathElement::Key(keys.of(entry.map))))?;
                index.keys_mut().extend_from_slice(wanted);
                index.seal();
                slots.push(Slot {
                    content: value.map_or(Content::Gone, Content::Made),
                    standing: Standing { rank: rank as u32, place: NONE },
                });
                continue;
            };
            let slot = &mut slots[number];
            slot.standing.rank = slot.standing.rank.min(rank as u32);
            let live = match &slot.content {
                Content::Live(Value::Object(live)) | Content::Made(Value::Object(live)) => live.clone(),
                _ => continue,
            };
            self.recorder.enter(|| PathElement::Key(keys.of(entry.map)));
            self.recorder.note(|| merged_by(keys));
            let outcome = self
                .object(&live, entry.map, item)
                .map_err(|error| error.under(PathElement::Key(keys.of(entry.map))))?;
            self.recorder.leave();
            match outcome {
                Outcome::Same => {}
                Outcome::Gone => slot.content = Content::Gone,
                Outcome::New(value) => slot.content = Content::Made(value),
            }
        }
        Ok(())
    }
}

impl<'v> Entries<'v> {
    fn read<'k: 'v>(patch: &'v [Value], keys: &Keys<'k>, live: &[Value]) -> Result<Entries<'v>, PatchError> {
        let mut entries = Entries {
            merging: Vec::with_capacity(patch.len()),
            deleting: Vec::new(),
            keys: Vec::with_capacity(patch.len() * keys.len()),
            replace: None,
        };
        for (at, value) in patch.iter().enumerate() {
            let Value::Object(map) = value else { return Err(mixed(live, patch)) };
            let directed = patch_value(map).map_err(|error| error.under(PathElement::Index(at as i64)))?;
            if directed == Some(PatchValue::Replace) {
                entries.replace = Some(entries.merging.len());
                continue;
            }
            let entry = Entry { map, keys: entries.keys.len() };
            match (keys.read(map, &mut entries.keys), directed) {
                (Ok(()), Some(_)) => entries.deleting.push(entry),
                (Ok(()), None) => entries.merging.push(entry),
                // No entry has a list or a map for a key, so there is nothing to delete.
                (Err(error), Some(_)) if matches!(error.fault(), Fault::KeyNotScalar { .. }) => {
                    entries.keys.truncate(entry.keys);
                }
                (Err(error), _) => return Err(error.under(PathElement::Index(at as i64))),
            }
        }
        Ok(entries)
    }

    fn keys_of(&self, entry: &Entry<'v>, keys: &Keys<'_>) -> &[Option<&'v Value>] {
        &self.keys[entry.keys..entry.keys + keys.len()]
    }

    /// Checks that the order covers the entries and has them in the same order.
    /// Returns the keys of the order.
    fn check_order<'w, 'k: 'w>(
        &self,
        patch: &[Value],
        order: &'w Array,
        keys: &Keys<'k>,
    ) -> Result<Index<'w>, PatchError> {
        let index = read_order(order, keys)?;
        if order.is_empty() {
            return Ok(index);
        }
        let mut at = 0;
        for (number, entry) in self.merging.iter().enumerate() {
            self.check_replace(number, at, patch, order)?;
            match index.find(self.keys_of(entry, keys), at) {
                Some(found) => at = found + 1,
                None => {
                    self.check_first_occurrences(patch, order, keys, &index)?;
                    return Ok(index);
                }
            }
        }
        self.check_replace(self.merging.len(), at, patch, order)?;
        Ok(index)
    }

    /// Checks that the entry that replaces the list, if it stands before the merging entry of a number, comes
    /// before the end of the order: as recorded, it counts as one more entry there.
    fn check_replace(
        &self,
        number: usize,
        at: usize,
        patch: &[Value],
        order: &Array,
    ) -> Result<(), PatchError> {
        if self.replace != Some(number) || at < order.len() {
            return Ok(());
        }
        let entry = Value::object([(super::directive::PATCH, Value::from("replace"))]);
        Err(Fault::OrderMismatch { patch: Array::from(patch.to_vec()), order: order.clone(), entry }.into())
    }

    /// Checks the order again for entries that repeat: then the first of each counts.
    fn check_first_occurrences(
        &self,
        patch: &[Value],
        order: &Array,
        keys: &Keys<'_>,
        index: &Index<'_>,
    ) -> Result<(), PatchError> {
        let mut last = 0;
        let mut seen = vec![false; order.len()];
        for entry in &self.merging {
            let place = index.find(self.keys_of(entry, keys), 0);
            match place {
                Some(place) if seen[place] => {}
                Some(place) if place >= last => {
                    seen[place] = true;
                    last = place;
                }
                _ => {
                    return Err(Fault::OrderMismatch {
                        patch: Array::from(patch.to_vec()),
                        order: order.clone(),
                        entry: keys.of(entry.map).into(),
                    }
                    .into());
                }
            }
        }
        Ok(())
    }
}

/// Reads the keys of the entries of an order list.
pub(super) fn read_order<'v, 'k: 'v>(order: &'v [Value], keys: &Keys<'k>) -> Result<Index<'v>, PatchError> {
    let mut index = Index::new(keys.len(), order.len());
    for (at, value) in order.iter().enumerate() {
        let Value::Object(entry) = value else {
            let what = Text::new_static("an entry of $setElementOrder");
            return Err(Fault::WrongKind { what, expected: Kind::Object, found: value.clone() }.into());
        };
        keys.read(entry, index.keys_mut()).map_err(|error| error.under(PathElement::Index(at as i64)))?;
        index.seal();
    }
    Ok(index)
}

/// Ranks the entries by an order list. Entries that join stand, for the live-only ones, in the places that
/// deletions have freed at the end of the live list, and nowhere else.
fn rank_by(order: &Index<'_>, index: &Index<'_>, slots: &mut [Slot<'_>], places: usize) {
    let mut place = 0;
    for (number, slot) in slots.iter_mut().enumerate() {
        if matches!(slot.content, Content::Gone) {
            continue;
        }
        let standing = &mut slot.standing;
        standing.rank =
            order.find_like(index, number, place as usize).map_or(NONE, |rank| order.first_like(rank) as u32);
        standing.place = if place < places as u32 { place } else { NONE };
        place += 1;
    }
}

/// Gives entries that share their keys the place of the first of them.
fn share_places(index: &Index<'_>, slots: &mut [Slot<'_>]) {
    for number in 1..slots.len() {
        if slots[number].standing.place == NONE || matches!(slots[number].content, Content::Gone) {
            continue;
        }
        let first = index.first_like(number);
        if first < number && !matches!(slots[first].content, Content::Gone) {
            slots[number].standing.place = slots[first].standing.place;
        }
    }
}

/// Returns the first entry that has these keys, and ranks every one that has them.
fn first(index: &Index<'_>, slots: &mut [Slot<'_>], wanted: &[Option<&Value>], rank: u32) -> Option<usize> {
    let mut target = None;
    let mut from = 0;
    while let Some(number) = index.find(wanted, from) {
        let slot = &mut slots[number];
        if !matches!(slot.content, Content::Gone) {
            target = target.or(Some(number));
            slot.standing.rank = slot.standing.rank.min(rank);
        }
        from = number + 1;
    }
    target
}

/// Whether an entry only says what to delete.
fn deletes(entry: &Value) -> bool {
    let directed = entry.as_object().and_then(|map| patch_value(map).ok().flatten());
    directed == Some(PatchValue::Delete)
}

fn merged_by(keys: &Keys<'_>) -> Rule {
    let source = match keys {
        Keys::One(_) => KeySource::MergeKey,
        Keys::Declared(_) => KeySource::ListKeys,
        Keys::Named(_) => KeySource::Directive,
    };
    Rule::MergedByKey(source, keys.names().map(Text::from).collect())
}

#[cold]
fn mixed(live: &[Value], patch: &[Value]) -> PatchError {
    Fault::MixedItems { live: Array::from(live.to_vec()), patch: Array::from(patch.to_vec()) }.into()
}
