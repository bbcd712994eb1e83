//! The walk over maps: original, modified and live fields in step. What the modified document has and the
//! live one lacks or has otherwise goes into the patch; what only the original has is removed.

use super::{DifferenceOptions, LiveChanges, dress::dress, settled::is_settled};
use crate::{
    PatchError,
    strategic::{
        directive::{self, DELETE_FROM_PRIMITIVE_LIST, PATCH, RETAIN_KEYS, SET_ELEMENT_ORDER, front},
        plan::{self, Plan, Position},
    },
};
use std::mem::discriminant;
use tenure_schema::TypeRef;
use tenure_value::{Array, Object, Text, Value};

/// The two documents that a modified one is compared with, as far as they are there.
pub(super) struct Sides<'v, T> {
    pub(super) original: Option<&'v T>,
    pub(super) live: Option<&'v T>,
}

impl<T> Clone for Sides<'_, T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for Sides<'_, T> {}

impl<'v, T> Sides<'v, T> {
    /// Whether both are one, as in a two-way patch.
    pub(super) fn same(self) -> bool {
        match (self.original, self.live) {
            (Some(original), Some(live)) => std::ptr::eq(original, live),
            _ => false,
        }
    }
}

impl Sides<'_, Object> {
    /// Whether both have a map in memory, not just one like it.
    pub(super) fn share(self, map: &Object) -> bool {
        let shares = |side: Option<&Object>| side.is_some_and(|side| side.ptr_eq(map));
        shares(self.live) && shares(self.original)
    }
}

impl Sides<'_, Value> {
    /// Whether both have a value in memory, not just one like it.
    fn share(self, value: &Value) -> bool {
        let shares = |side: Option<&Value>| side.is_some_and(|side| side.ptr_eq(value));
        shares(self.live) && shares(self.original)
    }
}

/// One calculation under way.
pub(super) struct Walk<'o> {
    pub(super) options: &'o DifferenceOptions<'o>,
    live_changes: LiveChanges,
    /// How much has been written that comes from the original side: removals.
    pub(super) removals: usize,
    /// The fields of the patches being written, those of the innermost map last.
    fields: Vec<(Text, Value)>,
    /// The names of directives that were written and had to be made, by the name of the list.
    directives: Vec<(&'static str, Text, Text)>,
    /// Room for [`Walk::repeats`].
    pub(super) prints: Vec<u64>,
}

/// Where the patch of one map begins among the fields being written.
pub(super) struct Begun(usize);

/// What a list contributes to the patch of the map around it.
#[derive(Default)]
pub(super) struct ListPatch {
    pub(super) items: Vec<Value>,
    pub(super) deletions: Vec<Value>,
    pub(super) order: Vec<Value>,
    /// Whether the list is written even without items: it is new.
    pub(super) new: bool,
}

impl ListPatch {
    pub(super) fn is_empty(&self) -> bool {
        self.items.is_empty() && self.deletions.is_empty() && self.order.is_empty()
    }
}

impl<'o> Walk<'o> {
    pub(super) fn new(options: &'o DifferenceOptions<'o>, live_changes: LiveChanges) -> Walk<'o> {
        Walk {
            options,
            live_changes,
            removals: 0,
            fields: Vec::with_capacity(16),
            directives: Vec::new(),
            prints: Vec::new(),
        }
    }

    /// Writes the patch of a map; `retain` says whether it carries `$retainKeys`. What was written is taken
    /// with [`Walk::finish`] or [`Walk::finish_with`].
    pub(super) fn object(
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
        let mut marked = front(modified).len();
        for (name, value) in modified {
            let in_original = loop {
                match original.get(at_original) {
                    // Most fields are on both sides, and that two names are the same is quickly seen.
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
                            self.live_only(other, value, sides.original, modified, ty);
                        }
                        _ => break None,
                    }
                };
                at_live += usize::from(found.is_some());
                found
            };
            let sides =
                Sides { original: in_original.map(|field| &field.1), live: in_live.map(|field| &field.1) };
            // Whatever may be a directive stands at the front.
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
                self.live_only(name, value, sides.original, modified, ty);
            }
        }
        if retain {
            // A map that is new to the live document needs no clearing, unless something was removed from it.
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

    /// Removes a field that only the live map has, if what the modified one sets excludes it. What the original
    /// has too is removed for that reason.
    fn live_only(
        &mut self,
        name: &Text,
        value: &Value,
        original: Option<&Object>,
        modified: &Object,
        ty: TypeRef<'_>,
    ) {
        let removed = || original.is_some_and(|original| original.contains(name));
        if !value.is_null() && plan::is_displaced(name, modified, ty) && !removed() {
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
    pub(super) fn finish(&mut self, begun: Begun) -> Option<Object> {
        let written = &mut self.fields[begun.0..];
        if written.is_empty() {
            return None;
        }
        if !written.is_sorted_by(|left, right| left.0 < right.0) {
            written.sort_by(|left, right| left.0.cmp(&right.0));
            // A document with directives in it may have a field of the same name as one written here.
            if written.windows(2).any(|pair| pair[0].0 == pair[1].0) {
                return Some(Object::from_unsorted(self.fields.drain(begun.0..).collect()));
            }
        }
        Some(Object::from_sorted(self.fields.drain(begun.0..)))
    }

    /// Takes the patch of a map, if there is one, with these fields in it.
    pub(super) fn finish_with(
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

    /// Takes back a field from the patch of a map.
    pub(super) fn take_back(&mut self, begun: &Begun, name: &str) {
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
                self.directives.push((prefix, list.clone(), name.clone()));
                name
            }
        };
        self.fields.push((name, Array::from(value).into()));
    }

    /// Removes a field that only the original has.
    fn removed(&mut self, name: &Text, original: &Value, live: Option<&Object>, retain: bool) {
        self.removals += 1;
        let removal = match (self.live_changes, original, live.and_then(|live| live.get(name))) {
            // `$retainKeys` would clear what is left, so there it is all or nothing.
            (LiveChanges::Keep, Value::Object(original), Some(Value::Object(live))) if !retain => {
                removal(original, live)
            }
            _ => Some(Value::Null),
        };
        self.fields.extend(removal.map(|value| (name.clone(), value)));
    }

    /// Writes a field that may be a directive: in the patch of a patch, those of the documents are compared as words.
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
            return Err(crate::Fault::UnknownPatchValue { value: word.clone(), map }.into());
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
                let Some(position) = self.position(sides, name, modified, ty)? else { return Ok(()) };
                if sides.share(modified) && is_settled(modified, position, self.options.unmarked_lists) {
                    return Ok(());
                }
                if let Some(value) = self.map(sides, map, position)? {
                    self.fields.push((name.clone(), value));
                }
            }
            Value::Array(list) if alike(sides.original) || alike(sides.live) => {
                let Some(position) = self.position(sides, name, modified, ty)? else { return Ok(()) };
                if sides.share(modified) && is_settled(modified, position, self.options.unmarked_lists) {
                    return Ok(());
                }
                let list = self.list(sides, list, position)?;
                // Directives come before all fields, so written first they are often in order already.
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
                    false => dress(modified, plan::position(ty, name, modified).ok(), self.options),
                };
                self.fields.push((name.clone(), value));
            }
            _ => {}
        }
        Ok(())
    }

    /// Returns where a map or list goes, or nothing where the type knows no such field and nothing changes.
    fn position<'s>(
        &self,
        sides: Sides<'_, Value>,
        name: &str,
        modified: &Value,
        ty: TypeRef<'s>,
    ) -> Result<Option<Position<'s>>, PatchError> {
        match plan::position(ty, name, modified) {
            Ok(position) => Ok(Some(position)),
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
        position: Position<'_>,
    ) -> Result<Option<Value>, PatchError> {
        if plan::replaces(position.marks) {
            return Ok(Some(modified.clone().into()));
        }
        let below = Sides {
            original: sides.original.and_then(Value::as_object),
            live: sides.live.and_then(Value::as_object),
        };
        let retain = plan::retains(position.marks);
        let begun = self.object(below, modified, position.ty, retain)?;
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
        position: Position<'_>,
    ) -> Result<ListPatch, PatchError> {
        let below = Sides {
            original: sides.original.and_then(Value::as_array),
            live: sides.live.and_then(Value::as_array),
        };
        match position.plan(self.options.unmarked_lists) {
            Plan::Keyed(keys) => self.entries(below, modified, keys, position),
            Plan::Set => self.scalars(below, modified),
            Plan::Replace if below.live == Some(modified) => Ok(ListPatch::default()),
            Plan::Replace => Ok(ListPatch { items: modified.to_vec(), new: true, ..ListPatch::default() }),
        }
    }
}

/// Removes what the original has from a live map to which others have added: the map stays for them, and is
/// removed as a whole where nobody did.
fn removal(original: &Object, live: &Object) -> Option<Value> {
    let added = |(name, _): (&Text, &Value)| !original.contains(name);
    let deep = |(name, value): (&Text, &Value)| match (value, original.get(name)) {
        (Value::Object(live), Some(Value::Object(original))) => has_additions(original, live),
        _ => false,
    };
    if !live.iter().any(added) && !live.iter().any(deep) {
        return Some(Value::Null);
    }
    let fields = original.iter().filter_map(|(name, value)| {
        let removal = match (value, live.get(name)?) {
            (Value::Object(original), Value::Object(live)) => removal(original, live)?,
            _ => Value::Null,
        };
        Some((name.clone(), removal))
    });
    let fields: Vec<_> = fields.collect();
    (!fields.is_empty()).then(|| Object::from_sorted(fields).into())
}

fn has_additions(original: &Object, live: &Object) -> bool {
    live.iter().any(|(name, value)| match (original.get(name), value) {
        (None, _) => true,
        (Some(Value::Object(original)), Value::Object(live)) => has_additions(original, live),
        _ => false,
    })
}
