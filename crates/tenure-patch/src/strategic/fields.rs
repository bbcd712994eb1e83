//! Merging maps: live fields and patched fields are walked in step, and only a map in which something
//! changes is built anew. What is not built is not allocated: the scratch stack serves every level.

use super::{
    Options,
    clean::{Taken, clean},
    directive::{Directives, ListDirectives, PATCH, PatchValue, directive, front},
    plan::{self, Position},
    trace::{Recorder, Rule},
};
use crate::{Fault, PatchError};
use tenure_fields::PathElement;
use tenure_schema::TypeRef;
use tenure_value::{Array, Kind, Object, Text, Value};

/// What became of a live value.
pub(crate) enum Outcome {
    /// It stays as it is; where nothing was live, nothing is there still.
    Same,
    /// It is removed.
    Gone,
    /// This takes its place.
    New(Value),
}

/// One merge under way.
pub(crate) struct Merger<'o, R> {
    pub(super) options: &'o Options,
    pub(super) recorder: &'o mut R,
    /// The fields of the maps being built, those of the innermost last.
    fields: Vec<(Text, Value)>,
}

/// What a patch says about one field: its value there, and the directives that name it.
struct Change<'p> {
    name: &'p str,
    field: Option<&'p (Text, Value)>,
    order: Option<&'p Value>,
    deletions: Option<&'p Value>,
}

impl<'o, R: Recorder> Merger<'o, R> {
    pub(crate) fn new(options: &'o Options, recorder: &'o mut R) -> Merger<'o, R> {
        Merger { options, recorder, fields: Vec::with_capacity(16) }
    }

    /// Merges a map of the patch into a live one.
    pub(crate) fn object(
        &mut self,
        live: &Object,
        patch: &Object,
        ty: TypeRef<'_>,
    ) -> Result<Outcome, PatchError> {
        if front(patch).is_empty() {
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
        let changes = sort_out(patch, &directives, ty);
        match retained {
            None => self.changes(live, changes.into_iter(), ty),
            Some(live) => Ok(match self.changes(&live, changes.into_iter(), ty)? {
                Outcome::Same => Outcome::New(live.into()),
                outcome => outcome,
            }),
        }
    }

    /// Does what `$patch` says in a map.
    fn directed(
        &mut self,
        live: &Object,
        patch: &Object,
        value: &Value,
        ty: TypeRef<'_>,
    ) -> Result<Outcome, PatchError> {
        match PatchValue::read(value, patch)? {
            PatchValue::Delete => {
                self.recorder.note(|| Rule::RemovedByDirective);
                Ok(Outcome::Gone)
            }
            PatchValue::Replace => {
                self.recorder.note(|| Rule::ReplacedByDirective);
                self.literal(&live.clone().into(), &patch.clone().into(), ty)
            }
        }
    }

    /// Puts a value of the patch, taken word for word, in the place of a live one.
    pub(super) fn literal(
        &mut self,
        live: &Value,
        patch: &Value,
        ty: TypeRef<'_>,
    ) -> Result<Outcome, PatchError> {
        Ok(match clean(patch, ty, Taken::Literally, self.options.unknown_words)? {
            Some(value) if value == *live => Outcome::Same,
            Some(value) => Outcome::New(value),
            None => Outcome::Gone,
        })
    }

    /// Returns the live map without the fields that `$retainKeys` does not list, if it has any.
    fn retain(
        &mut self,
        live: &Object,
        patch: &Object,
        listed: &Value,
        ty: TypeRef<'_>,
    ) -> Result<Option<Object>, PatchError> {
        let names = match listed {
            Value::Array(names) if names.iter().all(Value::is_scalar) => names,
            _ => return Err(Fault::BadRetainKeys { value: listed.clone() }.into()),
        };
        let mut names: Vec<&str> = names.iter().filter_map(Value::as_str).collect();
        names.sort_unstable();
        let is_listed = |name: &str| names.binary_search(&name).is_ok();
        for (name, value) in patch {
            if !value.is_null() && !is_listed(name) && directive(name, ty).is_none() {
                return Err(Fault::NotRetained { field: name.clone(), listed: listed.clone() }.into());
            }
        }
        if live.iter().all(|(name, _)| is_listed(name)) {
            return Ok(None);
        }
        let mut kept = Vec::with_capacity(live.len());
        for field in live {
            if is_listed(&field.0) {
                kept.push(field.clone());
            } else if patch.get(&field.0).is_none() {
                self.recorder.note_field(&field.0, || Rule::Cleared);
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
    ) -> Result<Outcome, PatchError> {
        let base = self.fields.len();
        let fields = live.fields();
        // Live fields before `at` were looked at; those before `taken` are on the stack or gone.
        let (mut at, mut taken) = (0, 0);
        let mut dirty = false;
        for change in changes {
            let (here, found) = seek(fields, at, change.name);
            at = here + usize::from(found);
            let value = found.then(|| &fields[here].1);
            let outcome = self.field(value, &change, ty).map_err(|error| error.under_field(change.name))?;
            let new = match outcome {
                Outcome::Same => continue,
                Outcome::Gone if !found => continue,
                Outcome::Gone => None,
                Outcome::New(value) => Some(value),
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
            return Ok(Outcome::Same);
        }
        self.fields.extend_from_slice(&fields[taken..]);
        Ok(Outcome::New(Object::from_sorted(self.fields.drain(base..)).into()))
    }

    /// Merges one field.
    fn field(
        &mut self,
        live: Option<&Value>,
        change: &Change<'_>,
        ty: TypeRef<'_>,
    ) -> Result<Outcome, PatchError> {
        let value = change.field.map(|field| &field.1);
        let outcome = match (change.order, value) {
            (Some(order), _) => self.ordered(live, value, order, change.name, ty)?,
            (None, Some(value)) => self.value(live, value, change.name, ty)?,
            (None, None) => Outcome::Same,
        };
        let Some(deletions) = change.deletions else { return Ok(outcome) };
        let current = match &outcome {
            Outcome::Same => live,
            Outcome::Gone => None,
            Outcome::New(value) => Some(value),
        };
        match self.delete_from(current, deletions, change.name, ty)? {
            Outcome::Same => Ok(outcome),
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
    ) -> Result<Outcome, PatchError> {
        match (live, patch) {
            (None, Value::Null) => Ok(Outcome::Same),
            (Some(_), Value::Null) => {
                self.recorder.note_field(name, || Rule::RemovedByNull);
                Ok(Outcome::Gone)
            }
            (Some(Value::Object(live)), Value::Object(map)) => {
                let position = plan::position(ty, name, patch)?;
                self.recorder.enter(|| PathElement::field(name));
                let outcome = self.map(live, map, position)?;
                self.recorder.leave();
                Ok(outcome)
            }
            (Some(Value::Array(live)), Value::Array(list)) => {
                let position = plan::position(ty, name, patch)?;
                self.recorder.enter(|| PathElement::field(name));
                let outcome = self.list(live, Some(list), None, position)?;
                self.recorder.leave();
                Ok(outcome)
            }
            (Some(live), patch) if patch.is_scalar() => {
                self.recorder.note_field(name, || if live == patch { Rule::Kept } else { Rule::Set });
                Ok(if live == patch { Outcome::Same } else { Outcome::New(patch.clone()) })
            }
            (live, patch) => self.fresh(live, patch, name, ty),
        }
    }

    fn map(&mut self, live: &Object, patch: &Object, position: Position<'_>) -> Result<Outcome, PatchError> {
        if !plan::replaces(position.marks) || patch.contains(PATCH) {
            return self.object(live, patch, position.ty);
        }
        self.recorder.note(|| Rule::ReplacedByStrategy);
        self.literal(&live.clone().into(), &patch.clone().into(), position.ty)
    }

    /// Takes a value where nothing of its kind is live.
    fn fresh(
        &mut self,
        live: Option<&Value>,
        patch: &Value,
        name: &str,
        ty: TypeRef<'_>,
    ) -> Result<Outcome, PatchError> {
        if let Value::Array(list) = patch
            && super::sent_keys::carries_keys(list)
        {
            let position = plan::position(ty, name, patch)?;
            let outcome = self.list(&Array::default(), Some(list), None, position)?;
            return Ok(outcome);
        }
        let outcome = match clean(patch, plan::below(ty, name), Taken::New, self.options.unknown_words)? {
            Some(value) => Outcome::New(value),
            None => Outcome::Gone,
        };
        self.recorder.note_field(name, || match (&outcome, live) {
            (Outcome::New(_), Some(_)) => Rule::Set,
            (Outcome::New(_), None) => Rule::Added,
            _ => Rule::RemovedByDirective,
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
    ) -> Result<Outcome, PatchError> {
        let order = expect_list(order, || format!("$setElementOrder/{name}").into())?;
        let position = plan::position(ty, name, &order.clone().into())?;
        let patch = patch.map(|value| expect_list(value, || "the list in the patch".into())).transpose()?;
        let live = live.map(|value| expect_list(value, || "the live list".into())).transpose()?;
        self.recorder.enter(|| PathElement::field(name));
        let outcome = match (live, patch) {
            (None, None) => Ok(Outcome::Same),
            (Some(live), patch) => self.list(live, patch, Some(order), position),
            (None, Some(patch)) => self.ordered_anew(patch, order, position),
        };
        self.recorder.leave();
        outcome
    }
}

impl<'p> Change<'p> {
    fn of(field: &'p (Text, Value)) -> Change<'p> {
        Change { name: &field.0, field: Some(field), order: None, deletions: None }
    }
}

/// Brings the fields of a patch together with the directives that name them, sorted by name.
fn sort_out<'p>(patch: &'p Object, directives: &Directives<'p>, ty: TypeRef<'_>) -> Vec<Change<'p>> {
    let mut changes = Vec::with_capacity(patch.len());
    let mut lists = directives.lists.iter().peekable();
    let alone = |list: &ListDirectives<'p>| Change {
        name: list.list,
        field: None,
        order: list.order,
        deletions: list.deletions,
    };
    for field in patch.fields().iter().filter(|(name, _)| directive(name, ty).is_none()) {
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

/// Returns where a field stands or would stand at or behind `from`, and whether it is there.
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
        found => Err(Fault::WrongKind { what: what(), expected: Kind::Array, found: found.clone() }.into()),
    }
}
