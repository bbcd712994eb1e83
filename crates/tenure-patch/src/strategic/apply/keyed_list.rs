//! Merging lists whose entries are matched by key. Deletions come first, wherever they are in the patch; then each
//! entry merges into the live entry with its keys or joins the list; then the list is ordered.

use super::{
    Merged, Merger,
    client_keys::{NullKeys, ambiguous},
    new_value::{Context, new_value},
    patch_entries::{PatchEntries, PatchEntry, mixed_items, numbers_of},
};
use crate::{
    ErrorKind, PatchError,
    strategic::{
        LiveOnly,
        directive::PATCH_MERGE_KEY,
        key_index::KeyIndex,
        merge_keys::{MergeKeys, no_key},
        order::{ItemPosition, NONE, arrange},
        patch_meta::{self, PatchMeta},
        trace::{KeySource, OrderSource, PatchRule, Recorder},
    },
};
use tenure_fields::PathElement;
use tenure_profile::Improvement;
use tenure_schema::TypeRef;
use tenure_value::{Array, Object, Text, Value};

/// The list being built.
struct Slots<'v> {
    /// The keys of the slots.
    index: KeyIndex<'v>,
    slots: Vec<Slot<'v>>,
    /// The length of the live list.
    live: usize,
}

/// One entry of the list being built.
struct Slot<'v> {
    content: Content<'v>,
    standing: ItemPosition,
    /// For the first slot of each key, the one that entries of the patch merge into, once known.
    target: u32,
}

enum Content<'v> {
    Live(&'v Value),
    Made(Value),
    Gone,
}

impl<R: Recorder> Merger<'_, R> {
    pub(super) fn keyed_list(
        &mut self,
        live: &[Value],
        patch: &[Value],
        order: Option<&Array>,
        keys: &MergeKeys<'_>,
        meta: PatchMeta<'_>,
    ) -> Result<Merged, PatchError> {
        let item = patch_meta::item_type(meta.ty);
        let profile = self.options.profile;
        let entries = PatchEntries::read(patch, keys, live, profile)?;
        let order = match order.filter(|order| !order.is_empty()) {
            Some(order) => Some(entries.check_order(patch, order, keys, profile)?),
            None => None,
        };
        let mut list = Slots::new(keys, live.len(), entries.merging.len());
        if entries.replace.is_some() {
            self.recorder.note(|| PatchRule::ReplacedByDirective);
            for entry in &entries.merging {
                let value = new_value(&entry.map.clone().into(), item, Context::Replacing, profile)?;
                list.join(entries.keys_of(entry, keys), value, NONE);
            }
        } else {
            list.read_live(live, patch, keys)?;
            self.delete_entries(&entries, keys, &mut list)?;
            self.merge_entries(&entries, keys, &mut list, item)?;
        }
        if let Some(order) = &order {
            list.rank_by(order, live.len());
        }
        if entries.replace.is_none() {
            list.share_places();
        }
        let (arranged, moved) = list.arrange(self.options.live_only);
        if moved {
            let source = if order.is_some() { OrderSource::Directive } else { OrderSource::PatchList };
            self.recorder.note(|| PatchRule::Ordered(source));
        }
        Ok(match !moved && list.is_unchanged() {
            true => Merged::Same,
            false => Merged::New(list.take(&arranged).into()),
        })
    }

    /// Removes every live entry that a deletion matches.
    fn delete_entries(
        &mut self,
        entries: &PatchEntries<'_>,
        keys: &MergeKeys<'_>,
        list: &mut Slots<'_>,
    ) -> Result<(), PatchError> {
        for entry in &entries.deleting {
            let Some(first) = list.index.find(entries.keys_of(entry, keys)) else { continue };
            if matches!(keys, MergeKeys::Named(_)) {
                let matches = list.present(first).count();
                if matches > 1 {
                    return Err(ambiguous(entry.map, keys, matches));
                }
            }
            list.delete(first);
            self.recorder.enter(|| PathElement::Key(keys.of(entry.map)));
            self.recorder.note(|| PatchRule::RemovedByDirective);
            self.recorder.leave();
        }
        Ok(())
    }

    /// Merges each entry into the first live one with its keys, or adds it to the list.
    fn merge_entries<'v>(
        &mut self,
        entries: &PatchEntries<'v>,
        keys: &MergeKeys<'_>,
        list: &mut Slots<'v>,
        item: TypeRef<'_>,
    ) -> Result<(), PatchError> {
        let mut null_keys = NullKeys::default();
        for (rank, entry) in entries.merging.iter().enumerate() {
            let wanted = entries.keys_of(entry, keys);
            let target = match keys {
                MergeKeys::Named(_) => {
                    let ambiguous = self.options.profile.has(Improvement::RejectAmbiguousNullKeys);
                    list.named_target(wanted, entry.map, keys, &mut null_keys, ambiguous)?
                }
                _ => list.target(wanted, rank as u32),
            };
            self.recorder.enter(|| PathElement::Key(keys.of(entry.map)));
            let content = self
                .merge_entry(entry, target.map(|number| &list.slots[number].content), keys, item)
                .map_err(|error| error.under(PathElement::Key(keys.of(entry.map))))?;
            self.recorder.leave();
            match (target, content) {
                (Some(number), content) => {
                    let slot = &mut list.slots[number];
                    slot.standing.rank = slot.standing.rank.min(rank as u32);
                    match content {
                        Merged::Same => {}
                        Merged::Gone => slot.content = Content::Gone,
                        Merged::New(value) => slot.content = Content::Made(value),
                    }
                }
                (None, Merged::New(value)) => list.join(wanted, Some(value), rank as u32),
                (None, _) => list.join(wanted, None, rank as u32),
            }
        }
        Ok(())
    }

    fn merge_entry(
        &mut self,
        entry: &PatchEntry<'_>,
        live: Option<&Content<'_>>,
        keys: &MergeKeys<'_>,
        item: TypeRef<'_>,
    ) -> Result<Merged, PatchError> {
        let profile = self.options.profile;
        let stripped = match keys {
            MergeKeys::Named(_) if !profile.has(Improvement::DropDirectives) => {
                Some(entry.map.without(PATCH_MERGE_KEY))
            }
            _ => None,
        };
        let map = stripped.as_ref().unwrap_or(entry.map);
        let live = match live {
            Some(Content::Live(Value::Object(live))) => live,
            Some(Content::Made(Value::Object(live))) => live,
            Some(_) => return Ok(Merged::Same),
            None => {
                self.recorder.note(|| PatchRule::Added);
                let context = if entry.replaces { Context::Replacing } else { Context::Joining };
                let value = new_value(&map.clone().into(), item, context, profile)?;
                return Ok(value.map_or(Merged::Gone, Merged::New));
            }
        };
        if entry.replaces {
            self.recorder.note(|| PatchRule::ReplacedByDirective);
            return self.replace(&live.clone().into(), &map.clone().into(), item);
        }
        self.recorder.note(|| merged_by(keys));
        if let MergeKeys::One { name, nullable: true } = keys
            && map.get(*name).is_some_and(Value::is_null)
        {
            // As recorded: merging removes the key, and the entry can no longer be ordered.
            return Err(no_key(map, name));
        }
        self.object(live, map, item)
    }
}

impl<'v> Slots<'v> {
    fn new(keys: &MergeKeys<'_>, live: usize, patched: usize) -> Slots<'v> {
        let expected = live + patched;
        let index = KeyIndex::new(keys.len(), expected, numbers_of(keys));
        Slots { index, slots: Vec::with_capacity(expected), live }
    }

    fn read_live<'k: 'v>(
        &mut self,
        live: &'v [Value],
        patch: &[Value],
        keys: &MergeKeys<'k>,
    ) -> Result<(), PatchError> {
        for (place, value) in live.iter().enumerate() {
            let Value::Object(entry) = value else { return Err(mixed_items(live, patch)) };
            keys.read(entry, self.index.keys_mut())
                .map_err(|error| error.under(PathElement::Index(place as i64)))?;
            self.index.seal();
            let standing = ItemPosition { rank: NONE, place: place as u32 };
            self.slots.push(Slot { content: Content::Live(value), standing, target: NONE });
        }
        Ok(())
    }

    /// Adds an entry of the patch.
    fn join(&mut self, keys: &[Option<&'v Value>], value: Option<Value>, rank: u32) {
        self.index.keys_mut().extend_from_slice(keys);
        self.index.seal();
        let content = value.map_or(Content::Gone, Content::Made);
        let standing = ItemPosition { rank, place: NONE };
        self.slots.push(Slot { content, standing, target: NONE });
    }

    fn is_present(&self, number: usize) -> bool {
        !matches!(self.slots[number].content, Content::Gone)
    }

    /// Returns the present entries with the keys of a first one.
    fn present(&self, first: usize) -> impl Iterator<Item = usize> {
        self.index.all_like(first).filter(|number| self.is_present(*number))
    }

    /// Removes all entries with the keys of a first one.
    fn delete(&mut self, first: usize) {
        // Entries with equal keys are deleted together.
        if self.is_present(first) {
            for number in self.index.all_like(first) {
                self.slots[number].content = Content::Gone;
            }
        }
    }

    /// Returns the entry that an entry of the patch merges into. All entries with its keys get its rank.
    fn target(&mut self, wanted: &[Option<&Value>], rank: u32) -> Option<usize> {
        let first = self.index.find(wanted)?;
        if !self.index.repeats() {
            return self.is_present(first).then_some(first);
        }
        let known = self.slots[first].target;
        if known != NONE {
            return Some(known as usize);
        }
        let mut target = None;
        for number in self.index.all_like(first) {
            let slot = &mut self.slots[number];
            if !matches!(slot.content, Content::Gone) {
                target = target.or(Some(number));
                slot.standing.rank = slot.standing.rank.min(rank);
            }
        }
        self.slots[first].target = target.map_or(NONE, |target| target as u32);
        target
    }

    /// Returns the one entry that an entry with `$patchMergeKey` identifies, or `None` if it is new.
    fn named_target(
        &self,
        wanted: &[Option<&'v Value>],
        entry: &Object,
        keys: &MergeKeys<'_>,
        null_keys: &mut NullKeys<'v>,
        reject_ambiguous: bool,
    ) -> Result<Option<usize>, PatchError> {
        let single = |wanted: &[Option<&Value>]| match self.index.find(wanted) {
            Some(first) => {
                let mut present = self.present(first);
                (present.next(), present.count())
            }
            None => (None, 0),
        };
        let nulls = wanted.iter().any(|value| value.is_some_and(Value::is_null));
        let (target, others) = match nulls {
            true => null_keys.find(wanted, &self.index, |number| self.is_present(number)),
            false => single(wanted),
        };
        if others > 0 && (reject_ambiguous || !nulls) || nulls && target.is_none() {
            return Err(ambiguous(entry, keys, others + usize::from(target.is_some())));
        }
        let Some(number) = target else { return Ok(None) };
        if self.slots[number].standing.rank != NONE {
            return Err(ErrorKind::NotUnique { keys: keys.of(entry) }.into());
        }
        if nulls {
            let left: Vec<_> = wanted.iter().map(|value| value.filter(|value| !value.is_null())).collect();
            if let (Some(other), _) = single(&left)
                && other != number
            {
                return Err(ErrorKind::NotUnique { keys: keys.of(entry) }.into());
            }
        }
        Ok(target)
    }

    /// Ranks the entries by an order list. For live-only entries, entries that join stand in the positions that
    /// deletions have freed at the end of the live list.
    fn rank_by(&mut self, order: &KeyIndex<'_>, places: usize) {
        let mut place = 0;
        for (number, slot) in self.slots.iter_mut().enumerate() {
            if matches!(slot.content, Content::Gone) {
                continue;
            }
            slot.standing.rank =
                order.find_like(&self.index, number, place as usize).map_or(NONE, |rank| rank as u32);
            slot.standing.place = if place < places as u32 { place } else { NONE };
            place += 1;
        }
    }

    /// Gives entries with equal keys the position of the first of them.
    fn share_places(&mut self) {
        if !self.index.repeats() {
            return;
        }
        for number in 1..self.slots.len() {
            let first = self.index.first_like(number);
            if first < number
                && self.slots[number].standing.place != NONE
                && self.is_present(number)
                && self.is_present(first)
            {
                self.slots[number].standing.place = self.slots[first].standing.place;
            }
        }
    }

    /// Returns the slots in their order, and whether that differs from the order in which they are.
    fn arrange(&self, live_only: LiveOnly) -> (Vec<u32>, bool) {
        let standings = self.slots.iter().map(|slot| match slot.content {
            Content::Gone => None,
            _ => Some(slot.standing),
        });
        let arranged = arrange(standings, live_only);
        let moved = !arranged.iter().enumerate().all(|(at, number)| at == *number as usize);
        (arranged, moved)
    }

    fn is_unchanged(&self) -> bool {
        self.slots.len() == self.live
            && self.slots.iter().all(|slot| matches!(slot.content, Content::Live(_)))
    }

    /// Returns the list in this order.
    fn take(mut self, arranged: &[u32]) -> Array {
        let content = |number: &u32| match std::mem::replace(
            &mut self.slots[*number as usize].content,
            Content::Gone,
        ) {
            Content::Live(value) => value.clone(),
            Content::Made(value) => value,
            Content::Gone => Value::Null,
        };
        arranged.iter().map(content).collect()
    }
}

fn merged_by(keys: &MergeKeys<'_>) -> PatchRule {
    let source = match keys {
        MergeKeys::One { .. } => KeySource::MergeKey,
        MergeKeys::Declared(_) => KeySource::ListKeys,
        MergeKeys::Named(_) => KeySource::Directive,
    };
    PatchRule::MergedByKey(source, keys.names().map(Text::from).collect())
}
