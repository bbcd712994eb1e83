//! Conflicts: fields that a patch would change and that have changed in the live document since the last apply. Both
//! are patches of the last applied document, so their effects on one field can be compared. Equal changes and the
//! order of lists do not conflict.

use super::{
    DiffOptions, calculate,
    entry_keys::EntryKeys,
    key_text,
    pairing::{RepeatedEntry, RepeatedPairing},
};
use crate::{
    Conflict, ErrorKind, PatchError,
    strategic::{
        LiveChanges,
        directive::{DELETE_FROM_PRIMITIVE_LIST, PATCH, PATCH_MERGE_KEY, directive},
        merge_keys::MergeKeys,
        patch_meta::{self, ListStrategy, PatchMeta},
    },
};
use std::collections::HashMap;
use tenure_fields::{Path, PathElement};
use tenure_profile::Improvement;
use tenure_schema::TypeRef;
use tenure_value::{Array, Object, Value};

/// The same part of the three documents, as far as they have it.
#[derive(Clone, Copy)]
pub(super) struct Documents<'v> {
    pub(super) original: Option<&'v Object>,
    pub(super) modified: &'v Object,
    pub(super) live: Option<&'v Object>,
}

/// Returns the patch if it has no conflict with what changed in the live document.
pub(super) fn check(
    patch: Value,
    documents: Documents<'_>,
    ty: TypeRef<'_>,
    options: &DiffOptions<'_>,
) -> Result<Value, PatchError> {
    let mut search =
        Search { options, path: Path::default(), conflicts: Vec::new(), sorted: Vec::new(), failed: None };
    if let (Value::Object(patch), Some(original), Some(live)) = (&patch, documents.original, documents.live) {
        let changed = calculate(original, live, original, ty, options, LiveChanges::Overwrite)?;
        search.maps(patch, &changed, Some(documents), ty)?;
    }
    if let Some(error) = search.failed {
        return Err(error);
    }
    if !search.conflicts.is_empty() {
        return Err(ErrorKind::Conflicts(search.conflicts).into());
    }
    Ok(search.sorted.iter().fold(patch, |patch, path| with_sorted_list(&patch, path)))
}

struct Search<'o> {
    options: &'o DiffOptions<'o>,
    path: Path,
    conflicts: Vec<Conflict>,
    /// The lists that the comparison sorts, as in Kubernetes.
    sorted: Vec<Vec<PathElement>>,
    /// The error of a comparison that fails, as in Kubernetes.
    failed: Option<PatchError>,
}

impl Search<'_> {
    fn maps(
        &mut self,
        patch: &Object,
        changed: &Object,
        documents: Option<Documents<'_>>,
        ty: TypeRef<'_>,
    ) -> Result<(), PatchError> {
        if patch.get(PATCH) != changed.get(PATCH) {
            self.conflict(patch.clone().into(), changed.clone().into());
            return Ok(());
        }
        for (name, value) in patch {
            let Some(other) = changed.get(name) else { continue };
            if directive(name, ty).is_some() {
                self.directives(name, value);
                continue;
            }
            self.path.push(PathElement::field(name.clone()));
            let meta = patch_meta::lookup(ty, name, value).ok();
            self.values(value, other, documents.and_then(|documents| documents.field(name)), meta)?;
            self.path.pop();
        }
        Ok(())
    }

    /// Fails where both sides delete from one set, as in Kubernetes.
    fn directives(&mut self, name: &str, value: &Value) {
        let is_deletion = name.starts_with(DELETE_FROM_PRIMITIVE_LIST);
        if is_deletion && !self.options.profile.has(Improvement::AllowEqualDeletions) && self.failed.is_none()
        {
            let kind = ErrorKind::UnknownField { field: name.into(), value: value.clone() };
            self.failed = Some(kind.into());
        }
    }

    fn values(
        &mut self,
        patch: &Value,
        changed: &Value,
        documents: Option<Parts<'_>>,
        meta: Option<PatchMeta<'_>>,
    ) -> Result<(), PatchError> {
        let ty = meta.map_or(TypeRef::untyped(), |meta| meta.ty);
        match (patch, changed) {
            (Value::Object(_), Value::Object(_)) if meta.is_some_and(PatchMeta::replaces) => {}
            (Value::Object(patch), Value::Object(changed)) => {
                self.maps(patch, changed, documents.and_then(Parts::objects), ty)?;
            }
            (Value::Array(patch), Value::Array(changed)) => self.lists(patch, changed, documents, meta)?,
            (patch, changed) if patch == changed => {}
            (patch, changed) => self.conflict(patch.clone(), changed.clone()),
        }
        Ok(())
    }

    fn lists(
        &mut self,
        patch: &Array,
        changed: &Array,
        documents: Option<Parts<'_>>,
        meta: Option<PatchMeta<'_>>,
    ) -> Result<(), PatchError> {
        let options = self.options;
        let strategy = meta.map(|meta| (meta.list_strategy(options.unmarked_lists, options.profile), meta));
        let has_keys = |list: &Array| list.iter().any(|entry| entry.get(PATCH_MERGE_KEY).is_some());
        match strategy {
            Some((ListStrategy::Set, _)) => {}
            Some((ListStrategy::Keyed(keys), meta)) => {
                self.entries(patch, changed, documents, &keys, meta)?;
            }
            Some((_, meta)) if has_keys(patch) || has_keys(changed) => match meta.recommended_keys() {
                Some(keys) => self.entries(patch, changed, documents, &keys, meta)?,
                None => self.conflict(patch.clone().into(), changed.clone().into()),
            },
            _ if same_items(patch, changed) => self.sort_list(patch, changed),
            _ if patch.len() != changed.len() => {
                self.conflict(patch.clone().into(), changed.clone().into());
            }
            _ => {
                for (at, (item, other)) in patch.iter().zip(changed).enumerate() {
                    self.path.push(PathElement::Index(at as i64));
                    self.values(item, other, None, None)?;
                    self.path.pop();
                }
            }
        }
        Ok(())
    }

    /// Remembers a list that the comparison sorts, as in Kubernetes.
    fn sort_list(&mut self, patch: &Array, changed: &Array) {
        if !self.options.profile.has(Improvement::KeepOrderInConflictChecks) && patch.len() == changed.len() {
            self.sorted.push(self.path.elements().to_vec());
        }
    }

    fn entries<'d>(
        &mut self,
        patch: &Array,
        changed: &Array,
        documents: Option<Parts<'d>>,
        keys: &MergeKeys<'_>,
        meta: PatchMeta<'_>,
    ) -> Result<(), PatchError> {
        let marks = |entry: &Value| entry.get(PATCH).and_then(Value::as_str) == Some("replace");
        let replaces = |list: &Array| list.iter().any(marks);
        if let Some(lists) = documents.and_then(Parts::lists)
            && (replaces(patch) || replaces(changed))
        {
            return self.repeated(lists, keys, meta);
        }
        let recommended = meta.recommended_keys();
        let keys_of = |entry: &Object| match &recommended {
            Some(recommended) if entry.contains(PATCH_MERGE_KEY) => recommended.of(entry),
            _ => keys.of(entry),
        };
        // As recorded, the last of several entries with equal keys counts.
        let last = !self.options.profile.has(Improvement::KeepRepeatedEntries);
        let others = by_key(changed, &keys_of, last);
        let counted = last.then(|| by_key(patch, &keys_of, last));
        let located = documents.and_then(Parts::lists).map(|lists| lists.map(|list| located(list, keys)));
        for entry in patch.iter().filter_map(Value::as_object) {
            let identity = keys_of(entry);
            if counted.as_ref().is_some_and(|counted| counted.get(&identity) != Some(&entry)) {
                continue;
            }
            let Some(other) = others.get(&identity) else { continue };
            let below = located.as_ref().and_then(|[original, modified, live]| {
                let key = keys.of(entry);
                let find = |list: &HashMap<Object, &'d Object>| list.get(&key).copied();
                Some(Documents { original: find(original), modified: find(modified)?, live: find(live) })
            });
            self.path.push(PathElement::Key(identity));
            self.maps(entry, other, below, patch_meta::item_type(meta.ty))?;
            self.path.pop();
        }
        Ok(())
    }

    /// Compares lists with repeated keys entry by entry: a patch that contains the whole list does not say what it
    /// changes.
    fn repeated(
        &mut self,
        lists: [Option<&Array>; 3],
        keys: &MergeKeys<'_>,
        meta: PatchMeta<'_>,
    ) -> Result<(), PatchError> {
        let items = lists.map(|list| list.map_or(&[][..], Array::items));
        let pairing = RepeatedPairing::new(items, keys);
        let item = patch_meta::item_type(meta.ty);
        let recommended = meta.recommended_keys();
        let names = recommended.as_ref().unwrap_or(keys);
        let deletion = EntryKeys::new(keys.clone(), meta, false);
        let map = |entries: &[RepeatedEntry<'_>], at: Option<usize>| at.map(|at| entries[at].map.clone());
        for entry in &pairing.modified {
            let original = map(&pairing.original, entry.original);
            let live = map(&pairing.live, entry.live);
            self.path.push(PathElement::Key(names.of(entry.map)));
            match (&original, &live) {
                (Some(original), None) => {
                    if original != entry.map {
                        self.conflict(entry.map.clone().into(), deletion.deletion(original));
                    }
                }
                (original, Some(live)) => {
                    let before = original.clone().unwrap_or_default();
                    let keep = LiveChanges::Keep;
                    let patch = calculate(&before, entry.map, live, item, self.options, keep)?;
                    let changed =
                        calculate(&before, live, &before, item, self.options, LiveChanges::Overwrite)?;
                    let below =
                        Documents { original: original.as_ref(), modified: entry.map, live: Some(live) };
                    self.maps(&patch, &changed, Some(below), item)?;
                }
                (None, None) => {}
            }
            self.path.pop();
        }
        for entry in pairing.original.iter().filter(|entry| entry.modified.is_none()) {
            let Some(live) = map(&pairing.live, entry.live) else { continue };
            if live != *entry.map {
                self.path.push(PathElement::Key(names.of(entry.map)));
                self.conflict(deletion.deletion(entry.map), live.into());
                self.path.pop();
            }
        }
        Ok(())
    }

    fn conflict(&mut self, patch: Value, live: Value) {
        self.conflicts.push(Conflict { path: self.path.clone(), patch, live });
    }
}

/// The same field of the three documents.
#[derive(Clone, Copy)]
struct Parts<'v> {
    original: Option<&'v Value>,
    modified: &'v Value,
    live: Option<&'v Value>,
}

impl<'v> Documents<'v> {
    fn field(self, name: &str) -> Option<Parts<'v>> {
        let get = |side: Option<&'v Object>| side.and_then(|side| side.get(name));
        Some(Parts { original: get(self.original), modified: self.modified.get(name)?, live: get(self.live) })
    }
}

impl<'v> Parts<'v> {
    fn objects(self) -> Option<Documents<'v>> {
        let object = |side: Option<&'v Value>| side.and_then(Value::as_object);
        Some(Documents {
            original: object(self.original),
            modified: self.modified.as_object()?,
            live: object(self.live),
        })
    }

    fn lists(self) -> Option<[Option<&'v Array>; 3]> {
        let list = |side: Option<&'v Value>| side.and_then(Value::as_array);
        Some([list(self.original), Some(self.modified.as_array()?), list(self.live)])
    }
}

/// Returns the entries of a list by their keys; of several with equal keys the first or the last.
fn by_key<'v>(
    list: &'v Array,
    keys_of: &impl Fn(&Object) -> Object,
    last: bool,
) -> HashMap<Object, &'v Object> {
    let mut entries = HashMap::with_capacity(list.len());
    for entry in list.iter().filter_map(Value::as_object) {
        if last {
            entries.insert(keys_of(entry), entry);
        } else {
            entries.entry(keys_of(entry)).or_insert(entry);
        }
    }
    entries
}

fn located<'v>(list: Option<&'v Array>, keys: &MergeKeys<'_>) -> HashMap<Object, &'v Object> {
    list.map_or_else(HashMap::new, |list| by_key(list, &|entry| keys.of(entry), false))
}

/// Whether two lists of scalars contain the same items in some order.
fn same_items(left: &Array, right: &Array) -> bool {
    let sorted = |list: &Array| {
        let mut items = list.to_vec();
        items.sort_unstable();
        items
    };
    left.len() == right.len()
        && left.iter().chain(right).all(Value::is_scalar)
        && sorted(left) == sorted(right)
}

/// Returns a patch with the list at a path sorted as text.
fn with_sorted_list(value: &Value, path: &[PathElement]) -> Value {
    match (value, path) {
        (Value::Array(list), []) => {
            let mut items = list.to_vec();
            items.sort_by(key_text::compare);
            Value::array(items)
        }
        (Value::Object(map), [PathElement::Field(name), rest @ ..]) => match map.get(name.as_str()) {
            Some(below) => map.with(name.as_str(), with_sorted_list(below, rest)).into(),
            None => value.clone(),
        },
        (Value::Array(list), [PathElement::Key(keys), rest @ ..]) => {
            let is_meant =
                |entry: &Value| keys.iter().all(|(name, key)| entry.get(name.as_str()) == Some(key));
            Value::array(list.iter().map(|entry| match is_meant(entry) {
                true => with_sorted_list(entry, rest),
                false => entry.clone(),
            }))
        }
        _ => value.clone(),
    }
}
