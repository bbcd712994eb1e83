//! Keys that a patch sends with its entries in `$patchMergeKey`, and the entries that they mean. Such keys must
//! mean one entry: what could be meant otherwise is refused, never guessed.

use super::{
    directive::{PATCH_MERGE_KEY, PatchValue, patch_value},
    entries::{Slot, read_order},
    index::Index,
    order::NONE,
    plan::{Keys, Position},
};
use crate::{Fault, PatchError};
use tenure_fields::PathElement;
use tenure_value::{Array, Object, Value};

/// Whether the entries of a list carry `$patchMergeKey`.
pub(super) fn carries_keys(list: &[Value]) -> bool {
    list.iter().any(|entry| entry.get(PATCH_MERGE_KEY).is_some())
}

/// Reads `$patchMergeKey`, which every entry carries or none.
pub(super) fn named_keys<'v>(
    patch: &'v [Value],
    position: Position<'_>,
) -> Result<Option<Vec<&'v str>>, PatchError> {
    if !carries_keys(patch) {
        return Ok(None);
    }
    let said = |entry: &'v Value| entry.get(PATCH_MERGE_KEY).unwrap_or(&Value::Null);
    let first = patch.iter().map(said).find(|keys| !keys.is_null()).unwrap_or(&Value::Null);
    for (at, entry) in patch.iter().enumerate() {
        let other = said(entry);
        let is_marker =
            entry.as_object().is_some_and(|map| matches!(patch_value(map), Ok(Some(PatchValue::Replace))));
        if other != first && !(is_marker && other.is_null()) {
            let fault = Fault::MergeKeysDisagree { first: first.clone(), other: other.clone() };
            return Err(PatchError::from(fault).under(PathElement::Index(at as i64)));
        }
    }
    let bad = |right: &str| Fault::BadMergeKeys { value: first.clone(), right: right.into() };
    let mut names: Vec<&str> = Vec::new();
    for name in first.as_array().ok_or_else(|| bad("it has to be a list of field names"))? {
        let name = name.as_str().ok_or_else(|| bad("every key has to be a field name"))?;
        if !names.contains(&name) {
            names.push(name);
        }
    }
    if names.is_empty() {
        return Err(bad("it has to name at least one key").into());
    }
    if let Some(default) = position.default_key() {
        match names.iter().position(|name| *name == default) {
            Some(at) => names[..=at].rotate_right(1),
            None => return Err(bad(&format!("it has to contain {default:?}, the key of this list")).into()),
        }
    }
    Ok(Some(names))
}

/// Returns the keys by which an order list without a patch list is read: the recommended ones where the
/// merge key alone repeats and they tell the entries of the order apart.
pub(super) fn telling_keys<'s>(
    order: &Array,
    live: &[Value],
    keys: Keys<'s>,
    position: Position<'s>,
) -> Keys<'s> {
    let repeats = |list: &[Value], keys: &Keys<'s>| match read_order(list, keys) {
        Ok(index) => (0..index.len()).any(|at| index.first_like(at) != at),
        Err(_) => true,
    };
    let Some(recommended) = position.recommended_keys() else { return keys };
    let sends_more =
        order.iter().any(|entry| recommended.names().skip(1).any(|name| entry.get(name).is_some()));
    if sends_more && (repeats(order, &keys) || repeats(live, &keys)) && !repeats(order, &recommended) {
        return recommended;
    }
    keys
}

/// Returns the one entry that an entry with `$patchMergeKey` means, or nothing if it is new.
pub(super) fn named_target(
    index: &Index<'_>,
    slots: &[Slot<'_>],
    wanted: &[Option<&Value>],
    entry: &Object,
    keys: &Keys<'_>,
) -> Result<Option<usize>, PatchError> {
    let nulls = wanted.iter().any(|value| value.is_some_and(Value::is_null));
    let (target, matches) =
        if nulls { without_keys(index, slots, wanted) } else { single(index, slots, wanted) };
    if matches > 1 || nulls && matches == 0 {
        return Err(ambiguous(entry, keys, matches));
    }
    let Some(number) = target else { return Ok(None) };
    if slots[number].rank() != NONE {
        return Err(Fault::NotUnique { keys: keys.of(entry) }.into());
    }
    if nulls {
        let left: Vec<_> = wanted.iter().map(|value| value.filter(|value| !value.is_null())).collect();
        let (other, others) = single(index, slots, &left);
        if others > 0 && other != Some(number) {
            return Err(Fault::NotUnique { keys: keys.of(entry) }.into());
        }
    }
    Ok(target)
}

/// Finds the entry from which keys are to be removed: the one that has all of them, or, where they were
/// removed before, the one that has none.
fn without_keys(index: &Index<'_>, slots: &[Slot<'_>], wanted: &[Option<&Value>]) -> (Option<usize>, usize) {
    let count = |has: bool| {
        let mut candidates = (0..slots.len()).filter(|number| {
            slots[*number].is_there()
                && index.keys(*number).iter().zip(wanted).all(|(live, wanted)| match wanted {
                    Some(Value::Null) => live.is_some() == has,
                    wanted => live == wanted,
                })
        });
        (candidates.next(), candidates.count())
    };
    let (target, others) = count(true);
    if target.is_some() {
        return (target, others + 1);
    }
    let (target, others) = count(false);
    (target, others + usize::from(target.is_some()))
}

/// Returns the first entry that is there and has these keys, and how many have them.
pub(super) fn single(
    index: &Index<'_>,
    slots: &[Slot<'_>],
    wanted: &[Option<&Value>],
) -> (Option<usize>, usize) {
    let (mut target, mut matches, mut from) = (None, 0, 0);
    while let Some(number) = index.find(wanted, from) {
        if slots[number].is_there() {
            target = target.or(Some(number));
            matches += 1;
        }
        from = number + 1;
    }
    (target, matches)
}

#[cold]
pub(super) fn ambiguous(entry: &Object, keys: &Keys<'_>, matches: usize) -> PatchError {
    Fault::Ambiguous { keys: keys.of(entry), matches }.into()
}
