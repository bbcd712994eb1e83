//! The patch of a map: original, modified and live fields are walked in step. What the modified document has and the
//! live one lacks or has with another value goes into the patch; what only the original has is removed.

mod keyed_list;
mod recorded_pairing;
mod repeated_keys;
mod set;

use super::{DiffOptions, LiveChanges, client_keys::with_keys, unchanged::can_skip};
use crate::{
    ErrorKind, PatchError,
    strategic::{
        directive::{
            self, DELETE_FROM_PRIMITIVE_LIST, PATCH, RETAIN_KEYS, SET_ELEMENT_ORDER, possible_directives,
        },
        patch_meta::{self, ListStrategy, PatchMeta},
    },
};
use std::mem::discriminant;
use tenure_profile::Improvement;
use tenure_schema::TypeRef;
use tenure_value::{Array, Object, Text, Value};

/// The most names of directives that are remembered.
const DIRECTIVE_NAMES: usize = 16;

/// The two documents with which the modified one is compared.
pub(in crate::strategic::diff) struct Sides<'v, T> {
    pub(in crate::strategic::diff) original: Option<&'v T>,
    pub(in crate::strategic::diff) live: Option<&'v T>,
}

impl<T> Clone for Sides<'_, T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for Sides<'_, T> {}

impl<'v, T> Sides<'v, T> {
    /// Whether both are the same, as in a two-way patch.
    pub(in crate::strategic::diff) fn same(self) -> bool {
        match (self.original, self.live) {
            (Some(original), Some(live)) => std::ptr::eq(original, live),
            _ => false,
        }
    }
}

impl Sides<'_, Object> {
    /// Whether both share the memory of a map.
    pub(in crate::strategic::diff) fn share(self, map: &Object) -> bool {
        let shares = |side: Option<&Object>| side.is_some_and(|side| side.ptr_eq(map));
        shares(self.live) && shares(self.original)
    }
}

impl Sides<'_, Value> {
    /// Whether both share the memory of a value.
    fn share(self, value: &Value) -> bool {
        let shares = |side: Option<&Value>| side.is_some_and(|side| side.ptr_eq(value));
        shares(self.live) && shares(self.original)
    }
}

/// A calculation in progress.
pub(in crate::strategic::diff) struct Calculator<'o> {
    pub(in crate::strategic::diff) options: &'o DiffOptions<'o>,
    live_changes: LiveChanges,
    /// Whether the live document is the original.
    two_way: bool,
    /// How many removals have been written.
    pub(in crate::strategic::diff) removals: usize,
    /// The fields of the patches being written, those of the innermost map last.
    fields: Vec<(Text, Value)>,
    /// Names of directives that were built, by the name of the list.
    directives: Vec<(&'static str, Text, Text)>,
    /// A buffer for [`Calculator::repeats`].
    pub(in crate::strategic::diff) fingerprints: Vec<u64>,
}

/// Where the patch of one map starts among the fields being written.
pub(in crate::strategic::diff) struct Begun(usize);

/// What a list contributes to the patch of the map around it.
#[derive(Default)]
pub(in crate::strategic::diff) struct ListPatch {
    pub(in crate::strategic::diff) items: Vec<Value>,
    pub(in crate::strategic::diff) deletions: Vec<Value>,
    pub(in crate::strategic::diff) order: Vec<Value>,
    /// Whether the list is written even without items.
    pub(in crate::strategic::diff) new: bool,
}

impl ListPatch {
    pub(in crate::strategic::diff) fn is_empty(&self) -> bool {
        self.items.is_empty() && self.deletions.is_empty() && self.order.is_empty()
    }
}

impl<'o> Calculator<'o> {
    pub(in crate::strategic::diff) fn new(
        options: &'o DiffOptions<'o>,
        live_changes: LiveChanges,
        two_way: bool,
    ) -> Calculator<'o> {
        Calculator {
            options,
            live_changes,
            two_way,
            removals: 0,
            fields: Vec::with_capacity(16),
            directives: Vec::new(),
            fingerprints: Vec::new(),
        }
    }

    /// Writes the patch of a map; `retain` says whether it carries `$retainKeys`. What was written is taken
    /// with [`Calculator::finish`] or [`Calculator::finish_with`].
    pub(in crate::strategic::diff) fn object(
        &mut self,
        sides: Sides<'_, Object>,
        modified: &Object,
        ty: TypeRef<'_>,
        retain: bool,
    ) -> Result<Begun, PatchError> {
        let begun = Begun(self.fields.len());
        let original = sides.original.map_or(&[][..], Object::fields);
        let live = sides.live.map_or(&[][..], Object::fields);
        let two_way = sides.same();
        let (mut at_original, mut at_live) = (0, 0);
        let mut extra = false;
        let removals = self.removals;
        let mut marked = possible_directives(modified).len();
        for (name, value) in modified {
            let in_original = loop {
                match original.get(at_original) {
                    Some(field) if field.0 == *name => break Some(field),
                    Some((gone, value)) if gone < name => {
                        at_original += 1;
                        extra |= !value.is_null();
                        self.removed(gone, value, sides.live, retain);
                    }
                    _ => break None,
                }
            };
            at_original += usize::from(in_original.is_some());
            let in_live = if two_way {
                in_original
            } else {
                let found = loop {
                    match live.get(at_live) {
                        Some(field) if field.0 == *name => break Some(field),
                        Some((other, value)) if other < name => {
                            at_live += 1;
                            extra |= !value.is_null();
                            self.remove_excluded(other, value, sides.original, modified, ty);
                        }
                        _ => break None,
                    }
                };
                at_live += usize::from(found.is_some());
                found
            };
            let sides =
                Sides { original: in_original.map(|field| &field.1), live: in_live.map(|field| &field.1) };
            let written = match marked {
                0 => self.field(sides, name, value, ty),
                _ => self.marked(sides, name, value, ty),
            };
            written.map_err(|error| error.under_field(name))?;
            marked = marked.saturating_sub(1);
        }
        for (gone, value) in &original[at_original..] {
            extra |= !value.is_null();
            self.removed(gone, value, sides.live, retain);
        }
        if !two_way {
            for (name, value) in &live[at_live..] {
                extra |= !value.is_null();
                self.remove_excluded(name, value, sides.original, modified, ty);
            }
        }
        if retain {
            // A map that the live document lacks needs no clearing, unless something was removed from it.
            let changed = match sides.live {
                Some(_) => self.fields.len() > begun.0,
                None => self.removals > removals,
            };
            if extra || changed {
                self.retain(modified);
            }
        }
        Ok(begun)
    }

    /// Removes a field that only the live map has, if the modified map sets another member of its union.
    fn remove_excluded(
        &mut self,
        name: &Text,
        value: &Value,
        original: Option<&Object>,
        modified: &Object,
        ty: TypeRef<'_>,
    ) {
        let removed = || original.is_some_and(|original| original.contains(name));
        if !value.is_null()
            && self.options.profile.has(Improvement::ExcludeUnionMembers)
            && patch_meta::is_excluded(name, modified, ty)
            && !removed()
        {
            self.fields.push((name.clone(), Value::Null));
        }
    }

    fn retain(&mut self, modified: &Object) {
        let kept = modified.iter().filter(|(_, value)| !value.is_null());
        let names: Vec<Value> = kept.map(|(name, _)| Value::String(name.clone())).collect();
        if !names.is_empty() {
            self.fields.push((Text::new_static(RETAIN_KEYS), Array::from(names).into()));
        }
    }

    /// Takes the patch of a map, if there is one.
    pub(in crate::strategic::diff) fn finish(&mut self, begun: Begun) -> Option<Object> {
        let written = &mut self.fields[begun.0..];
        if written.is_empty() {
            return None;
        }
        if !written.is_sorted_by(|left, right| left.0 < right.0) {
            written.sort_by(|left, right| left.0.cmp(&right.0));
            // A document that contains directives may have a field with the name of one written here.
            if written.windows(2).any(|pair| pair[0].0 == pair[1].0) {
                return Some(Object::from_unsorted(self.fields.drain(begun.0..).collect()));
            }
        }
        Some(Object::from_sorted(self.fields.drain(begun.0..)))
    }

    /// Takes the patch of a map, if there is one, and adds fields to it.
    pub(in crate::strategic::diff) fn finish_with(
        &mut self,
        begun: Begun,
        more: impl Iterator<Item = (Text, Value)>,
    ) -> Option<Object> {
        if self.fields.len() == begun.0 {
            return None;
        }
        for (name, value) in more {
            match self.fields[begun.0..].iter_mut().find(|field| field.0 == name) {
                Some(field) => field.1 = value,
                None => self.fields.push((name, value)),
            }
        }
        self.finish(begun)
    }

    /// Removes a field from the patch of a map.
    pub(in crate::strategic::diff) fn take_back(&mut self, begun: &Begun, name: &str) {
        if let Some(at) = self.fields[begun.0..].iter().position(|field| field.0 == name) {
            self.fields.remove(begun.0 + at);
        }
    }

    fn directive(&mut self, prefix: &'static str, list: &Text, value: Vec<Value>) {
        let written = || self.directives.iter().find(|(known, name, _)| *known == prefix && name == list);
        let name = match directive::common_name(prefix, list).or_else(|| Some(written()?.2.clone())) {
            Some(name) => name,
            None => {
                let name = Text::from([prefix, "/", list].concat());
                if self.directives.len() < DIRECTIVE_NAMES {
                    self.directives.push((prefix, list.clone(), name.clone()));
                }
                name
            }
        };
        self.fields.push((name, Array::from(value).into()));
    }

    /// Removes a field that only the original has.
    fn removed(&mut self, name: &Text, original: &Value, live: Option<&Object>, retain: bool) {
        self.removals += 1;
        let removal = match (self.live_changes, original, live.and_then(|live| live.get(name))) {
            // `$retainKeys` would clear what is left.
            (LiveChanges::Keep, Value::Object(original), Some(Value::Object(live)))
                if !retain && self.options.profile.has(Improvement::KeepAdditionsToRemovedMaps) =>
            {
                removal(original, live)
            }
            _ => Some(Value::Null),
        };
        self.fields.extend(removal.map(|value| (name.clone(), value)));
    }

    /// Writes a field that may be a directive: documents that are patches themselves compare `$patch` as a word.
    fn marked(
        &mut self,
        sides: Sides<'_, Value>,
        name: &Text,
        modified: &Value,
        ty: TypeRef<'_>,
    ) -> Result<(), PatchError> {
        if name != PATCH || sides.original.is_none() {
            return self.field(sides, name, modified, ty);
        }
        let (original, live) = (sides.original, sides.live);
        if let Some(word) = original.or(live).filter(|value| value.as_str().is_none()) {
            let map = Object::default().with(name.clone(), word.clone());
            return Err(ErrorKind::UnknownPatchValue { value: word.clone(), map }.into());
        }
        if live != Some(modified) {
            self.fields.push((name.clone(), modified.clone()));
        }
        Ok(())
    }

    fn field(
        &mut self,
        sides: Sides<'_, Value>,
        name: &Text,
        modified: &Value,
        ty: TypeRef<'_>,
    ) -> Result<(), PatchError> {
        let alike =
            |side: Option<&Value>| side.is_some_and(|side| discriminant(side) == discriminant(modified));
        match modified {
            Value::Object(map) if alike(sides.original) || alike(sides.live) => {
                let Some(meta) = self.lookup(sides, name, modified, ty)? else { return Ok(()) };
                if sides.share(modified) && can_skip(modified, meta, self.options) {
                    return Ok(());
                }
                if let Some(value) = self.map(sides, map, meta)? {
                    self.fields.push((name.clone(), value));
                }
            }
            Value::Array(list) if alike(sides.original) || alike(sides.live) => {
                let Some(meta) = self.lookup(sides, name, modified, ty)? else { return Ok(()) };
                if sides.share(modified) && can_skip(modified, meta, self.options) {
                    return Ok(());
                }
                let list = self.list(sides, list, meta)?;
                // Directives sort before fields, so written first they are mostly in order.
                if !list.deletions.is_empty() {
                    self.directive(DELETE_FROM_PRIMITIVE_LIST, name, list.deletions);
                }
                if !list.order.is_empty() {
                    self.directive(SET_ELEMENT_ORDER, name, list.order);
                }
                if list.new || !list.items.is_empty() {
                    self.fields.push((name.clone(), Array::from(list.items).into()));
                }
            }
            modified if sides.live != Some(modified) => {
                let value = match modified.is_scalar() {
                    true => modified.clone(),
                    false => self.added(modified, patch_meta::lookup(ty, name, modified).ok()),
                };
                self.fields.push((name.clone(), value));
            }
            _ => {}
        }
        Ok(())
    }

    /// Returns a map or a list that only the modified document has. A live object may have another member of a union all the same,
    /// such as the default one, and a two-way patch is made without seeing it.
    fn added(&self, modified: &Value, meta: Option<PatchMeta<'_>>) -> Value {
        let value = with_keys(modified, meta, self.options);
        let retains = self.two_way
            && self.options.profile.has(Improvement::ExcludeUnionMembers)
            && meta.is_some_and(PatchMeta::retains_keys);
        match (value, modified) {
            (Value::Object(map), Value::Object(modified)) if retains && !modified.contains(RETAIN_KEYS) => {
                let kept = modified.iter().filter(|(_, value)| !value.is_null());
                let names = kept.map(|(name, _)| Value::String(name.clone()));
                map.with(RETAIN_KEYS, Value::array(names)).into()
            }
            (value, _) => value,
        }
    }

    /// Returns the metadata of a map or list, or `None` if the type has no such field and it does not change.
    fn lookup<'s>(
        &self,
        sides: Sides<'_, Value>,
        name: &str,
        modified: &Value,
        ty: TypeRef<'s>,
    ) -> Result<Option<PatchMeta<'s>>, PatchError> {
        match patch_meta::lookup(ty, name, modified) {
            Ok(meta) => Ok(Some(meta)),
            Err(_)
                if sides.live == Some(modified) && sides.original.is_none_or(|value| value == modified) =>
            {
                Ok(None)
            }
            Err(error) => Err(error),
        }
    }

    fn map(
        &mut self,
        sides: Sides<'_, Value>,
        modified: &Object,
        meta: PatchMeta<'_>,
    ) -> Result<Option<Value>, PatchError> {
        if meta.replaces() {
            return Ok(Some(modified.clone().into()));
        }
        let below = Sides {
            original: sides.original.and_then(Value::as_object),
            live: sides.live.and_then(Value::as_object),
        };
        let retain = meta.retains_keys();
        let begun = self.object(below, modified, meta.ty, retain)?;
        Ok(match self.finish(begun) {
            Some(patch) => Some(patch.into()),
            None if below.live.is_none() => Some(modified.clone().into()),
            None => None,
        })
    }

    fn list(
        &mut self,
        sides: Sides<'_, Value>,
        modified: &Array,
        meta: PatchMeta<'_>,
    ) -> Result<ListPatch, PatchError> {
        let below = Sides {
            original: sides.original.and_then(Value::as_array),
            live: sides.live.and_then(Value::as_array),
        };
        let strategy = meta.list_strategy(self.options.unmarked_lists, self.options.profile);
        if let ListStrategy::Replace = strategy
            && let Some(keys) = self.client_keys(below, modified, meta)
        {
            return self.keyed_list(below, modified, keys, meta);
        }
        match strategy {
            ListStrategy::Keyed(keys) => self.keyed_list(below, modified, keys, meta),
            ListStrategy::Set => self.set(below, modified),
            ListStrategy::Replace if below.live == Some(modified) => Ok(ListPatch::default()),
            ListStrategy::Replace => {
                Ok(ListPatch { items: modified.to_vec(), new: true, ..ListPatch::default() })
            }
        }
    }
}

/// Removes what the original has from a live map to which others have added; the map is removed whole if nothing was added.
fn removal(original: &Object, live: &Object) -> Option<Value> {
    match without_original(original, live) {
        Removal::Whole => Some(Value::Null),
        Removal::Fields(fields) if fields.is_empty() => None,
        Removal::Fields(fields) => Some(Object::from_sorted(fields).into()),
    }
}

/// What is removed from a live map.
enum Removal {
    /// The whole map: nothing was added to it.
    Whole,
    /// These fields.
    Fields(Vec<(Text, Value)>),
}

fn without_original(original: &Object, live: &Object) -> Removal {
    let mut additions = live.iter().any(|(name, _)| !original.contains(name));
    let mut fields = Vec::new();
    for (name, value) in original {
        let Some(live) = live.get(name) else { continue };
        let removal = match (value, live) {
            (Value::Object(original), Value::Object(live)) => match without_original(original, live) {
                Removal::Whole => Value::Null,
                Removal::Fields(fields) => {
                    additions = true;
                    match fields.is_empty() {
                        true => continue,
                        false => Object::from_sorted(fields).into(),
                    }
                }
            },
            _ => Value::Null,
        };
        fields.push((name.clone(), removal));
    }
    if additions { Removal::Fields(fields) } else { Removal::Whole }
}
