//! The patch of a list whose entries are matched by key: what changes in each entry, what is added and deleted, and
//! the order of the whole. Entries with equal keys cannot be distinguished by key; such lists are left to
//! [`repeated_keys`](super::repeated_keys).

use super::{Calculator, ListPatch, Sides};
use crate::{
    PatchError,
    strategic::{
        Keys,
        diff::{
            client_keys::{with_keys, with_keys_in_map},
            entry_keys::{self, EntryKeys},
            pairing::{Lists, Pairing},
            unchanged::can_skip_map,
        },
        directive::PATCH,
        key_index::fingerprint,
        merge_keys::MergeKeys,
        patch_meta::{self, PatchMeta},
    },
};
use tenure_fields::PathElement;
use tenure_profile::Improvement;
use tenure_value::{Array, Value};

impl Calculator<'_> {
    pub(super) fn keyed_list(
        &mut self,
        sides: Sides<'_, Array>,
        modified: &Array,
        keys: MergeKeys<'_>,
        meta: PatchMeta<'_>,
    ) -> Result<ListPatch, PatchError> {
        let lists = Lists {
            modified,
            original: sides.original.map_or(&[], Array::items),
            live: sides.live.map_or(&[], Array::items),
            two_way: sides.same(),
        };
        let keys = EntryKeys::new(self.requested_keys(keys, meta), meta, lists.two_way);
        if lists.original.is_empty() && lists.live.is_empty() {
            return Ok(self.new_list(sides.live, modified, &keys, meta));
        }
        if !self.options.profile.has(Improvement::KeepRepeatedEntries) && self.any_repeats(lists, &keys)? {
            return self.recorded_list(lists, sides.live.is_none(), &keys, meta);
        }
        let removals = self.removals;
        let pairing = match lists.are_aligned(&keys.keys) {
            true => Some(Pairing::Aligned),
            false => lists.pair(&keys)?,
        };
        if let Some(pairing) = pairing {
            let patch = self.matched(lists, &pairing, &keys, meta)?;
            if patch.is_empty() || !self.repeats(modified, &keys)? {
                return Ok(patch);
            }
            self.removals = removals;
        }
        self.repeated_keys(sides, modified, &keys, meta)
    }

    /// Returns the recommended keys of a list without a merge strategy, if they are requested and identify every
    /// entry.
    pub(super) fn client_keys<'s>(
        &self,
        sides: Sides<'_, Array>,
        modified: &Array,
        meta: PatchMeta<'s>,
    ) -> Option<MergeKeys<'s>> {
        if self.options.keys != Keys::Recommended {
            return None;
        }
        let keys = meta.recommended_keys()?;
        let lists = [Some(modified), sides.original, sides.live];
        entry_keys::identify(&keys, lists.into_iter().flatten().map(Array::items)).then_some(keys)
    }

    fn requested_keys<'s>(&self, keys: MergeKeys<'s>, meta: PatchMeta<'s>) -> MergeKeys<'s> {
        match (self.options.keys, &keys) {
            (Keys::Recommended, MergeKeys::One { .. }) => meta.recommended_keys().unwrap_or(keys),
            _ => keys,
        }
    }

    fn any_repeats(&mut self, lists: Lists<'_>, keys: &EntryKeys<'_>) -> Result<bool, PatchError> {
        Ok(self.repeats(lists.modified, keys)?
            || self.repeats(lists.live, keys)?
            || !lists.two_way && self.repeats(lists.original, keys)?)
    }

    /// Whether two entries of a list have equal keys.
    fn repeats(&mut self, list: &[Value], keys: &EntryKeys<'_>) -> Result<bool, PatchError> {
        if let MergeKeys::One { name, .. } = keys.keys {
            self.fingerprints.clear();
            self.fingerprints.extend(list.iter().map(|entry| fingerprint(&[entry.get(name)])));
            self.fingerprints.sort_unstable();
            if self.fingerprints.windows(2).all(|pair| pair[0] != pair[1]) {
                return Ok(false);
            }
        }
        Ok(keys.index(list, list)?.repeats())
    }

    /// Writes a list whole. Merged into an empty one, entries with equal keys would become one.
    fn new_list(
        &mut self,
        live: Option<&Array>,
        modified: &Array,
        keys: &EntryKeys<'_>,
        meta: PatchMeta<'_>,
    ) -> ListPatch {
        let keeps_repeated = self.options.profile.has(Improvement::KeepRepeatedEntries);
        if live.is_some() && keeps_repeated && self.repeats(modified, keys).unwrap_or(false) {
            return replacement(modified.to_vec());
        }
        let items = match with_keys(&modified.clone().into(), Some(meta), self.options) {
            Value::Array(items) => items.to_vec(),
            _ => modified.to_vec(),
        };
        ListPatch { items, new: live.is_none(), ..ListPatch::default() }
    }

    /// Writes the patch of a list in which every key occurs once.
    fn matched(
        &mut self,
        lists: Lists<'_>,
        pairing: &Pairing,
        keys: &EntryKeys<'_>,
        meta: PatchMeta<'_>,
    ) -> Result<ListPatch, PatchError> {
        let item = patch_meta::item_type(meta.ty);
        let mut patch = ListPatch::default();
        let removals = self.removals;
        for (at, entry) in lists.modified.iter().enumerate() {
            let Value::Object(entry) = entry else { continue };
            let found = pairing.of(at);
            let in_live = lists.live_entry(found);
            let in_original = if lists.two_way { in_live } else { lists.original_entry(found) };
            if in_live.is_none() && in_original.is_none() {
                patch.items.push(keys.added(&with_keys_in_map(entry, item, self.options)));
                continue;
            }
            let sides = Sides { original: in_original, live: in_live };
            if sides.share(entry) && can_skip_map(entry, item, self.options) {
                continue;
            }
            let begun = self
                .object(sides, entry, item, meta.retains_keys())
                .map_err(|error| error.under(PathElement::Key(keys.keys.of(entry))))?;
            match in_live {
                None => {
                    let below = self.finish(begun).unwrap_or_else(|| entry.clone());
                    patch.items.push(keys.added(&below));
                }
                Some(live) => {
                    if keys.are_sent() {
                        // Keys that differ only by their defaults stay as the live entry has them.
                        keys.keys.names().for_each(|name| self.take_back(&begun, name));
                    }
                    let changes = self.finish_with(begun, keys.identity(live));
                    patch.items.extend(changes.map(Value::Object));
                }
            }
        }
        if let Pairing::Found { gone, .. } = pairing {
            let deletion = |(original, live): &(usize, Option<usize>)| {
                let entry = live.map_or(lists.original.get(*original), |at| lists.live.get(at));
                entry.and_then(Value::as_object).map(|entry| keys.deletion(entry))
            };
            patch.items.extend(gone.iter().filter_map(deletion));
            self.removals += gone.len();
        }
        let removed = self.removals > removals;
        if removed || !lists.live.is_empty() && (!patch.items.is_empty() || pairing.moves(lists)) {
            let identify = |(at, entry): (usize, &Value)| {
                let live = lists.live_entry(pairing.of(at)).filter(|_| keys.are_sent());
                Some(Value::Object(keys.keys.of(live.or(entry.as_object())?)))
            };
            patch.order.reserve_exact(lists.modified.len());
            patch.order.extend(lists.modified.iter().enumerate().filter_map(identify));
        }
        Ok(patch)
    }
}

/// Returns the list that a patch writes to replace a live one.
pub(super) fn replacement(entries: Vec<Value>) -> ListPatch {
    let marker = Value::object([(PATCH, Value::from("replace"))]);
    ListPatch { items: entries.into_iter().chain([marker]).collect(), new: true, ..ListPatch::default() }
}
