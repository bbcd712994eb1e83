//! The entries of a keyed list in a patch: which merge, which delete, and whether they agree with `$setElementOrder`.

use super::super::{
    directive::{PATCH, PatchValue, patch_value},
    key_index::{InOrder, KeyIndex, Numbers},
    merge_keys::MergeKeys,
};
use crate::{ErrorKind, PatchError};
use tenure_fields::PathElement;
use tenure_profile::{Improvement, Profile};
use tenure_value::{Array, Kind, Object, Text, Value};

/// An entry of the patch.
pub(super) struct PatchEntry<'v> {
    pub(super) map: &'v Object,
    /// Whether it replaces the live entry instead of merging into it.
    pub(super) replaces: bool,
    /// Where its keys start in [`PatchEntries::keys`].
    keys: usize,
}

/// The list of the patch.
pub(super) struct PatchEntries<'v> {
    pub(super) merging: Vec<PatchEntry<'v>>,
    pub(super) deleting: Vec<PatchEntry<'v>>,
    keys: Vec<Option<&'v Value>>,
    /// How many merging entries precede the one that says that this list replaces the live one.
    pub(super) replace: Option<usize>,
}

impl<'v> PatchEntries<'v> {
    pub(super) fn read<'k: 'v>(
        patch: &'v [Value],
        keys: &MergeKeys<'k>,
        live: &[Value],
        profile: Profile,
    ) -> Result<PatchEntries<'v>, PatchError> {
        let mut entries = PatchEntries {
            merging: Vec::with_capacity(patch.len()),
            deleting: Vec::new(),
            keys: Vec::with_capacity(patch.len() * keys.len()),
            replace: None,
        };
        for (at, value) in patch.iter().enumerate() {
            let Value::Object(map) = value else { return Err(mixed_items(live, patch)) };
            let directive = patch_value(map).map_err(|error| error.under(PathElement::Index(at as i64)))?;
            let replaces = directive == Some(PatchValue::Replace);
            if replaces && !replaces_entry(map, keys, profile) {
                entries.replace = Some(entries.merging.len());
                continue;
            }
            let entry = PatchEntry { map, replaces, keys: entries.keys.len() };
            let deletes = directive == Some(PatchValue::Delete);
            match keys.read(map, &mut entries.keys) {
                Ok(()) if deletes => entries.deleting.push(entry),
                Ok(()) => entries.merging.push(entry),
                // No entry has a list or a map as its key, so there is nothing to delete.
                Err(error) if deletes && matches!(error.kind(), ErrorKind::KeyNotScalar { .. }) => {
                    entries.keys.truncate(entry.keys);
                }
                Err(error) => return Err(error.under(PathElement::Index(at as i64))),
            }
        }
        Ok(entries)
    }

    pub(super) fn keys_of(&self, entry: &PatchEntry<'v>, keys: &MergeKeys<'_>) -> &[Option<&'v Value>] {
        &self.keys[entry.keys..entry.keys + keys.len()]
    }

    /// Checks that the order covers the entries and has them in the same order. Returns the keys of the order.
    pub(super) fn check_order<'w, 'k: 'w>(
        &self,
        patch: &[Value],
        order: &'w Array,
        keys: &MergeKeys<'k>,
        profile: Profile,
    ) -> Result<KeyIndex<'w>, PatchError> {
        let index = index_order(order, keys)?;
        if order.is_empty() {
            return Ok(index);
        }
        let mut search = InOrder::new(&index);
        for (number, entry) in self.merging.iter().enumerate() {
            self.check_replace(number, search.position(), patch, order)?;
            if !search.advance(self.keys_of(entry, keys)) {
                if !profile.has(Improvement::KeepRepeatedEntries) {
                    return Err(order_mismatch(patch, order, keys.of(entry.map).into()));
                }
                self.check_first_occurrences(patch, order, keys, &index)?;
                return Ok(index);
            }
        }
        self.check_replace(self.merging.len(), search.position(), patch, order)?;
        Ok(index)
    }

    /// Checks that the entry that replaces the list comes before the end of the order, if it precedes the merging
    /// entry with this number: as recorded, it counts as one more entry there.
    fn check_replace(
        &self,
        number: usize,
        position: usize,
        patch: &[Value],
        order: &Array,
    ) -> Result<(), PatchError> {
        if self.replace != Some(number) || position < order.len() {
            return Ok(());
        }
        Err(order_mismatch(patch, order, Value::object([(PATCH, Value::from("replace"))])))
    }

    /// Checks the order of entries with equal keys: the first of each counts.
    fn check_first_occurrences(
        &self,
        patch: &[Value],
        order: &Array,
        keys: &MergeKeys<'_>,
        index: &KeyIndex<'_>,
    ) -> Result<(), PatchError> {
        let mut last = 0;
        let mut seen = vec![false; order.len()];
        for entry in &self.merging {
            match index.find(self.keys_of(entry, keys)) {
                Some(position) if seen[position] => {}
                Some(position) if position >= last => {
                    seen[position] = true;
                    last = position;
                }
                _ => return Err(order_mismatch(patch, order, keys.of(entry.map).into())),
            }
        }
        Ok(())
    }
}

/// Whether `$patch: replace` in an entry is about the entry: a bare one is about the list.
fn replaces_entry(map: &Object, keys: &MergeKeys<'_>, profile: Profile) -> bool {
    profile.has(Improvement::ReplaceMarkedEntries)
        && map.len() > 1
        && keys.names().next().is_some_and(|key| map.contains(key))
}

/// Whether an entry of the patch deletes a live one.
pub(super) fn is_deletion(entry: &Value) -> bool {
    let directive = entry.as_object().and_then(|map| patch_value(map).ok().flatten());
    directive == Some(PatchValue::Delete)
}

/// Reads the keys of the entries of an order list.
pub(super) fn index_order<'v, 'k: 'v>(
    order: &'v [Value],
    keys: &MergeKeys<'k>,
) -> Result<KeyIndex<'v>, PatchError> {
    let mut index = KeyIndex::new(keys.len(), order.len(), numbers_of(keys));
    for (at, value) in order.iter().enumerate() {
        let Value::Object(entry) = value else {
            let what = Text::new_static("an entry of $setElementOrder");
            return Err(ErrorKind::WrongKind { what, expected: Kind::Object, found: value.clone() }.into());
        };
        keys.read(entry, index.keys_mut()).map_err(|error| error.under(PathElement::Index(at as i64)))?;
        index.seal();
    }
    Ok(index)
}

/// Returns how numbers in keys are compared: merge keys as recorded, keys that a client sends by amount.
pub(super) fn numbers_of(keys: &MergeKeys<'_>) -> Numbers {
    match keys {
        MergeKeys::Named(_) => Numbers::ByAmount,
        MergeKeys::One { .. } | MergeKeys::Declared(_) => Numbers::Exact,
    }
}

#[cold]
pub(super) fn mixed_items(live: &[Value], patch: &[Value]) -> PatchError {
    ErrorKind::MixedItems { live: Array::from(live.to_vec()), patch: Array::from(patch.to_vec()) }.into()
}

#[cold]
fn order_mismatch(patch: &[Value], order: &Array, entry: Value) -> PatchError {
    ErrorKind::OrderMismatch { patch: Array::from(patch.to_vec()), order: order.clone(), entry }.into()
}
