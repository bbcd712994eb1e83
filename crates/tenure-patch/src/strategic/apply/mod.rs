//! Merging a patch into a live document. Live fields and patched fields are walked in step, and only a map in which
//! something changes is rebuilt: the scratch stack serves every level.

mod client_keys;
mod keyed_list;
mod new_value;
mod patch_entries;
mod set;

use super::{
    ApplyOptions,
    directive::{
        DELETE_FROM_PRIMITIVE_LIST, Directive, Directives, ListDirectives, PATCH, PatchValue,
        SET_ELEMENT_ORDER, directive, possible_directives, retained,
    },
    merge_keys::MergeKeys,
    patch_meta::{self, ListStrategy, PatchMeta},
    trace::{PatchRule, Recorder},
};
use crate::{ErrorKind, PatchError};
use new_value::{Context, new_value};
use patch_entries::PatchEntries;
use tenure_fields::PathElement;
use tenure_profile::{Improvement, Profile};
use tenure_schema::TypeRef;
use tenure_value::{Array, Kind, Object, Text, Value};

/// What happens to a live value.
pub(super) enum Merged {
    /// It stays as it is, or stays absent.
    Same,
    /// It is removed.
    Gone,
    /// It is replaced.
    New(Value),
}

/// A merge in progress.
pub(super) struct Merger<'o, R> {
    options: &'o ApplyOptions,
    recorder: &'o mut R,
    /// The fields of the maps being built, those of the innermost map last.
    fields: Vec<(Text, Value)>,
}

/// The parts of a patch for one field: its value and the directives that name it.
struct Change<'p> {
    name: &'p str,
    field: Option<&'p (Text, Value)>,
    order: Option<&'p Value>,
    deletions: Option<&'p Value>,
}

impl<'o, R: Recorder> Merger<'o, R> {
    pub(super) fn new(options: &'o ApplyOptions, recorder: &'o mut R) -> Merger<'o, R> {
        Merger { options, recorder, fields: Vec::with_capacity(16) }
    }

    /// Merges a map of the patch into a live one.
    pub(super) fn object(
        &mut self,
        live: &Object,
        patch: &Object,
        ty: TypeRef<'_>,
    ) -> Result<Merged, PatchError> {
        if possible_directives(patch).is_empty() {
            return self.changes(live, patch.fields().iter().map(Change::of), ty);
        }
        let directives = Directives::read(patch, ty)?;
        if let Some(value) = directives.patch {
            return self.directed(live, patch, value, ty);
        }
        let retained = match directives.retain_keys {
            Some(listed) => self.retain(live, patch, listed, ty)?,
            None => None,
        };
        let changes = changes_of(patch, &directives, ty, self.options.profile);
        match retained {
            None => self.changes(live, changes.into_iter(), ty),
            Some(live) => Ok(match self.changes(&live, changes.into_iter(), ty)? {
                Merged::Same => Merged::New(live.into()),
                outcome => outcome,
            }),
        }
    }

    /// Follows `$patch` in a map.
    fn directed(
        &mut self,
        live: &Object,
        patch: &Object,
        value: &Value,
        ty: TypeRef<'_>,
    ) -> Result<Merged, PatchError> {
        match PatchValue::read(value, patch)? {
            PatchValue::Delete => {
                self.recorder.note(|| PatchRule::RemovedByDirective);
                Ok(match self.options.profile.has(Improvement::RemoveDeletedMaps) {
                    true => Merged::Gone,
                    false => Merged::New(Object::default().into()),
                })
            }
            PatchValue::Replace => {
                self.recorder.note(|| PatchRule::ReplacedByDirective);
                self.replace(&live.clone().into(), &patch.without(PATCH).into(), ty)
            }
        }
    }

    /// Replaces a live value with a value of the patch.
    fn replace(&mut self, live: &Value, patch: &Value, ty: TypeRef<'_>) -> Result<Merged, PatchError> {
        Ok(match new_value(patch, ty, Context::Replacing, self.options.profile)? {
            Some(value) if value == *live => Merged::Same,
            Some(value) => Merged::New(value),
            None => Merged::Gone,
        })
    }

    /// Returns the live map without the fields that `$retainKeys` does not list, if it has such fields.
    fn retain(
        &mut self,
        live: &Object,
        patch: &Object,
        listed: &Value,
        ty: TypeRef<'_>,
    ) -> Result<Option<Object>, PatchError> {
        let names = retained(patch, listed, ty, self.options.profile)?;
        let is_listed = |name: &str| names.binary_search(&name).is_ok();
        if live.iter().all(|(name, _)| is_listed(name)) {
            return Ok(None);
        }
        let mut kept = Vec::with_capacity(live.len());
        for field in live {
            if is_listed(&field.0) {
                kept.push(field.clone());
            } else if patch.get(&field.0).is_none() {
                self.recorder.note_field(&field.0, || PatchRule::Cleared);
            }
        }
        Ok(Some(Object::from_sorted(kept)))
    }

    /// Merges changes, sorted by name, into a live map.
    fn changes<'p>(
        &mut self,
        live: &Object,
        changes: impl Iterator<Item = Change<'p>>,
        ty: TypeRef<'_>,
    ) -> Result<Merged, PatchError> {
        let base = self.fields.len();
        let fields = live.fields();
        // Live fields before `at` have been visited; those before `taken` are on the stack or removed.
        let (mut at, mut taken) = (0, 0);
        let mut dirty = false;
        for change in changes {
            let (here, found) = seek(fields, at, change.name);
            at = here + usize::from(found);
            let value = found.then(|| &fields[here].1);
            let outcome = self.field(value, &change, ty).map_err(|error| error.under_field(change.name))?;
            let new = match outcome {
                Merged::Same => continue,
                Merged::Gone if !found => continue,
                Merged::Gone => None,
                Merged::New(value) => Some(value),
            };
            dirty = true;
            self.fields.extend_from_slice(&fields[taken..here]);
            taken = at;
            if let Some(value) = new {
                let name = change.field.map_or_else(|| fields[here].0.clone(), |field| field.0.clone());
                self.fields.push((name, value));
            }
        }
        if !dirty {
            return Ok(Merged::Same);
        }
        self.fields.extend_from_slice(&fields[taken..]);
        Ok(Merged::New(Object::from_sorted(self.fields.drain(base..)).into()))
    }

    /// Merges one field.
    fn field(
        &mut self,
        live: Option<&Value>,
        change: &Change<'_>,
        ty: TypeRef<'_>,
    ) -> Result<Merged, PatchError> {
        let value = change.field.map(|field| &field.1);
        let outcome = match (change.order, value) {
            (Some(order), _) => self.ordered(live, value, order, change.name, ty)?,
            (None, Some(value)) => self.value(live, value, change.name, ty)?,
            (None, None) => Merged::Same,
        };
        let Some(deletions) = change.deletions else { return Ok(outcome) };
        let current = match &outcome {
            Merged::Same => live,
            Merged::Gone => None,
            Merged::New(value) => Some(value),
        };
        match self.delete_from(current, deletions, change.name, ty)? {
            Merged::Same => Ok(outcome),
            deleted => Ok(deleted),
        }
    }

    /// Merges one value.
    fn value(
        &mut self,
        live: Option<&Value>,
        patch: &Value,
        name: &str,
        ty: TypeRef<'_>,
    ) -> Result<Merged, PatchError> {
        match (live, patch) {
            (None, Value::Null) => Ok(Merged::Same),
            (Some(_), Value::Null) => {
                self.recorder.note_field(name, || PatchRule::RemovedByNull);
                Ok(Merged::Gone)
            }
            (Some(Value::Object(live)), Value::Object(map)) => {
                let meta = patch_meta::lookup(ty, name, patch)?;
                self.recorder.enter(|| PathElement::field(name));
                let outcome = self.map(live, map, meta)?;
                self.recorder.leave();
                Ok(outcome)
            }
            (Some(Value::Array(live)), Value::Array(list)) => {
                let meta = patch_meta::lookup(ty, name, patch)?;
                self.recorder.enter(|| PathElement::field(name));
                let outcome = self.list(live, Some(list), None, meta)?;
                self.recorder.leave();
                Ok(outcome)
            }
            (Some(live), patch) if patch.is_scalar() => {
                self.recorder
                    .note_field(name, || if live == patch { PatchRule::Kept } else { PatchRule::Set });
                Ok(if live == patch { Merged::Same } else { Merged::New(patch.clone()) })
            }
            (live, patch) => self.add(live, patch, name, ty),
        }
    }

    fn map(&mut self, live: &Object, patch: &Object, meta: PatchMeta<'_>) -> Result<Merged, PatchError> {
        if !meta.replaces() || self.options.profile.has(Improvement::DropDirectives) && patch.contains(PATCH)
        {
            return self.object(live, patch, meta.ty);
        }
        self.recorder.note(|| PatchRule::ReplacedByStrategy);
        self.replace(&live.clone().into(), &patch.clone().into(), meta.ty)
    }

    /// Takes a value where no value of its kind is live.
    fn add(
        &mut self,
        live: Option<&Value>,
        patch: &Value,
        name: &str,
        ty: TypeRef<'_>,
    ) -> Result<Merged, PatchError> {
        if let Value::Array(list) = patch
            && self.options.profile.has(Improvement::ClientMergeKeys)
            && client_keys::are_sent(list)
        {
            let meta = patch_meta::lookup(ty, name, patch)?;
            return self.list(&Array::default(), Some(list), None, meta);
        }
        let outcome =
            match new_value(patch, patch_meta::field_type(ty, name), Context::New, self.options.profile)? {
                Some(value) => Merged::New(value),
                None => Merged::Gone,
            };
        self.recorder.note_field(name, || match (&outcome, live) {
            (Merged::New(_), Some(_)) => PatchRule::Set,
            (Merged::New(_), None) => PatchRule::Added,
            _ => PatchRule::RemovedByDirective,
        });
        Ok(outcome)
    }

    /// Merges a list that `$setElementOrder` orders.
    fn ordered(
        &mut self,
        live: Option<&Value>,
        patch: Option<&Value>,
        order: &Value,
        name: &str,
        ty: TypeRef<'_>,
    ) -> Result<Merged, PatchError> {
        let order = expect_list(order, || format!("$setElementOrder/{name}").into())?;
        let meta = match patch_meta::lookup(ty, name, &order.clone().into()) {
            Err(_) if !name.is_empty() && self.options.profile.has(Improvement::DropUnknownOrders) => {
                self.recorder.dropped();
                self.recorder
                    .note_field(&format!("{SET_ELEMENT_ORDER}/{name}"), || PatchRule::UnknownListDropped);
                return match patch {
                    Some(patch) => self.value(live, patch, name, ty),
                    None => Ok(Merged::Same),
                };
            }
            meta => meta?,
        };
        let patch = patch.map(|value| expect_list(value, || "the list in the patch".into())).transpose()?;
        let live = live.map(|value| expect_list(value, || "the live list".into())).transpose()?;
        self.recorder.enter(|| PathElement::field(name));
        let outcome = match (live, patch) {
            (None, None) => Ok(Merged::Same),
            (Some(live), patch) => self.list(live, patch, Some(order), meta),
            (None, Some(patch)) => self.add_ordered(patch, order, meta),
        };
        self.recorder.leave();
        outcome
    }

    /// Merges or replaces a list, and orders it.
    fn list(
        &mut self,
        live: &Array,
        patched: Option<&Array>,
        order: Option<&Array>,
        meta: PatchMeta<'_>,
    ) -> Result<Merged, PatchError> {
        let patch = patched.map_or(&[][..], Array::items);
        if let Some(order) = order
            && live.is_empty()
            && patch.is_empty()
        {
            // A patch that deleted the last item is applied again.
            return match self.options.profile.has(Improvement::IgnoreEmptyOrders) {
                true => Ok(Merged::Same),
                false => Err(ErrorKind::NothingToOrder { order: order.clone() }.into()),
            };
        }
        if let Some(names) = client_keys::read(patch, meta, self.options)? {
            return self.keyed_list(live, patch, order, &MergeKeys::Named(names), meta);
        }
        match self.list_strategy(meta) {
            ListStrategy::Keyed(keys) => {
                let keys = match order {
                    Some(order)
                        if patch.is_empty() && self.options.profile.has(Improvement::ClientMergeKeys) =>
                    {
                        client_keys::for_order(order, live, keys, meta)
                    }
                    _ => keys,
                };
                self.keyed_list(live, patch, order, &keys, meta)
            }
            ListStrategy::Set => self.set(live, patched, order),
            ListStrategy::Replace => match order {
                None => {
                    self.recorder.note(|| PatchRule::ReplacedByStrategy);
                    let patched = patched.cloned().unwrap_or_default();
                    self.replace(&live.clone().into(), &patched.into(), meta.ty)
                }
                Some(order) => self.replaced_in_order(live, patched, order),
            },
        }
    }

    /// Adds a list where none is live, checking it against its order.
    fn add_ordered(
        &mut self,
        patch: &Array,
        order: &Array,
        meta: PatchMeta<'_>,
    ) -> Result<Merged, PatchError> {
        if patch.is_empty() {
            return Err(ErrorKind::NothingToOrder { order: order.clone() }.into());
        }
        if let Some(names) = client_keys::read(patch, meta, self.options)? {
            return self.keyed_list(&[], patch, Some(order), &MergeKeys::Named(names), meta);
        }
        match self.list_strategy(meta) {
            ListStrategy::Keyed(keys) => {
                // No entry is live, so deletions need no keys.
                let kept: Vec<Value> =
                    patch.iter().filter(|entry| !patch_entries::is_deletion(entry)).cloned().collect();
                let entries = PatchEntries::read(&kept, &keys, &[], self.options.profile)?;
                entries.check_order(patch, order, &keys, self.options.profile)?;
            }
            _ => set::check_order(patch, order)?,
        }
        self.recorder.note(|| PatchRule::Added);
        Ok(match new_value(&patch.clone().into(), meta.ty, Context::New, self.options.profile)? {
            Some(value) => Merged::New(value),
            None => Merged::Gone,
        })
    }

    /// Deletes the items that a `$deleteFromPrimitiveList` lists.
    fn delete_from(
        &mut self,
        live: Option<&Value>,
        deletions: &Value,
        name: &str,
        ty: TypeRef<'_>,
    ) -> Result<Merged, PatchError> {
        if self.options.profile.has(Improvement::RejectMalformedDirectives) && !deletions.is_null() {
            expect_list(deletions, || format!("{DELETE_FROM_PRIMITIVE_LIST}/{name}").into())?;
        }
        match (live, deletions) {
            (Some(_), Value::Null) => {
                self.recorder.note_field(name, || PatchRule::RemovedByNull);
                Ok(Merged::Gone)
            }
            (Some(Value::Array(live)), Value::Array(listed)) => {
                let meta = patch_meta::lookup(ty, name, deletions)?;
                if live.is_empty() && listed.is_empty() {
                    return Ok(Merged::Same);
                }
                if live.iter().chain(listed).all(|item| matches!(item, Value::Object(_))) {
                    return match self.list_strategy(meta) {
                        ListStrategy::Keyed(_) => self.list(live, Some(listed), None, meta),
                        _ => Err(set::no_key(listed.first().or(live.first()))),
                    };
                }
                match set::without(live, listed)? {
                    None => Ok(Merged::Same),
                    Some(kept) => {
                        self.recorder.note_field(name, || PatchRule::RemovedFromSet);
                        Ok(Merged::New(kept.into()))
                    }
                }
            }
            _ => Ok(Merged::Same),
        }
    }

    fn list_strategy<'s>(&self, meta: PatchMeta<'s>) -> ListStrategy<'s> {
        meta.list_strategy(self.options.unmarked_lists, self.options.profile)
    }
}

impl<'p> Change<'p> {
    fn of(field: &'p (Text, Value)) -> Change<'p> {
        Change { name: &field.0, field: Some(field), order: None, deletions: None }
    }
}

/// Joins the fields of a patch with the directives that name them, sorted by name.
fn changes_of<'p>(
    patch: &'p Object,
    directives: &Directives<'p>,
    ty: TypeRef<'_>,
    profile: Profile,
) -> Vec<Change<'p>> {
    let mut changes = Vec::with_capacity(patch.len());
    let mut lists = directives.lists.iter().peekable();
    let alone = |list: &ListDirectives<'p>| Change {
        name: list.list,
        field: None,
        order: list.order,
        deletions: list.deletions,
    };
    let is_field = |name: &str| match directive(name, ty) {
        None => true,
        // Kubernetes stores unknown fields.
        Some(Directive::Unknown | Directive::MergeKeys) => !profile.has(Improvement::DropDirectives),
        Some(_) => false,
    };
    for field in patch.fields().iter().filter(|(name, _)| is_field(name)) {
        while let Some(list) = lists.next_if(|list| *list.list < *field.0) {
            changes.push(alone(list));
        }
        changes.push(match lists.next_if(|list| list.list == field.0) {
            Some(list) => Change { field: Some(field), ..alone(list) },
            None => Change::of(field),
        });
    }
    changes.extend(lists.map(alone));
    changes
}

/// Returns where a field is or would be, at or behind `from`, and whether it is there.
fn seek(fields: &[(Text, Value)], from: usize, name: &str) -> (usize, bool) {
    // Most patches follow the document closely, so the next field is often the one.
    match fields.get(from) {
        None => (from, false),
        Some((next, _)) if next == name => (from, true),
        Some(_) => match fields[from..].binary_search_by(|(field, _)| field.as_str().cmp(name)) {
            Ok(at) => (from + at, true),
            Err(at) => (from + at, false),
        },
    }
}

fn expect_list(value: &Value, what: impl FnOnce() -> Text) -> Result<&Array, PatchError> {
    match value {
        Value::Array(list) => Ok(list),
        found => {
            Err(ErrorKind::WrongKind { what: what(), expected: Kind::Array, found: found.clone() }.into())
        }
    }
}
