//! Keys that a patch sends with its entries in `$patchMergeKey`, and the entries that they identify. Such keys must
//! identify one entry: a patch that could mean several is refused.

use super::patch_entries::index_order;
use crate::{
    ErrorKind, PatchError,
    strategic::{
        ApplyOptions,
        directive::{PATCH_MERGE_KEY, PatchValue, patch_value},
        key_index::KeyIndex,
        merge_keys::MergeKeys,
        patch_meta::PatchMeta,
    },
};
use std::collections::HashMap;
use tenure_fields::PathElement;
use tenure_profile::{Improvement, Profile};
use tenure_value::{Array, Object, Value};

/// The most keys that `$patchMergeKey` may name.
const MOST_KEYS: usize = 8;

/// Whether the entries of a list carry `$patchMergeKey`.
pub(super) fn are_sent(list: &[Value]) -> bool {
    list.iter().any(|entry| entry.get(PATCH_MERGE_KEY).is_some())
}

/// Reads `$patchMergeKey`, which all entries carry or none.
pub(super) fn read<'v>(
    patch: &'v [Value],
    meta: PatchMeta<'_>,
    options: &ApplyOptions,
) -> Result<Option<Vec<&'v str>>, PatchError> {
    if !options.profile.has(Improvement::ClientMergeKeys) || !are_sent(patch) {
        return Ok(None);
    }
    let profile = options.profile;
    let sent = |entry: &'v Value| entry.get(PATCH_MERGE_KEY).unwrap_or(&Value::Null);
    let first = patch.iter().map(sent).find(|keys| !keys.is_null()).unwrap_or(&Value::Null);
    for (at, entry) in patch.iter().enumerate() {
        let other = sent(entry);
        if other != first && !(other.is_null() && marks_list(entry, profile)) {
            let kind = ErrorKind::MergeKeysDisagree { first: first.clone(), other: other.clone() };
            return Err(PatchError::from(kind).under(PathElement::Index(at as i64)));
        }
    }
    let bad = |right: &str| ErrorKind::BadMergeKeys { value: first.clone(), right: right.into() };
    let mut names: Vec<&str> = Vec::new();
    for name in first.as_array().ok_or_else(|| bad("it must be a list of field names"))? {
        let name = name.as_str().ok_or_else(|| bad("every key must be a field name"))?;
        if !names.contains(&name) {
            names.push(name);
        }
        if names.len() > MOST_KEYS {
            return Err(bad(&format!("it must name at most {MOST_KEYS} keys")).into());
        }
    }
    if names.is_empty() {
        return Err(bad("it must name at least one key").into());
    }
    if let Some(default) = meta.default_key() {
        match names.iter().position(|name| *name == default) {
            Some(at) => names[..=at].rotate_right(1),
            None => return Err(bad(&format!("it must contain {default:?}, the key of this list")).into()),
        }
    }
    Ok(Some(names))
}

/// Whether an entry says that the list replaces the live one.
fn marks_list(entry: &Value, profile: Profile) -> bool {
    let Value::Object(map) = entry else { return false };
    matches!(patch_value(map), Ok(Some(PatchValue::Replace)))
        && (map.len() == 1 || !profile.has(Improvement::ReplaceMarkedEntries))
}

/// Returns the keys by which an order list without a patch list is read: the recommended ones if the merge key
/// repeats and they tell the entries of the order apart.
pub(super) fn for_order<'s>(
    order: &Array,
    live: &[Value],
    keys: MergeKeys<'s>,
    meta: PatchMeta<'s>,
) -> MergeKeys<'s> {
    let repeats = |list: &[Value], keys: &MergeKeys<'s>| match index_order(list, keys) {
        Ok(index) => index.repeats(),
        Err(_) => true,
    };
    let Some(recommended) = meta.recommended_keys() else { return keys };
    let sends_more =
        order.iter().any(|entry| recommended.names().skip(1).any(|name| entry.get(name).is_some()));
    if sends_more && (repeats(order, &keys) || repeats(live, &keys)) && !repeats(order, &recommended) {
        return recommended;
    }
    keys
}

/// The keys of an entry that are not `null` in the patch.
type OtherKeys<'v> = Vec<Option<&'v Value>>;

/// Finds entries by keys of which some are `null`. A `null` removes the key, so it matches the entry that has the
/// key, or, where the patch has been applied before, the one that does not.
#[derive(Default)]
pub(super) struct NullKeys<'v> {
    /// By the set of keys that are `null`.
    indexes: HashMap<u8, NullKeyIndex<'v>>,
}

#[derive(Default)]
struct NullKeyIndex<'v> {
    /// How many entries have been read.
    read: usize,
    /// By the other keys, and by whether an entry has all of the null keys or none: the first such entry and how
    /// many more there are.
    entries: HashMap<(OtherKeys<'v>, bool), (usize, usize)>,
}

impl<'v> NullKeys<'v> {
    /// Returns the first entry that the keys match, and how many more they match.
    pub(super) fn find(
        &mut self,
        wanted: &[Option<&'v Value>],
        index: &KeyIndex<'v>,
        is_present: impl Fn(usize) -> bool,
    ) -> (Option<usize>, usize) {
        let is_null = |at: usize| wanted[at].is_some_and(Value::is_null);
        let nulls = (0..wanted.len()).filter(|at| is_null(*at)).fold(0, |nulls, at| nulls | 1u8 << at);
        let others = |keys: &[Option<&'v Value>]| -> OtherKeys<'v> {
            keys.iter().enumerate().filter(|(at, _)| !is_null(*at)).map(|(_, key)| *key).collect()
        };
        let known = self.indexes.entry(nulls).or_default();
        for number in known.read..index.len() {
            let keys = index.keys(number);
            let has = |at: &usize| keys[*at].is_some();
            let present = (0..keys.len()).filter(|at| is_null(*at)).filter(has).count();
            let all = match present {
                0 => false,
                present if present == nulls.count_ones() as usize => true,
                _ => continue,
            };
            if is_present(number) {
                let counted = known.entries.entry((others(keys), all)).or_insert((number, 0));
                counted.1 += usize::from(counted.0 != number);
            }
        }
        known.read = index.len();
        let keys = others(wanted);
        let found = known.entries.get(&(keys.clone(), true)).or_else(|| known.entries.get(&(keys, false)));
        found.map_or((None, 0), |(first, more)| (Some(*first), *more))
    }
}

#[cold]
pub(super) fn ambiguous(entry: &Object, keys: &MergeKeys<'_>, matches: usize) -> PatchError {
    ErrorKind::Ambiguous { keys: keys.of(entry), matches }.into()
}
