//! Reverse deltas: applied to the newer of two documents, a delta gives the older one, without withheld values. It is computed in one walk of
//! both, which skips what they share, and costs what changed: no document is written out for a small change.

use crate::{
    codec::{Decoder, Encoder, MAX_DEPTH},
    error::Problem,
    secret::{Place, redact_at, replaced_at},
};
use tenure_value::{Array, Object, Text, Value};

/// The kinds of edits.
const SAME: u8 = 0;
const REPLACE: u8 = 1;
const OBJECT: u8 = 2;
/// A list: how many items at the beginning and the end stay, then those in between.
const ARRAY: u8 = 3;
/// A list whose items in between are edits of the items in the same places.
const ARRAY_IN_PLACE: u8 = 4;
const ABSENT: u8 = 5;
/// The older document had a value, which is not recorded.
const WITHHELD: u8 = 6;

/// The most paths that are collected of one change.
const MOST_PATHS: usize = 16;
/// How many bytes most paths have at most.
const PATH_BYTES: usize = 96;

/// Writes deltas, and collects which fields they change.
pub(crate) struct DeltaWriter<'a, 'v> {
    pub(crate) encoder: &'a mut Encoder,
    /// The names on the way to the current place; a list item has none.
    names: Vec<Option<&'v str>>,
    /// The changed fields, with `[]` for any item of a list.
    paths: Vec<String>,
    /// The path of the field that changed last, whose memory is used again.
    path: String,
}

impl<'a, 'v> DeltaWriter<'a, 'v> {
    pub(crate) fn new(encoder: &'a mut Encoder) -> DeltaWriter<'a, 'v> {
        let (names, path) = (Vec::with_capacity(16), String::with_capacity(PATH_BYTES));
        DeltaWriter { encoder, names, paths: Vec::new(), path }
    }

    /// Writes the edit that leads from the newer document to the older one.
    pub(crate) fn document(mut self, newer: &'v Value, older: &'v Value, place: Place) -> Vec<String> {
        if !self.edit(newer, older, place) {
            self.encoder.byte(SAME);
        }
        self.paths
    }

    /// Writes an edit, or nothing if both values are the same; returns whether they differ.
    fn edit(&mut self, newer: &'v Value, older: &'v Value, place: Place) -> bool {
        !is_same_at_once(newer, older) && self.edit_other(newer, older, place)
    }

    /// The same for values that are not the same at once, so that scalars differ.
    fn edit_other(&mut self, newer: &'v Value, older: &'v Value, place: Place) -> bool {
        match (newer, older) {
            (_, _) if place == Place::Hidden => newer != older && self.replace(older, place),
            (Value::Object(newer), Value::Object(older)) => self.object(newer, older, place),
            (Value::Array(newer), Value::Array(older)) => self.array(newer, older, place),
            _ => self.replace(older, place),
        }
    }

    fn replace(&mut self, older: &Value, place: Place) -> bool {
        self.changed();
        match place {
            Place::Hidden => self.encoder.byte(WITHHELD),
            _ => {
                self.encoder.byte(REPLACE);
                self.encoder.value(&redact_at(older, place));
            }
        }
        true
    }

    fn object(&mut self, newer: &'v Object, older: &'v Object, place: Place) -> bool {
        let start = self.encoder.out.len();
        self.encoder.byte(OBJECT);
        let (new, old) = (newer.fields(), older.fields());
        let (mut new_at, mut old_at, mut differs) = (0, 0, false);
        loop {
            // Most names are in the same place of both.
            let (is, was) = match (new.get(new_at), old.get(old_at)) {
                (None, None) => break,
                (Some(is), Some(was)) if is.0 == was.0 => (Some(is), Some(was)),
                (Some(is), Some(was)) if was.0 < is.0 => (None, Some(was)),
                (None, was) => (None, was),
                (is, _) => (is, None),
            };
            new_at += usize::from(is.is_some());
            old_at += usize::from(was.is_some());
            let (name, mark) = match (is, was) {
                (Some((_, is)), Some((_, was))) if is_same_at_once(is, was) => continue,
                (Some((name, _)), _) | (_, Some((name, _))) => (name.as_str(), self.encoder.out.len()),
                (None, None) => break,
            };
            self.encoder.text(name);
            self.names.push(Some(name));
            let place = place.below(name);
            let changed = match (is, was) {
                (Some((_, is)), Some((_, was))) => self.edit_other(is, was, place),
                (_, Some((_, was))) => self.replace(was, place),
                _ => {
                    self.changed();
                    self.encoder.byte(ABSENT);
                    true
                }
            };
            self.names.pop();
            match changed {
                true => differs = true,
                false => self.encoder.out.truncate(mark),
            }
        }
        match differs {
            true => self.encoder.end(),
            false => self.encoder.out.truncate(start),
        }
        differs
    }

    fn array(&mut self, newer: &'v Array, older: &'v Array, place: Place) -> bool {
        let (new, old) = (newer.items(), older.items());
        let shorter = new.len().min(old.len());
        let same = |(a, b): &(&Value, &Value)| a == b;
        let first = new.iter().zip(old).take_while(same).count();
        if first == new.len() && first == old.len() {
            return false;
        }
        // Of lists of the same length, the first items that differ are known.
        let rest = shorter - first - usize::from(new.len() == old.len());
        let last = new.iter().rev().zip(old.iter().rev()).take(rest).take_while(same).count();
        let (new, old) = (&new[first..new.len() - last], &old[first..old.len() - last]);
        let in_place = new.len() == old.len();
        self.names.push(None);
        self.encoder.byte(if in_place { ARRAY_IN_PLACE } else { ARRAY });
        self.encoder.count(first);
        self.encoder.count(last);
        self.encoder.count(old.len());
        if in_place {
            for (new, old) in new.iter().zip(old) {
                if !self.edit(new, old, place) {
                    self.encoder.byte(SAME);
                }
            }
        } else {
            self.changed();
            old.iter().for_each(|old| self.encoder.value(&redact_at(old, place)));
        }
        self.names.pop();
        true
    }

    /// Notes that the value at the current place changed.
    fn changed(&mut self) {
        if self.paths.len() >= MOST_PATHS {
            return;
        }
        let path = &mut self.path;
        path.clear();
        for name in &self.names {
            match name {
                Some(name) => {
                    path.push('.');
                    path.push_str(name);
                }
                None => path.push_str("[]"),
            }
        }
        if self.paths.last() != Some(path) {
            self.paths.push(path.clone());
        }
    }
}

/// Whether two values are the same, as far as that is known without looking into them.
fn is_same_at_once(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::Object(a), Value::Object(b)) => a.ptr_eq(b),
        (Value::Array(a), Value::Array(b)) => a.ptr_eq(b),
        _ => a == b,
    }
}

/// Applies the delta of a revision to the newer document; returns the older one.
pub(crate) fn apply(newer: &Value, delta: &mut Decoder<'_>, revision: u64) -> Result<Value, Problem> {
    Patch { delta, revision }.edit(Some(newer), 0)?.ok_or_else(|| "it removes the whole document".into())
}

struct Patch<'d, 'b> {
    delta: &'d mut Decoder<'b>,
    revision: u64,
}

impl Patch<'_, '_> {
    /// Reads an edit and applies it to a value; `None` if the older document does not have it.
    fn edit(&mut self, newer: Option<&Value>, depth: usize) -> Result<Option<Value>, Problem> {
        if depth > MAX_DEPTH {
            return Err("it is nested too deeply".into());
        }
        Ok(match (self.delta.byte()?, newer) {
            (SAME, Some(newer)) => Some(newer.clone()),
            (REPLACE, _) => Some(self.delta.value(depth)?),
            (ABSENT, _) => None,
            (WITHHELD, _) => Some(replaced_at(self.revision)),
            (OBJECT, Some(Value::Object(newer))) => Some(self.object(newer, depth)?),
            (kind @ (ARRAY | ARRAY_IN_PLACE), Some(Value::Array(newer))) => {
                Some(self.array(newer, kind == ARRAY_IN_PLACE, depth)?)
            }
            (kind, _) => return Err(format!("edit {kind} does not fit the newer version")),
        })
    }

    fn object(&mut self, newer: &Object, depth: usize) -> Result<Value, Problem> {
        let fields = newer.fields();
        let mut older: Vec<(Text, Value)> = Vec::with_capacity(fields.len() + 2);
        let mut at = 0;
        while let Some(name) = self.delta.text_or_end()? {
            let next = at + fields[at..].partition_point(|(field, _)| *field < name);
            older.extend_from_slice(&fields[at..next]);
            if older.last().is_some_and(|(last, _)| *last >= name) {
                return Err(format!("field {name:?} is out of order"));
            }
            let base = fields.get(next).filter(|(field, _)| *field == name).map(|(_, value)| value);
            at = next + usize::from(base.is_some());
            if let Some(value) = self.edit(base, depth + 1)? {
                older.push((name, value));
            }
        }
        older.extend_from_slice(&fields[at..]);
        Ok(Value::Object(Object::from_sorted(older)))
    }

    fn array(&mut self, newer: &Array, in_place: bool, depth: usize) -> Result<Value, Problem> {
        let items = newer.items();
        let (first, last) = (self.delta.number()?, self.delta.number()?);
        let count = self.delta.count()?;
        let kept = first.checked_add(last).filter(|kept| *kept <= items.len());
        let middle = items.len() - kept.ok_or("a list is too short")?;
        if in_place && middle != count {
            return Err(format!("{count} edits of {middle} items"));
        }
        let mut older = Vec::with_capacity(first + count + last);
        older.extend_from_slice(&items[..first]);
        for place in 0..count {
            older.push(if in_place {
                let edited = self.edit(items.get(first + place), depth + 1)?;
                edited.ok_or("an item of a list is removed in its place")?
            } else {
                self.delta.value(depth + 1)?
            });
        }
        older.extend_from_slice(&items[items.len() - last..]);
        Ok(Value::array(older))
    }
}
